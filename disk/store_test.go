package disk

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// memoryDisk is a disk in memory that can be made to fail, with a clock that is set by hand.
type memoryDisk struct {
	*Disk
	memory *vfs.Memory
	faulty *vfs.Faulty
	now    time.Time
}

func newMemoryDisk(t *testing.T, room int64, o Options) *memoryDisk {
	t.Helper()
	m := &memoryDisk{now: time.Unix(1e9, 0)}
	m.memory = vfs.NewMemory(room, func() time.Time { return m.now })
	m.faulty = vfs.NewFaulty(m.memory)
	if err := m.memory.Mkdir("/d"); err != nil {
		t.Fatal(err)
	}
	o.Now = func() time.Time { return m.now }
	m.Disk = newDisk(t, m.faulty, "/d", o)
	m.sealed.counts.Wait()
	return m
}

// leave closes a pending piece's file, as a crash of the process does.
func leave(w Writer) error {
	return w.(*writer).end("leave", func() error { return nil })
}

func wantKind(t *testing.T, what string, err error, kind errs.Kind) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: %v, want %v", what, err, kind)
	}
}

func wantHealth(t *testing.T, d *memoryDisk, want hemera.DiskHealth) {
	t.Helper()
	if s := d.Status(); s.Health != want || (s.Why == "") != (want == hemera.HealthOK) {
		t.Errorf("health %s (%s), want %s", s.Health, s.Why, want)
	}
}

func TestFormatAndOpen(t *testing.T) {
	fsys := vfs.NewMemory(0, nil)
	if err := fsys.Mkdir("/d"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(fsys, "/d", Options{})
	wantKind(t, "open without a label", err, errs.NotFound)
	if errs.RemedyOf(err) == "" {
		t.Error("no remedy")
	}
	_, err = Format(fsys, "/none")
	wantKind(t, "format of nothing", err, errs.NotFound)
	uuid, err := Format(fsys, "/d")
	if err != nil || len(uuid) != 36 {
		t.Fatal(uuid, err)
	}
	_, err = Format(fsys, "/d")
	wantKind(t, "second format", err, errs.Exists)
	fsys.Crash(nil)
	d, err := Open(fsys, "/d", Options{})
	if err != nil || d.UUID() != uuid || d.Status().UUID != uuid {
		t.Fatalf("open: %v", err)
	}
	_ = d.Close()
	if err := writeFile(fsys, "/d/"+labelName, "something else\n"); err != nil {
		t.Fatal(err)
	}
	_, err = Open(fsys, "/d", Options{})
	wantKind(t, "open with a broken label", err, errs.Corrupt)
}

func TestCreateAndRemove(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{})
	id := pieceID(1)
	store(t, d.Disk, id, []byte("one"), 100)
	_, err := d.Create(id, CreateOptions{})
	wantKind(t, "create of a sealed piece", err, errs.Exists)
	r, err := d.Disk.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Remove(id); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	_, err = d.Disk.Open(id)
	wantKind(t, "open of a removed piece", err, errs.NotFound)
	checkRead(t, r, []byte("one"), 0, 4) // readers keep it
	store(t, d.Disk, id, []byte("two"), 100)
	again, err := d.Disk.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	checkRead(t, again, []byte("two"), 0, 4)
	checkRead(t, r, []byte("one"), 0, 4)
	_, _ = r.Close(), again.Close()
	_, err = r.ReadPages(make([]byte, 1), nil, 0)
	wantKind(t, "read after close", err, errs.BadHandle)
}

