package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/transfer/jobs"
	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// rig is one node with a few disks in memory, and a file with a piece on each disk but the last.
type rig struct {
	t      *testing.T
	fs     []*vfs.Memory
	disks  []*brokenDisk
	node   *piece.Node
	worker jobs.Worker
	cap    hemera.Capability
	whole  []byte
}

// brokenDisk is a disk whose opens fail if it is to.
type brokenDisk struct {
	*disk.Disk
	err error
}

func (d *brokenDisk) Open(id hemera.PieceID) (disk.Reader, error) {
	if d.err != nil {
		return nil, d.err
	}
	return d.Disk.Open(id)
}

const file, gen = 0x70, 3

func newRig(t *testing.T, l hemera.Layout, whole []byte) *rig {
	t.Helper()
	r := &rig{t: t, whole: whole, cap: hemera.Capability{File: file, Gen: gen, Access: hemera.AccessRead, Layout: l, Size: int64(len(whole)), Path: "/f",
		Sums: []hemera.Checksum{piece.CRC32C(checksum.CRC32C(whole))}}}
	r.node = &piece.Node{Self: func() hemera.NodeID { return 1 }, Log: slog.New(slog.DiscardHandler),
		Disk: func(id hemera.DiskID) (disk.Store, bool) {
			return r.disks[id-1], true
		}}
	r.worker = jobs.New(r.node, new(read.Shared))
	parts := r.parts()
	for i := range int(l.Pieces) + 1 {
		r.addDisk(256 << 20)
		if i < int(l.Pieces) {
			r.put(i+1, uint8(i), parts[i], r.cap.Sums)
			r.cap.Targets = append(r.cap.Targets, hemera.Target{Index: uint8(i), Disk: hemera.DiskID(i + 1), Node: 1})
		}
	}
	return r
}

// addDisk adds an empty disk of so many bytes.
func (r *rig) addDisk(size int64) {
	r.t.Helper()
	fs := vfs.NewMemory(size, time.Now)
	r.must(fs.Mkdir("/d"))
	_, err := disk.Format(fs, "/d")
	r.must(err)
	d, err := disk.Open(fs, "/d", disk.Options{})
	r.must(err)
	r.t.Cleanup(func() { _ = d.Close() })
	r.fs, r.disks = append(r.fs, fs), append(r.disks, &brokenDisk{Disk: d})
}

