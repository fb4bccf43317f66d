package piece

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// newNode returns node 1 with disk 1 in memory, and the pieces that it reports as bad.
func newNode(t *testing.T) (n *Node, store *disk.Disk, bad func() []hemera.BadPiece) {
	t.Helper()
	fs := vfs.NewMemory(64<<20, time.Now)
	if err := fs.Mkdir("/d"); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Format(fs, "/d"); err != nil {
		t.Fatal(err)
	}
	d, err := disk.Open(fs, "/d", disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	var mu sync.Mutex
	var found []hemera.BadPiece
	n = &Node{Self: func() hemera.NodeID { return 1 }, Log: slog.New(slog.DiscardHandler), Disk: func(id hemera.DiskID) (disk.Store, bool) { return d, id == 1 },
		Bad: func(b hemera.BadPiece) { mu.Lock(); defer mu.Unlock(); found = append(found, b) }}
	return n, d, func() []hemera.BadPiece { mu.Lock(); defer mu.Unlock(); return slices.Clone(found) }
}

func here() hemera.Target { return hemera.Target{Disk: 1, Node: 1} }

func content(p string) (*hemera.Capability, disk.Content, hemera.SealInfo) {
	c := &hemera.Capability{File: 9, Gen: 1, Layout: hemera.Replica(1), Size: int64(len(p)), Sums: []hemera.Checksum{CRC32C(checksum.CRC32C([]byte(p)))}, Path: "/f"}
	d := disk.Content{Data: []byte(p), Sums: make([]uint32, checksum.Fragments(0, len(p)))}
	checksum.PageSums(d.Data, 0, d.Sums)
	return c, d, hemera.SealInfo{FileSize: c.Size, Checksums: c.Sums}
}

// there reports whether the disk has the sealed piece.
func there(store disk.Store, c *hemera.Capability) bool {
	r, err := store.Open(ID(c, 0))
	if err == nil {
		_ = r.Close()
	}
	return err == nil
}

// TestAPieceThatIsAbortedIsGone, sealed or pending, and what a caller was kept from is free again, once.
func TestAPieceThatIsAbortedIsGone(t *testing.T) {
	t.Parallel()
	for _, seal := range []bool{true, false} {
		n, store, _ := newNode(t)
		owned := 0
		n.Own = func(*hemera.Capability, hemera.Target) func() { owned++; return func() { owned-- } }
		c, d, info := content("some bytes")
		_, p, err := n.Create(t.Context(), c, nil, here())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.WritePages(d.Data, d.Sums, 0); err != nil {
			t.Fatal(err)
		}
		if seal {
			if err := p.Seal(t.Context(), info); err != nil || !there(store, c) {
				t.Fatal(err)
			}
		}
		if p.Ended() != seal || owned != 1 || p.Found() {
			t.Errorf("sealed %t: ended %t, owned %d", seal, p.Ended(), owned)
		}
		p.Abort()
		p.Abort()
		if there(store, c) || owned != 0 || !p.Ended() {
			t.Errorf("sealed %t: there %t, owned %d", seal, there(store, c), owned)
		}
		// The name is free.
		if _, err := n.PutLocal(c, here(), d, info); err != nil || !there(store, c) {
			t.Errorf("again: %v", err)
		}
	}
}

// TestWhatAnEarlierProcessLeftStays until its write is dropped: an abort leaves it where it is.
func TestWhatAnEarlierProcessLeftStays(t *testing.T) {
	t.Parallel()
	n, store, _ := newNode(t)
	c, d, info := content("some bytes")
	if _, _, err := n.FindLocal(store, c, here()); errs.KindOf(err) != errs.NotFound {
		t.Errorf("nothing is there: %v", err)
	}
	if _, err := n.PutLocal(c, here(), d, info); err != nil {
		t.Fatal(err)
	}
	p, stat, err := n.FindLocal(store, c, here())
	if err != nil || stat == nil || stat.Size != c.Size || !p.Found() || !p.Ended() {
		t.Fatalf("%+v, %v", stat, err)
	}
	if p.Abort(); !there(store, c) {
		t.Error("a piece that was found is removed")
	}
	p, _, err = n.FindLocal(store, c, here())
	if err != nil {
		t.Fatal(err)
	}
	p.Disown()
	if p.Abort(); there(store, c) {
		t.Error("a piece whose write is dropped stays")
	}
}

// TestASealedPieceHasAllOfItsFile: one that is shorter is Corrupt, and a put of it leaves nothing.
func TestASealedPieceHasAllOfItsFile(t *testing.T) {
	t.Parallel()
	n, store, _ := newNode(t)
	c, d, info := content("some bytes")
	info.FileSize, info.Checksums = info.FileSize+1, nil
	if _, err := n.PutLocal(c, here(), d, info); errs.KindOf(err) != errs.Corrupt || there(store, c) {
		t.Errorf("%v, there: %t", err, there(store, c))
	}
	if _, err := n.PutLocal(c, hemera.Target{Disk: 2, Node: 1}, d, info); errs.KindOf(err) != errs.NotFound {
		t.Errorf("a disk that the node does not have: %v", err)
	}
}

// TestASealedPieceIsOpenedForItsContent: what does not check is counted, and is not given away.
func TestASealedPieceIsOpenedForItsContent(t *testing.T) {
	t.Parallel()
	n, _, _ := newNode(t)
	c, d, info := content("some bytes")
	if _, err := n.PutLocal(c, here(), d, info); err != nil {
		t.Fatal(err)
	}
	r, err := n.OpenSealed(c, here())
	if err != nil || n.Counters.ChecksumErrors.Load() != 0 {
		t.Fatal(err)
	}
	_ = r.Close()
	other := *c
	other.Size++
	if _, err := n.OpenSealed(&other, here()); errs.KindOf(err) != errs.Corrupt || n.Counters.ChecksumErrors.Load() != 1 {
		t.Errorf("%v, %d counted", err, n.Counters.ChecksumErrors.Load())
	}
	other = *c
	other.Gen++
	if _, err := n.OpenSealed(&other, here()); errs.KindOf(err) != errs.NotFound || n.Counters.ChecksumErrors.Load() != 1 {
		t.Errorf("%v, %d counted", err, n.Counters.ChecksumErrors.Load())
	}
}

// TestACapabilityHasItsOwnPiecesOnly: of this node, by index.
func TestACapabilityHasItsOwnPiecesOnly(t *testing.T) {
	t.Parallel()
	n, _, _ := newNode(t)
	c := &hemera.Capability{File: 9, Targets: []hemera.Target{{Index: 0, Node: 2, Disk: 7}, {Index: 1, Node: 1, Disk: 1}}}
	if at, err := n.Target(c, 1); err != nil || at.Disk != 1 {
		t.Errorf("%+v, %v", at, err)
	}
	for _, index := range []uint8{0, 2} {
		if _, err := n.Target(c, index); errs.KindOf(err) != errs.Denied {
			t.Errorf("piece %d: %v", index, err)
		}
	}
}

// TestTheBaseOfAnUpdateIsOnTheSameDisk: of copies any will do, of a coded file the piece with the index.
func TestTheBaseOfAnUpdateIsOnTheSameDisk(t *testing.T) {
	t.Parallel()
	pieces := []hemera.Target{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}}
	for _, c := range []struct {
		layout hemera.Layout
		target hemera.Target
		want   int // index of the base's piece, -1 for none
	}{
		{hemera.Replica(2), hemera.Target{Index: 0, Disk: 1}, 0},
		{hemera.Replica(2), hemera.Target{Index: 0, Disk: 2}, 1},
		{hemera.Replica(2), hemera.Target{Index: 0, Disk: 3}, -1},
		{hemera.ReedSolomon(2, 1), hemera.Target{Index: 1, Disk: 2}, 1},
		{hemera.ReedSolomon(2, 1), hemera.Target{Index: 0, Disk: 2}, -1},
	} {
		cap := &hemera.Capability{File: 1, Gen: 5, Size: 10, Layout: c.layout, Base: &hemera.Base{Gen: 4, Size: 9, Pieces: pieces}}
		base, at, ok := BaseOf(cap, c.target)
		if ok != (c.want >= 0) || ok && (int(at.Index) != c.want || base.Gen != 4 || base.Size != 9 || len(base.Targets) != 2) {
			t.Errorf("%+v: %+v, %t", c, at, ok)
		}
	}
	if _, _, ok := BaseOf(&hemera.Capability{}, here()); ok {
		t.Error("a new file has a base")
	}
}