// A Writer whose piece was started over or removed is told so, and harms nothing.
func TestWriterIsFenced(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{})
	old, err := d.Create(pieceID(1), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := d.Create(pieceID(1), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantKind(t, "write", old.WritePages([]byte("old"), nil, 0), errs.Conflict)
	if err := w.WritePages([]byte("new"), nil, 0); err != nil {
		t.Fatal(err)
	}
	_, err = old.Seal(hemera.SealInfo{FileSize: 3})
	wantKind(t, "seal", err, errs.Conflict)
	wantKind(t, "seal again", old.Abort(), errs.BadHandle)
	if _, err := w.Seal(hemera.SealInfo{FileSize: 3}); err != nil {
		t.Fatal(err)
	}
	r, err := d.Disk.Open(pieceID(1))
	if err != nil {
		t.Fatal(err)
	}
	checkRead(t, r, []byte("new"), 0, 3)
	_ = r.Close()
	removed, err := d.Create(pieceID(2), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(pieceID(2)); err != nil {
		t.Fatal(err)
	}
	_, err = removed.Seal(hemera.SealInfo{})
	wantKind(t, "seal of a removed piece", err, errs.Conflict)
	if s := d.Status(); s.Pieces != 1 || s.Load.WriteOpens != 0 || s.Load.ReadOpens != 0 {
		t.Errorf("status %+v", s)
	}
}

func TestScanPagesInOrder(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{IdlePieces: 2})
	want := []hemera.PieceID{{File: 1, Gen: 1}, {File: 1, Gen: 2}, {File: 1, Gen: 2, Index: 1}, {File: 15, Gen: 1}, {File: 255, Gen: 1},
		{File: 9999, Gen: 1}, {File: 10_000, Gen: 1}, {File: 200_000, Gen: 3}, {File: 1 << 40, Gen: 1}}
	for i := range want {
		store(t, d.Disk, want[(i*5+3)%len(want)], randomBytes(uint64(i), i*1000), 1<<20)
	}
	if err := d.memory.Mkdir("/d/lost+found"); err != nil {
		t.Fatal(err)
	}
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []hemera.PieceID
		after := hemera.PieceID{}
		for {
			part, err := d.Scan(after, limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(part) == 0 {
				break
			}
			for _, s := range part {
				got = append(got, s.ID)
			}
			after = part[len(part)-1].ID
		}
		if len(got) != len(want) {
			t.Fatalf("limit %d: %v", limit, got)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("limit %d: %v, want %v", limit, got, want)
			}
		}
	}
	if n := d.open.idle.Len(); n > 2 {
		t.Errorf("%d pieces stay open", n)
	}
	for kept := 1; kept >= 0; kept-- {
		d.SetIdlePieces(kept)
		if n := d.open.idle.Len(); n > kept || len(d.open.byID) != n {
			t.Errorf("%d pieces stay open and %d are known, %d may", n, len(d.open.byID), kept)
		}
	}
	again, err := Open(d.faulty, "/d", Options{})
	if err != nil {
		t.Fatal(err)
	}
	again.sealed.counts.Wait()
	if s := again.Status(); s.Pieces != int64(len(want)) {
		t.Errorf("%d pieces counted", s.Pieces)
	}
	_ = again.Close()
}

