package disk

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"hemera/platform/vfs"
	"hemera/words/hemera"
)

// countedFS counts the bytes that are read and written.
type countedFS struct {
	vfs.FS
	read, written atomic.Int64
}

func (c *countedFS) Open(name string, flag int) (vfs.File, error) {
	f, err := c.FS.Open(name, flag)
	if err != nil {
		return nil, err
	}
	return &countedFile{f, f.(vfs.Sparse), c}, nil
}

type countedFile struct {
	vfs.File
	vfs.Sparse
	fs *countedFS
}

func (f *countedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.fs.read.Add(int64(n))
	return n, err
}

func (f *countedFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	f.fs.written.Add(int64(n))
	return n, err
}

// took runs do and returns how many bytes it read and wrote.
func (c *countedFS) took(do func()) (read, written int64) {
	r, w := c.read.Load(), c.written.Load()
	do()
	return c.read.Load() - r, c.written.Load() - w
}

// sparseFile says whether files in the directory know their holes, as all but a few filesystems' do.
func sparseFile(t *testing.T, dir string) bool {
	t.Helper()
	f, err := vfs.OS{}.Open(dir+"/sparse", os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := f.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	next, err := f.(vfs.Sparse).NextData(0)
	return err == nil && next == 1<<20
}

// A piece of 4 GiB with a byte at each end costs its table to seal, and that to verify and to scrub. What is
// between is neither read nor written.
func TestHoleCostsItsTable(t *testing.T) {
	const size = 4 << 30
	const table = size / 1024 // at least
	dir := t.TempDir()
	if !sparseFile(t, t.TempDir()) {
		t.Skip("the filesystem knows no holes")
	}
	fsys := &countedFS{FS: vfs.OS{}}
	d := newDisk(t, fsys, dir, Options{PendingBlocks: 4})
	w, err := d.Create(pieceID(1), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, off := range []int64{0, size - 1} {
		if err := w.WritePages([]byte{7}, nil, off); err != nil {
			t.Fatal(err)
		}
	}
	var sealed hemera.PieceStat
	read, written := fsys.took(func() { sealed, err = w.Seal(hemera.SealInfo{FileSize: size}) })
	if err != nil || sealed.Size != size {
		t.Fatal(sealed, err)
	}
	if read > 1<<20 || written < table || written > table+1<<20 {
		t.Errorf("the seal read %d bytes and wrote %d", read, written)
	}
	r, err := d.Open(pieceID(1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var bad []int64
	if read, _ := fsys.took(func() { bad, err = r.Verify() }); err != nil || len(bad) > 0 || read > 2*table {
		t.Errorf("Verify found %v bad, %v, and read %d bytes", bad, err, read)
	}
	s := &scrub{disk: d, o: ScrubOptions{Rate: func() int64 { return 1 << 40 }}}
	if read, _ := fsys.took(func() { err = s.verify(context.Background(), pieceID(1)) }); err != nil || read > 3*table {
		t.Errorf("a scrub: %v, read %d bytes", err, read)
	}
	for _, off := range []int64{0, 1 << 30, size - 4096} {
		p := make([]byte, 4096)
		if n, err := r.ReadPages(p, nil, off); n != len(p) || err != nil && err != io.EOF || off == 0 && p[0] != 7 || off == size-4096 && p[4095] != 7 {
			t.Errorf("read at %d: %d, %v", off, n, err)
		}
	}
}

// What the device lost is no hole: the table has other CRCs. What should be zeros and is not is no hole either.
func TestLostDataIsNoHole(t *testing.T) {
	const size = 12 << 20
	for _, lost := range []bool{true, false} {
		fsys := vfs.NewMemory(0, time.Now)
		if err := fsys.Mkdir("/d"); err != nil {
			t.Fatal(err)
		}
		d := newDisk(t, fsys, "/d", Options{IdlePieces: -1})
		data := make([]byte, size)
		const bad = 5<<20 + 4096
		if lost {
			data[bad+1] = 9
		}
		store(t, d, pieceID(1), data, 1<<20)
		f, err := fsys.Open(d.sealedPath(pieceID(1)), os.O_RDWR)
		if err != nil {
			t.Fatal(err)
		}
		page := make([]byte, 4096)
		if !lost {
			page[1] = 9
		}
		if _, err := f.WriteAt(page, bad); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		r, err := d.Open(pieceID(1))
		if err != nil {
			t.Fatal(err)
		}
		if next, err := r.NextData(0); next != bad || err != nil {
			t.Errorf("lost %v: data from %d, %v, want %d", lost, next, err, int64(bad))
		}
		if found, err := r.Verify(); err != nil || len(found) != 1 || found[0] != bad {
			t.Errorf("lost %v: Verify: %v, %v", lost, found, err)
		}
		_ = r.Close()
	}
}

// Between off and what NextData returns all is zeros, pending and sealed, whatever was written.
func TestNextDataEqualsSlice(t *testing.T) {
	for seed := range uint64(20) {
		fsys := vfs.NewMemory(0, time.Now)
		if err := fsys.Mkdir("/d"); err != nil {
			t.Fatal(err)
		}
		d := newDisk(t, fsys, "/d", Options{PendingBlocks: 1})
		w, err := d.Create(pieceID(1), CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 9))
		twin := randomWork(t, rng, w)
		if end := int64(len(twin)) + rng.Int64N(30<<20); true {
			if err := w.Truncate(end); err != nil {
				t.Fatal(err)
			}
			twin = append(twin, make([]byte, end-int64(len(twin)))...)
		}
		skipped := checkHoles(t, w, twin)
		if _, err := w.Seal(hemera.SealInfo{FileSize: int64(len(twin))}); err != nil {
			t.Fatal(err)
		}
		r, err := d.Open(pieceID(1))
		if err != nil {
			t.Fatal(err)
		}
		if sealed := checkHoles(t, r, twin); sealed < skipped {
			t.Errorf("seed %d: %d bytes skipped when sealed, %d before", seed, sealed, skipped)
		}
		checkRead(t, r, twin, 0, len(twin)+1)
		_ = r.Close()
	}
}

// checkHoles goes through a piece and returns how many bytes NextData skipped.
func checkHoles(t *testing.T, s interface{ NextData(int64) (int64, error) }, twin []byte) (skipped int64) {
	t.Helper()
	for off := int64(0); off < int64(len(twin)); {
		next, err := s.NextData(off)
		if err != nil || next < off || next > int64(len(twin)) {
			t.Fatalf("NextData(%d) of %d: %d, %v", off, len(twin), next, err)
		}
		for _, b := range twin[off:next] {
			if b != 0 {
				t.Fatalf("data between %d and %d", off, next)
			}
		}
		skipped += next - off
		off = max(next, off-off%4096+4096)
	}
	return skipped
}