// TestOnlyBadPiecesAreReported: those that are wrong or missing, and not those that cannot be reached.
func TestOnlyBadPiecesAreReported(t *testing.T) {
	t.Parallel()
	n, _, bad := newNode(t)
	want := 0
	for _, kind := range []errs.Kind{errs.Corrupt, errs.NotFound, errs.Unavailable, errs.Timeout, errs.Internal, errs.Cancelled} {
		n.Found(here(), hemera.PieceID{File: 1}, errs.New(kind, "test", "", ""))
		if kind == errs.Corrupt || kind == errs.NotFound {
			want++
		}
		if len(bad()) != want {
			t.Errorf("%v: %+v", kind, bad())
		}
	}
	n.Found(here(), hemera.PieceID{File: 1}, nil)
	if len(bad()) != want {
		t.Errorf("no error: %+v", bad())
	}
}

// waitingDisk is a disk whose repairs wait.
type waitingDisk struct {
	disk.Store
	go_ chan error
}

func (d waitingDisk) RepairPages(hemera.PieceID, []byte, int64) error { return <-d.go_ }

// TestRepairsInTheBackgroundAreFew: one too many is reported instead, as is one that fails; each that succeeds is counted.
func TestRepairsInTheBackgroundAreFew(t *testing.T) {
	t.Parallel()
	n, _, bad := newNode(t)
	d := waitingDisk{go_: make(chan error)}
	n.Disk = func(hemera.DiskID) (disk.Store, bool) { return d, true }
	for i := range repairsMax + 1 {
		n.RepairPage(here(), hemera.PieceID{File: hemera.FileID(i)}, nil, 0)
	}
	if got := bad(); len(got) != 1 || got[0].Piece.File != repairsMax {
		t.Errorf("%+v", got)
	}
	d.go_ <- errs.New(errs.Corrupt, "test", "", "it is another page")
	for range repairsMax - 1 {
		d.go_ <- nil
	}
	n.Wait()
	if ok, failed := n.Counters.Repairs.Load(), n.Counters.RepairsFailed.Load(); ok != repairsMax-1 || failed != 1 || len(bad()) != 2 {
		t.Errorf("%d and %d, reported %+v", ok, failed, bad())
	}
	n.RepairPage(here(), hemera.PieceID{File: 1}, nil, 0) // there is room again
	d.go_ <- nil
	n.Wait()
	if len(bad()) != 2 {
		t.Errorf("reported %+v", bad())
	}
}