func TestExpire(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{})
	open, err := d.Create(pieceID(1), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 2; i <= 3; i++ {
		w, err := d.Create(pieceID(i), CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := leave(w); err != nil {
			t.Fatal(err)
		}
		d.now = d.now.Add(time.Hour)
	}
	for _, want := range []int{1, 0} { // the second parked one is one hour old, not more
		if n, err := d.Expire(time.Hour); n != want || err != nil {
			t.Errorf("expired %d, %v; want %d", n, err, want)
		}
	}
	if err := open.WritePages([]byte("x"), nil, 0); err != nil {
		t.Errorf("an open piece expired: %v", err)
	}
	_ = open.Abort()
}

func TestRepair(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{})
	data := randomBytes(1, 10_000)
	store(t, d.Disk, pieceID(1), data, 4096)
	for _, off := range []int64{5000, 9000} {
		if err := d.memory.Corrupt(d.sealedPath(pieceID(1)), off, 0x10); err != nil {
			t.Fatal(err)
		}
	}
	r, err := d.Disk.Open(pieceID(1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if bad, err := r.Verify(); err != nil || len(bad) != 2 || bad[0] != 4096 || bad[1] != 8192 {
		t.Fatalf("bad pages %v, %v", bad, err)
	}
	checkRead(t, r, data[:4096], 0, 4096)
	wantKind(t, "wrong content", d.RepairPages(pieceID(1), make([]byte, 4096), 4096), errs.Corrupt)
	wantKind(t, "part of a page", d.RepairPages(pieceID(1), data[4096:5000], 4096), errs.Invalid)
	wantKind(t, "other piece", d.RepairPages(pieceID(2), data[4096:8192], 4096), errs.NotFound)
	if err := d.RepairPages(pieceID(1), data[4096:], 4096); err != nil {
		t.Fatal(err)
	}
	checkRead(t, r, data, 0, len(data))
	if s := d.Status(); s.Load.ChecksumErrors != 2 {
		t.Errorf("%d checksum errors counted", s.Load.ChecksumErrors)
	}
}

// A bad table block or footer is Corrupt, and a bit that flips once on the way is read again.
func TestBadMetadata(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{IdlePieces: -1})
	data := randomBytes(1, 3*blockSums*4096)
	store(t, d.Disk, pieceID(1), data, 1<<20)
	name := d.sealedPath(pieceID(1))
	if err := d.memory.Corrupt(name, tableOff(int64(len(data)))+blockSize+8, 1); err != nil {
		t.Fatal(err)
	}
	r, err := d.Disk.Open(pieceID(1))
	if err != nil {
		t.Fatal(err)
	}
	d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}, Flip: true, Count: 1})
	checkRead(t, r, data[:blockSums*4096], 100, 10_000)
	_, err = r.ReadPages(make([]byte, 10), nil, blockSums*4096)
	if off, ok := BadPage(err); !ok || off != blockSums*4096 {
		t.Errorf("bad block: page %d, %v", off, err)
	}
	_ = r.Close()
	if err := d.memory.Corrupt(name, footerOff(int64(len(data)))+3, 1); err != nil {
		t.Fatal(err)
	}
	_, err = d.Disk.Open(pieceID(1))
	wantKind(t, "bad footer", err, errs.Corrupt)
	if found, err := d.Scan(hemera.PieceID{}, 10); err != nil || len(found) != 0 {
		t.Errorf("scan: %v, %v", found, err)
	}
	store(t, d.Disk, pieceID(1), []byte("anew"), 10) // a piece without a footer is not sealed
	if err := d.memory.Rename(name, d.sealedPath(pieceID(2))); err != nil {
		t.Fatal(err)
	}
	_, err = d.Disk.Open(pieceID(2))
	wantKind(t, "footer of another piece", err, errs.Corrupt)
}

