package transfer_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// counted counts the bytes that all disks read and write.
type counted struct {
	vfs.FS
	bytes *atomic.Int64
}

func (c counted) Open(name string, flag int) (vfs.File, error) {
	f, err := c.FS.Open(name, flag)
	if err != nil {
		return nil, err
	}
	return countedFile{f, f.(vfs.Sparse), c.bytes}, nil
}

type countedFile struct {
	vfs.File
	vfs.Sparse
	bytes *atomic.Int64
}

func (f countedFile) ReadAt(p []byte, off int64) (int, error) {
	f.bytes.Add(int64(len(p)))
	return f.File.ReadAt(p, off)
}

func (f countedFile) WriteAt(p []byte, off int64) (int, error) {
	f.bytes.Add(int64(len(p)))
	return f.File.WriteAt(p, off)
}

const (
	sparseSize = 4 << 30
	// sparseCost bounds the bytes that a step may move of a file of this size: a table for each piece, and what is read
	// before a hole is seen.
	sparseCost = 80 << 20
)

// newSparseBench has disks that count, and that know holes.
func newSparseBench(t *testing.T, hosts int) (*bench, func(what string, do func())) {
	var moved atomic.Int64
	b := makeBench(t, hosts, func() (vfs.FS, string) { return counted{vfs.OS{}, &moved}, t.TempDir() })
	return b, func(what string, do func()) {
		t.Helper()
		before := moved.Load()
		do()
		if n := moved.Load() - before; n > sparseCost {
			t.Errorf("%s read and wrote %d MiB", what, n>>20)
		}
	}
}

// grantKinds makes a grant with checksums of its own.
func (b *bench) grantKinds(file int, kinds []hemera.ChecksumKind, on ...int) (string, hemera.Capability) {
	_, c := b.grant(file, len(on), on...)
	c.Checksums = kinds
	return b.manager.sign(c), c
}

// sparseSums returns the checksums of a file of the size that begins with "data" and has one byte, 9, at the end.
func sparseSums(t *testing.T, size int64, kinds ...hemera.ChecksumKind) []hemera.Checksum {
	t.Helper()
	m, err := checksum.NewMulti(kinds...)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = m.Write([]byte("data"))
	m.WriteZeros(size - 5)
	_, _ = m.Write([]byte{9})
	return m.Sums()
}