// parts returns the contents of the pieces.
func (r *rig) parts() [][]byte {
	r.t.Helper()
	l := r.cap.Layout
	if !l.Coded() {
		return slices.Repeat([][]byte{r.whole}, int(l.Pieces))
	}
	parts := make([][]byte, l.Pieces)
	code, err := new(piece.Codes).Get(l)
	r.must(err)
	block, data := int(l.BlockSize), int(l.Data)
	row := block * data
	for at := 0; at < len(r.whole); at += row {
		blocks := make([][]byte, l.Pieces)
		for i := range blocks {
			blocks[i] = make([]byte, block)
			if i < data {
				copy(blocks[i], r.whole[min(len(r.whole), at+i*block):min(len(r.whole), at+(i+1)*block)])
			}
		}
		r.must(code.Encode(blocks))
		for i := range parts {
			parts[i] = append(parts[i], blocks[i]...)
		}
	}
	for i := range parts {
		parts[i] = parts[i][:layout.PieceSize(l, int64(len(r.whole)), uint8(i))]
	}
	return parts
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func id(index uint8) hemera.PieceID { return hemera.PieceID{File: file, Gen: gen, Index: index} }

// put seals a piece on a disk.
func (r *rig) put(on int, index uint8, p []byte, sums []hemera.Checksum) {
	r.t.Helper()
	_ = r.disks[on-1].Remove(id(index))
	content := disk.Content{Data: p, Sums: make([]uint32, checksum.Fragments(0, len(p)))}
	checksum.PageSums(p, 0, content.Sums)
	_, err := disk.Put(r.disks[on-1].Disk, id(index), disk.CreateOptions{Path: "/f", Layout: r.cap.Layout}, content, hemera.SealInfo{FileSize: r.cap.Size, Checksums: sums})
	r.must(err)
}

// flip makes a byte of a piece bad on its disk, and cut makes the piece shorter.
func (r *rig) flip(on int, index uint8, off int64) {
	r.t.Helper()
	r.must(r.fs[on-1].Corrupt(r.name(on, index), off, 1))
}

// name finds the file of a piece on its disk.
func (r *rig) name(on int, index uint8) string {
	r.t.Helper()
	found := ""
	var look func(dir string)
	look = func(dir string) {
		list, err := r.fs[on-1].ReadDir(dir)
		if err != nil { // a file
			if piece := strings.TrimPrefix(dir, "/d/"); strings.Contains(piece, "70.") || strings.Contains(piece, "70-") {
				found = dir
			}
			return
		}
		for _, name := range list {
			look(dir + "/" + name)
		}
	}
	look("/d")
	if found == "" {
		r.t.Fatalf("disk %d has no piece %d", on, index)
	}
	return found
}

// job returns work on the piece with the index on a disk, from the disks.
func (r *rig) job(on int, index uint8, from ...int) jobs.Job {
	j := jobs.Job{Piece: id(index), Disk: r.disks[on-1], Cap: r.cap, Token: "token", Copied: new(atomic.Int64)}
	for _, t := range r.cap.Targets {
		if slices.Contains(from, int(t.Disk)) {
			j.Sources = append(j.Sources, t)
		}
	}
	return j
}

// has reports whether a disk has a sealed piece with this content.
func (r *rig) has(on int, index uint8, want []byte) bool {
	p, err := r.disks[on-1].Disk.Open(id(index))
	if err != nil {
		return false
	}
	defer p.Close()
	if len(want) == 0 {
		return p.Stat().Size == 0
	}
	got := make([]byte, len(want))
	n, err := p.ReadPages(got, nil, 0)
	return err == nil && n == len(want) && p.Stat().Size == int64(len(want)) && bytes.Equal(got, want)
}

func pattern(n int) []byte {
	p := make([]byte, n)
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

func coded() hemera.Layout {
	l := hemera.ReedSolomon(2, 1)
	l.BlockSize = 4096
	return l
}

// TestACopyIsMadeOnce: of what the sources have, whole and durable, with the footer of the file; again it finds its work done, and counts no byte.
func TestACopyIsMadeOnce(t *testing.T) {
	t.Parallel()
	for _, l := range []hemera.Layout{hemera.Replica(2), coded()} {
		for _, size := range []int{1, hemera.PageSize, 3*hemera.PageSize + 1, 2<<20 + 7} {
			r := newRig(t, l, pattern(size))
			for index, part := range r.parts() {
				last := len(r.disks)
				want := int64(len(part))
				for round := range 2 {
					j := r.job(last, uint8(index), 1, 2)
					n, err := r.worker.Copy(t.Context(), j)
					if n != want || err != nil || j.Copied.Load() != want || !r.has(last, uint8(index), part) {
						t.Fatalf("%s of %d bytes, piece %d, round %d: %d bytes, counted %d, %v", l, size, index, round, n, j.Copied.Load(), err)
					}
					want = 0
				}
				if !l.Coded() {
					break // copies are alike
				}
				r.must(r.disks[last-1].Remove(id(uint8(index))))
			}
		}
	}
}

// TestOneSourceHelpsAnother: a bad page of one comes from the other; a page that no source has good ends the copy, and leaves nothing.
func TestOneSourceHelpsAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t, hemera.Replica(2), pattern(20*hemera.PageSize))
	r.flip(1, 0, 5)
	r.flip(2, 1, 9*hemera.PageSize)
	if _, err := r.worker.Copy(t.Context(), r.job(3, 0, 1, 2)); err != nil || !r.has(3, 0, r.whole) {
		t.Errorf("two sources with different bad pages: %v", err)
	}
	r.node.Wait() // the read has the bad page that it met repaired
	if v, err := r.worker.Verify(t.Context(), r.disks[0], id(0), hemera.ChecksumNone); err != nil || len(v.Bad) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
	r.must(r.disks[2].Remove(id(0)))
	r.flip(1, 0, 5)
	r.flip(2, 1, 6)
	if _, err := r.worker.Copy(t.Context(), r.job(3, 0, 1, 2)); err == nil {
		t.Error("a page that no source has: no error")
	}
	if _, err := r.disks[2].Disk.Open(id(0)); errs.KindOf(err) != errs.NotFound {
		t.Errorf("half a copy is there: %v", err)
	}
	// It is begun again at once, as nothing is left of the first try.
	r.put(2, 1, r.whole, r.cap.Sums)
	if n, err := r.worker.Copy(t.Context(), r.job(3, 0, 1, 2)); n != r.cap.Size || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// TestAWrongPieceIsReplacedAndARightOneStays: whatever is wrong with it: its bytes, its footer, its file's size. The content that was there stays until its
// replacement is sealed.
func TestAWrongPieceIsReplacedAndARightOneStays(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(r *rig){
		"a bad page": func(r *rig) { r.put(3, 0, r.whole, r.cap.Sums); r.flip(3, 0, 7) },
		"another content": func(r *rig) {
			other := bytes.Clone(r.whole)
			other[3] ^= 1
			r.put(3, 0, other, nil)
		},
		"another checksum in the footer": func(r *rig) {
			r.cap.Sums = append(r.cap.Sums, hemera.Checksum{Kind: hemera.Adler32})
			r.put(3, 0, r.whole, []hemera.Checksum{{Kind: hemera.Adler32, Value: [32]byte{1}}})
		},
		"another size of the file": func(r *rig) {
			size := r.cap.Size
			r.cap.Size--
			r.put(3, 0, r.whole[1:], nil)
			r.cap.Size = size
		},
	} {
		for _, repair := range []bool{false, true} {
			r := newRig(t, hemera.Replica(2), pattern(3*hemera.PageSize))
			spoil(r)
			j := r.job(3, 0, 1, 2)
			work := r.worker.Copy
			if repair {
				work = r.worker.Repair
			}
			if n, err := work(t.Context(), j); n == 0 || err != nil || !r.has(3, 0, r.whole) {
				t.Errorf("%s, repair %t: %d, %v", name, repair, n, err)
			}
			// Without a source the wrong piece is all there is.
			spoil(r)
			j.Sources = nil
			if _, err := work(t.Context(), j); err == nil {
				t.Errorf("%s, repair %t, without sources: no error", name, repair)
			}
			if _, err := r.disks[2].Disk.Open(id(0)); err != nil {
				t.Errorf("%s, repair %t, without sources: the piece is gone: %v", name, repair, err)
			}
		}
	}
}

// TestAPieceOfACodedFileIsComparedWithTheOthers: its pages and footer can be right, and its bytes not what the others make.
func TestAPieceOfACodedFileIsComparedWithTheOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, coded(), pattern(5*4096))
	parts := r.parts()
	for index := range uint8(3) {
		r.put(4, index, pattern(len(parts[index])), r.cap.Sums)
		before := r.node.Counters.ChecksumErrors.Load()
		if n, err := r.worker.Copy(t.Context(), r.job(4, index, 1, 2, 3)); n != int64(len(parts[index])) || err != nil || !r.has(4, index, parts[index]) {
			t.Errorf("piece %d: %d, %v", index, n, err)
		}
		if r.node.Counters.ChecksumErrors.Load() != before+1 {
			t.Errorf("piece %d is not counted", index)
		}
		r.must(r.disks[3].Remove(id(index)))
	}
}