func TestFailuresOfTheDevice(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault vfs.Fault
		kind  errs.Kind
	}{
		{"full while writing", vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}, Short: true, Count: 1}, errs.NoSpace},
		{"full while sealing", vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}, Skip: 1, Err: syscall.ENOSPC, Count: 1}, errs.NoSpace},
		{"write fails", vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}, Err: syscall.EIO, Count: 1}, errs.IO},
		{"sync fails", vfs.Fault{Ops: []vfs.Op{vfs.OpSync}, Err: syscall.EIO, Count: 1}, errs.IO},
		{"directory sync fails", vfs.Fault{Ops: []vfs.Op{vfs.OpSyncDir}, Err: syscall.EIO, Count: 1}, errs.IO},
		{"rename fails", vfs.Fault{Ops: []vfs.Op{vfs.OpRename}, Err: syscall.EIO, Count: 1}, errs.IO},
		{"read-only", vfs.Fault{Ops: []vfs.Op{vfs.OpRename}, Err: syscall.EROFS, Count: 1}, errs.ReadOnly},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newMemoryDisk(t, 0, Options{})
			w, err := d.Create(pieceID(1), CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			d.faulty.Inject(c.fault)
			failed := w.WritePages(randomBytes(1, 5000), nil, 0)
			if failed != nil {
				wantKind(t, "next write", w.WritePages([]byte("x"), nil, 0), c.kind)
			}
			_, err = w.Seal(hemera.SealInfo{FileSize: 5000, Sync: true})
			wantKind(t, "seal", err, c.kind)
			wantKind(t, "after the seal", w.Abort(), errs.BadHandle)
			if _, err := d.Disk.Open(pieceID(1)); !errors.Is(err, errs.NotFound) {
				t.Errorf("a piece that could not be sealed is there: %v", err)
			}
			if names, _ := d.memory.ReadDir("/d/pending"); len(names) != 0 {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}

// Pieces that come faster than the disk's room is looked at leave the headroom too.
func TestHeadroomBetweenTwoLooks(t *testing.T) {
	const size, headroom = 8 << 20, 20 << 20
	d := newMemoryDisk(t, 100<<20, Options{Headroom: headroom})
	made, full := 0, error(nil)
	for ; full == nil && made < 20; made++ {
		_, full = d.Create(pieceID(made+1), CreateOptions{SizeHint: size})
	}
	wantKind(t, "one piece too many", full, errs.NoSpace)
	if s := d.Status(); made < 9 || s.Capacity-s.Used < headroom-1<<20 {
		t.Errorf("%d pieces, %d bytes left of a headroom of %d", made-1, s.Capacity-s.Used, headroom)
	}
}

func TestHealth(t *testing.T) {
	d := newMemoryDisk(t, 1<<30, Options{Headroom: 1 << 20})
	wantHealth(t, d, hemera.HealthOK)
	s := d.Status()
	if s.Capacity != 1<<30 || s.Free != 1<<30-s.Used-1<<20 {
		t.Errorf("status %+v", s)
	}
	_, err := d.Create(pieceID(1), CreateOptions{SizeHint: 1 << 30})
	wantKind(t, "larger than the disk", err, errs.NoSpace)

	d.SetHeadroom(1 << 31)
	wantHealth(t, d, hemera.HealthFull)
	_, err = d.Create(pieceID(1), CreateOptions{})
	wantKind(t, "full", err, errs.NoSpace)
	d.SetHeadroom(0)
	wantHealth(t, d, hemera.HealthOK)

	d.faulty.Inject(vfs.Fault{Space: &vfs.Space{Total: 10, Free: 5, ReadOnly: true}})
	wantHealth(t, d, hemera.HealthReadOnly)
	d.faulty.Heal()
	wantHealth(t, d, hemera.HealthOK)
	d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpOpen}, Pattern: "0*", Err: syscall.EROFS, Count: 1})
	_, err = d.Create(pieceID(1), CreateOptions{})
	wantKind(t, "refused", err, errs.ReadOnly)
	wantHealth(t, d, hemera.HealthReadOnly)
	d.now = d.now.Add(2 * refusalMemory)
	wantHealth(t, d, hemera.HealthOK)
}

func TestGoneDiskIsNotWritten(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{})
	label := "/d/" + labelName
	if err := d.memory.Rename(label, "/d/away"); err != nil {
		t.Fatal(err)
	}
	wantHealth(t, d, hemera.HealthGone)
	before := d.faulty.Calls(vfs.Changes()...)
	_, err := d.Create(pieceID(1), CreateOptions{})
	wantKind(t, "create on a disk that is gone", err, errs.Unavailable)
	if n := d.faulty.Calls(vfs.Changes()...); n != before {
		t.Error("the mount point was touched")
	}
	if err := writeFile(d.memory, label, labelFirst+"\nuuid another\n"); err != nil {
		t.Fatal(err)
	}
	wantHealth(t, d, hemera.HealthGone)
	if err := d.memory.Rename("/d/away", label); err != nil {
		t.Fatal(err)
	}
	wantHealth(t, d, hemera.HealthOK)
}

func TestFailingDiskRecovers(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{})
	store(t, d.Disk, pieceID(1), randomBytes(1, 100), 100)
	r, err := d.Disk.Open(pieceID(1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for range int(faultLimit) {
		wantHealth(t, d, hemera.HealthOK)
		d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}, Pattern: "0*", Err: syscall.EIO, Count: 1})
		_, err := r.ReadPages(make([]byte, 10), nil, 0)
		wantKind(t, "read", err, errs.IO)
	}
	wantHealth(t, d, hemera.HealthFailing)
	_, err = d.Create(pieceID(2), CreateOptions{})
	wantKind(t, "create on a failing disk", err, errs.Unavailable)
	d.now = d.now.Add(faultHalfLife)
	wantHealth(t, d, hemera.HealthFailing)
	d.now = d.now.Add(2 * faultHalfLife)
	wantHealth(t, d, hemera.HealthOK)
	if s := d.Status(); s.Load.IOErrors != int64(faultLimit) {
		t.Errorf("%d I/O errors", s.Load.IOErrors)
	}
}