// TestTheBusiestOpenFilesComeFirst: by the rate since they were asked for last, but not over too short a time; then by path.
func TestTheBusiestOpenFilesComeFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var u OpenFiles
		var uses [4]Usage
		began := time.Now()
		for i, p := range []string{"/d", "/b", "/a", "/c"} {
			u.Begin(&uses[i], &hemera.Capability{Path: p, Access: hemera.AccessRead, Targets: []hemera.Target{{Disk: 5}, {Disk: 6}}}, began)
		}
		uses[0].Bytes.Add(4000)
		uses[3].Bytes.Add(500)
		uses[3].Disk.Store(6)
		order := func(limit int) (out string) {
			for _, f := range u.List(limit) {
				out += f.Path
			}
			return out
		}
		if got := order(9); got != "/a/b/c/d" {
			t.Errorf("before any time has passed: %s", got)
		}
		time.Sleep(2 * time.Second) // of the bubble's clock
		list := u.List(2)
		if len(list) != 2 || list[0].Path != "/d" || list[0].Rate != 2000 || list[0].Bytes != 4000 || list[1].Rate != 250 || !slices.Equal(list[1].Disks, []hemera.DiskID{6}) || len(list[0].Disks) != 2 || list[0].Write {
			t.Errorf("%+v", list)
		}
		uses[3].Bytes.Add(1 << 20)
		time.Sleep(sampleMin - 1)
		if got := order(1); got != "/d" {
			t.Errorf("a rate over too short a time: %s", got)
		}
		time.Sleep(time.Nanosecond)
		if got := order(9); got != "/c/a/b/d" {
			t.Errorf("%s", got)
		}
		u.End(&uses[3])
		u.End(&uses[3])
		if got := order(9); got != "/a/b/d" {
			t.Errorf("%s", got)
		}
	})
}

// TestAPeersPieceIsOpenedWithTheHeadsProof, for writing only, and by a client without one.
func TestAPeersPieceIsOpenedWithTheHeadsProof(t *testing.T) {
	t.Parallel()
	n, _, _ := newNode(t)
	at := hemera.Target{Disk: 3, Node: 4, Addr: "far"}
	for _, c := range []struct {
		access hemera.Access
		proof  bool
		head   string
	}{{hemera.AccessCreate, true, "proof for node 4 of token"}, {hemera.AccessRead, true, ""}, {hemera.AccessCreate, false, ""}} {
		n.HeadProof = nil
		if c.proof {
			n.HeadProof = func(token string, node hemera.NodeID) (string, error) {
				return "proof for node " + node.String() + " of " + token, nil
			}
		}
		p, token, err := n.Remote(hemera.VerifiedPermit(hemera.Capability{File: 1, Access: c.access, Path: "/f"}, "token"), at)
		if err != nil || token != "token" || p.Head != c.head || p.Target != at {
			t.Errorf("%+v: %+v, %q, %v", c, p, token, err)
		}
	}
	n.HeadProof = func(string, hemera.NodeID) (string, error) { return "", errs.New(errs.Denied, "test", "", "no") }
	if _, _, err := n.Create(context.Background(), &hemera.Capability{}, hemera.VerifiedPermit(hemera.Capability{Access: hemera.AccessCreate}, "t"), at); errs.KindOf(err) != errs.Denied {
		t.Errorf("a proof that fails: %v", err)
	}
}