// TestAJobIsForItsContentAlone: a capability of another content, or to write, is refused; so is a content that is not the committed one.
func TestAJobIsForItsContentAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, hemera.Replica(2), pattern(9000))
	for name, alter := range map[string]func(j *jobs.Job){
		"another file":       func(j *jobs.Job) { j.Cap.File++ },
		"another generation": func(j *jobs.Job) { j.Cap.Gen++ },
		"a right to write":   func(j *jobs.Job) { j.Cap.Access = hemera.AccessUpdate },
	} {
		j := r.job(3, 0, 1)
		alter(&j)
		_, err := r.worker.Copy(t.Context(), j)
		_, repairErr := r.worker.Repair(t.Context(), j)
		if errs.KindOf(err) != errs.Invalid || errs.KindOf(repairErr) != errs.Invalid {
			t.Errorf("%s: %v, %v", name, err, repairErr)
		}
	}
	// Sources whose footer agrees and whose content does not: no checksum of the footer tells.
	wrong := bytes.Clone(r.whole)
	wrong[0] ^= 1
	r.put(1, 0, wrong, nil)
	if _, err := r.worker.Copy(t.Context(), r.job(3, 0, 1)); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("a content that was not committed: %v", err)
	}
	if _, err := r.disks[2].Disk.Open(id(0)); errs.KindOf(err) != errs.NotFound {
		t.Errorf("it was sealed: %v", err)
	}
	// A file without a committed CRC32C has nothing to compare.
	r.cap.Sums = nil
	if _, err := r.worker.Copy(t.Context(), r.job(3, 0, 1)); err != nil || !r.has(3, 0, wrong) {
		t.Errorf("without a committed checksum: %v", err)
	}
}

// TestACopyOfHolesIsWhole: what is not written counts as copied, and reads as zeros.
func TestACopyOfHolesIsWhole(t *testing.T) {
	t.Parallel()
	whole := make([]byte, 8<<20)
	copy(whole, pattern(hemera.PageSize))
	copy(whole[len(whole)-10:], "the end")
	r := newRig(t, hemera.Replica(1), whole)
	j := r.job(2, 0, 1)
	n, err := r.worker.Copy(t.Context(), j)
	if n != r.cap.Size || err != nil || j.Copied.Load() != r.cap.Size || !r.has(2, 0, whole) {
		t.Errorf("%d bytes, counted %d, %v", n, j.Copied.Load(), err)
	}
}