// A file of 4 GiB that holds five bytes is closed, changed, copied, verified and repaired for little more than
// the tables of its pieces; its checksums are right.
func TestSparseFileCostsWhatItHolds(t *testing.T) {
	b, costs := newSparseBench(t, 3)
	kinds := []hemera.ChecksumKind{hemera.Adler32, hemera.CRC64NVME}
	token, c := b.grantKinds(1, kinds, 1, 2)
	f := b.begin(1, token)
	must(t, f.WritePages([]byte("data"), nil, 0))
	must(t, f.Truncate(sparseSize))
	must(t, f.WritePages([]byte{9}, nil, sparseSize-1))
	costs("the close", func() { must(t, f.End(ctx, hemera.EndClose)) })
	r := b.manager.commit(t, c)
	if len(r.Pieces) != 2 || r.Size != sparseSize {
		t.Fatalf("committed: %+v", r)
	}
	for i, want := range sparseSums(t, sparseSize, hemera.Adler32, hemera.CRC64NVME, hemera.CRC32C) {
		if r.Checksums[i] != want {
			t.Errorf("%s was committed, want %s", r.Checksums[i], want)
		}
	}

	piece := hemera.PieceID{File: c.File, Gen: c.Gen}
	third := b.hosts[2]
	costs("a copy", func() {
		if n, err := third.host.Jobs().Copy(ctx, b.job(c, 3, 0, 1, 2)); n != sparseSize || err != nil {
			t.Fatal(n, err)
		}
	})
	takesLittle(t, third.disk, piece)
	costs("a look at a copy", func() {
		if n, err := third.host.Jobs().Copy(ctx, b.job(c, 3, 0, 1, 2)); n != 0 || err != nil {
			t.Fatal(n, err)
		}
	})
	costs("a checksum", func() {
		v, err := third.host.Jobs().Verify(ctx, third.disk, piece, hemera.Adler32)
		if err != nil || len(v.Bad) > 0 || v.Sums[0] != r.Checksums[0] {
			t.Errorf("%+v, %v", v, err)
		}
	})
	b.flip(c, 3, 0)
	costs("a repair", func() {
		if n, err := third.host.Jobs().Repair(ctx, b.job(c, 3, 0, 1, 2)); n != 1 || err != nil {
			t.Error(n, err)
		}
	})
	if _, err := third.host.Jobs().Verify(ctx, third.disk, piece, hemera.MD5); !errors.Is(err, errs.TooLarge) {
		t.Errorf("a digest of it: %v", err)
	}

	_, c2 := b.update(c, 2, 3, 2) // the base is read from elsewhere
	c2.Checksums = kinds
	f = b.open(3, b.manager.sign(c2), hemera.NodeOpen{})
	costs("an update", func() {
		must(t, f.WritePages([]byte("DATA"), nil, 1<<30))
		must(t, f.WritePages([]byte("d"), nil, 0))
		must(t, f.End(ctx, hemera.EndClose))
	})
	takesLittle(t, third.disk, hemera.PieceID{File: c2.File, Gen: c2.Gen})
	token, _ = b.read(c2)
	f = b.open(1, token, hemera.NodeOpen{})
	for off, want := range map[int64]string{0: "data\x00", 1<<30 - 1: "\x00DATA\x00", 2 << 30: "\x00", sparseSize - 2: "\x00\x09"} {
		p := make([]byte, len(want))
		if _, err := f.ReadPages(p, nil, off); string(p) != want {
			t.Errorf("at %d: %q, %v", off, p, err)
		}
	}
	must(t, f.End(ctx, hemera.EndClose))
}

// takesLittle checks that a piece's holes take no room.
func takesLittle(t *testing.T, d disk.Store, id hemera.PieceID) {
	t.Helper()
	r, err := d.Open(id)
	must(t, err)
	defer func() { _ = r.Close() }()
	if n, err := r.Allocated(); n == 0 || n > sparseCost || err != nil {
		t.Errorf("piece %s takes %d bytes, %v", id, n, err)
	}
}

// A piece that is lost at the close is copied to another disk without its holes.
func TestSparseReplacement(t *testing.T) {
	b, costs := newSparseBench(t, 3)
	b.manager.spare = []int{3}
	token, c := b.grantKinds(1, nil, 1, 2)
	f := b.begin(1, token)
	must(t, f.WritePages([]byte("data"), nil, 0))
	must(t, f.WritePages([]byte{9}, nil, sparseSize-1))
	b.peers.fail(2, &fault{step: "seal", err: errGone})
	costs("a close with a lost piece", func() { must(t, f.End(ctx, hemera.EndClose)) })
	b.mustHave(c, 1, 3)
}

// A digest sees the zeros of a hole, but of a large one only where as much was written.
func TestDigestsOfHoles(t *testing.T) {
	const small = 40 << 20
	b, _ := newSparseBench(t, 1)
	for size, want := range map[int64]error{small: nil, sparseSize: errs.TooLarge} {
		token, c := b.grantKinds(int(size>>20), []hemera.ChecksumKind{hemera.MD5, hemera.Adler32}, 1)
		f := b.begin(1, token)
		must(t, f.WritePages([]byte("data"), nil, 0))
		must(t, f.WritePages([]byte{9}, nil, size-1))
		err := f.End(ctx, hemera.EndClose)
		if !errors.Is(err, want) {
			t.Errorf("close of %d bytes: %v, want %v", size, err, want)
		}
		if err != nil {
			b.mustHave(c)
			continue
		}
		for i, want := range sparseSums(t, size, hemera.MD5, hemera.Adler32) {
			if got := b.manager.commit(t, c).Checksums[i]; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