func TestRates(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{})
	data := randomBytes(1, 1<<20)
	store(t, d.Disk, pieceID(1), data, 1<<20)
	r, err := d.Disk.Open(pieceID(1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	checkRead(t, r, data, 0, len(data))
	d.now = d.now.Add(2 * time.Second)
	s := d.Status()
	if s.Load.WriteBytes < 1<<19 || s.Load.ReadBytes < 1<<19 || s.Load.ReadOpens != 1 || s.Load.Busy > 1 {
		t.Errorf("load %+v", s.Load)
	}
	d.now = d.now.Add(time.Second)
	if s := d.Status(); s.Load.WriteBytes != 0 || s.Load.ReadBytes != 0 {
		t.Errorf("idle load %+v", s.Load)
	}
}

// The window starts small, doubles, and is asked for in large parts; jumps start over.
func TestReadAheadStep(t *testing.T) {
	const size = 1 << 30
	var a readAhead
	asked, off := int64(0), int64(0)
	for ; off < 100<<20; off += 256 << 10 {
		from, to := a.step(off, 256<<10, size)
		if to > from {
			if from != asked && asked != 0 || to-from < aheadStart/4 || to-off > aheadMax+1<<20 {
				t.Errorf("at %d: [%d, %d) after %d", off, from, to, asked)
			}
			asked = to
		}
	}
	if asked < off+aheadMax/2 {
		t.Errorf("at %d only %d was asked for", off, asked)
	}
	if from, to := a.step(900<<20, 4096, size); from != to {
		t.Errorf("a jump reads ahead [%d, %d)", from, to)
	}
	if a.sequential() {
		t.Error("a jump is sequential")
	}
	if _, to := a.step(900<<20+4096, aheadAfter, size); to > size {
		t.Errorf("read-ahead up to %d", to)
	}
}

func TestLimits(t *testing.T) {
	d := newMemoryDisk(t, 1<<30, Options{})
	_, err := d.Create(pieceID(1), CreateOptions{Path: string(make([]byte, hemera.PathMax+1))})
	wantKind(t, "long path", err, errs.Invalid)
	w, err := d.Create(pieceID(1), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Abort() }()
	wantKind(t, "write beyond the largest file", w.WritePages([]byte("xx"), nil, hemera.FileSizeMax-1), errs.TooLarge)
	wantKind(t, "write before the start", w.WritePages([]byte("x"), nil, -1), errs.TooLarge)
	wantKind(t, "truncate beyond the largest file", w.Truncate(hemera.FileSizeMax+1), errs.TooLarge)
	wantKind(t, "truncate to what can never be sealed", w.Truncate(hemera.FileSizeMax), errs.NoSpace)
	_, err = w.ReadPages(make([]byte, 1), nil, -1)
	wantKind(t, "read before the start", err, errs.Invalid)
	if err := w.WritePages([]byte("abc"), nil, 4095); err != nil {
		t.Fatal(err)
	}
	_, err = w.ReadPages(make([]byte, 4098), make([]uint32, 1), 0)
	wantKind(t, "too few sums", err, errs.Invalid)
	var sums [2]uint32
	if n, err := w.ReadPages(make([]byte, 4098), sums[:], 0); n != 4098 || err != nil || sums[1] != checksum.CRC32C([]byte("bc")) {
		t.Errorf("read %d, %v", n, err)
	}
}

func TestClosedDisk(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{})
	store(t, d.Disk, pieceID(1), []byte("x"), 1)
	w, err := d.Create(pieceID(2), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	wantKind(t, "write", w.WritePages([]byte("x"), nil, 0), errs.Conflict)
	_, err = d.Create(pieceID(3), CreateOptions{})
	wantKind(t, "create", err, errs.Unavailable)
	if _, err := os.Stat("/d/pending"); err == nil {
		t.Error("wrote to the real disk")
	}
	if err := d.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}