// TestVerifyNamesEachBadPage and, with a kind, the checksum of a content that has none.
func TestVerifyNamesEachBadPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, hemera.Replica(1), pattern(5*hemera.PageSize+9))
	ctx, d := t.Context(), r.disks[0]
	v, err := r.worker.Verify(ctx, d, id(0), hemera.CRC32C)
	if err != nil || len(v.Bad) != 0 || !slices.Equal(v.Sums, r.cap.Sums) || v.Stat.Size != r.cap.Size {
		t.Errorf("%+v, %v", v, err)
	}
	v, err = r.worker.Verify(ctx, d, id(0), hemera.ChecksumNone)
	if err != nil || len(v.Bad) != 0 || len(v.Sums) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	r.flip(1, 0, 2*hemera.PageSize+1)
	r.flip(1, 0, 5*hemera.PageSize+8)
	for _, kind := range []hemera.ChecksumKind{hemera.ChecksumNone, hemera.CRC32C, hemera.MD5} {
		before := r.node.Counters.ChecksumErrors.Load()
		v, err := r.worker.Verify(ctx, d, id(0), kind)
		if err != nil || !slices.Equal(v.Bad, []int64{2 * hemera.PageSize, 5 * hemera.PageSize}) || len(v.Sums) != 0 {
			t.Errorf("%v: %+v, %v", kind, v, err)
		}
		if r.node.Counters.ChecksumErrors.Load() != before+2 {
			t.Errorf("%v: %d bad pages are counted", kind, r.node.Counters.ChecksumErrors.Load()-before)
		}
	}
	// Pages are good, and the footer is of another content.
	r.put(1, 0, r.whole, []hemera.Checksum{{Kind: hemera.MD5}})
	if _, err := r.worker.Verify(ctx, d, id(0), hemera.MD5); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("a wrong footer: %v", err)
	}
	if _, err := r.worker.Verify(ctx, d, id(0), hemera.CRC32C); err != nil {
		t.Errorf("a kind that the footer does not have: %v", err)
	}
	if _, err := r.worker.Verify(ctx, d, id(0), hemera.ChecksumKind(200)); errs.KindOf(err) != errs.Invalid {
		t.Errorf("no such kind: %v", err)
	}
	if _, err := r.worker.Verify(ctx, r.disks[1], id(0), hemera.MD5); errs.KindOf(err) != errs.NotFound {
		t.Errorf("no such piece: %v", err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := r.worker.Verify(ended, d, id(0), hemera.CRC32C); errs.KindOf(err) != errs.Cancelled {
		t.Errorf("nobody waits for it: %v", err)
	}
}

// TestRepairRewritesWhatIsBadAndNoMore: pages where pages are bad, the whole where there is no piece; a disk that fails is no reason to copy.
func TestRepairRewritesWhatIsBadAndNoMore(t *testing.T) {
	t.Parallel()
	errDown := errs.New(errs.Unavailable, "test", "", "the disk is down")
	const pages = 7 // the last one is short
	for name, c := range map[string]struct {
		spoil    func(r *rig)
		repaired int64
		kind     errs.Kind // of the error; 0 for none
	}{
		"a good piece":         {func(*rig) {}, 0, 0},
		"two bad pages":        {func(r *rig) { r.flip(2, 1, 0); r.flip(2, 1, 6*hemera.PageSize) }, 2, 0},
		"no piece":             {func(r *rig) { r.must(r.disks[1].Remove(id(1))) }, pages, 0},
		"a disk that is down":  {func(r *rig) { r.disks[1].err = errDown }, 0, errs.Unavailable},
		"the same page is bad": {func(r *rig) { r.flip(1, 0, 0); r.flip(2, 1, 0) }, 0, errs.NoReplicas},
	} {
		r := newRig(t, hemera.Replica(2), pattern(6*hemera.PageSize+100))
		c.spoil(r)
		n, err := r.worker.Repair(t.Context(), r.job(2, 1, 1))
		if n != c.repaired || (c.kind == 0) != (err == nil) || c.kind != 0 && errs.KindOf(err) != c.kind {
			t.Errorf("%s: %d pages, %v", name, n, err)
		}
		if got := r.node.Counters.Repairs.Load(); got != c.repaired {
			t.Errorf("%s: %d repairs are counted", name, got)
		}
		if c.kind == 0 && !r.has(2, 1, r.whole) {
			t.Errorf("%s: the piece is not good", name)
		}
	}
	// Of a coded file a page is computed from the others.
	r := newRig(t, coded(), pattern(6*4096))
	r.flip(2, 1, 4096)
	if n, err := r.worker.Repair(t.Context(), r.job(2, 1, 1, 3)); n != 1 || err != nil || !r.has(2, 1, r.parts()[1]) {
		t.Errorf("%d pages, %v", n, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	r.flip(2, 1, 0)
	if _, err := r.worker.Repair(ended, r.job(2, 1, 1, 3)); !errors.Is(err, errs.Cancelled) {
		t.Errorf("nobody waits for it: %v", err)
	}
	if r.node.Counters.RepairsFailed.Load() != 0 {
		t.Error("a repair that was cancelled is counted as failed")
	}
}
