package slowdevice

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestPagesAreAFile: whatever is written where, the device reads as a plain file does, and pages of one byte take no room.
func TestPagesAreAFile(t *testing.T) {
	const size = 40 * pageSize
	f, err := os.Create(filepath.Join(t.TempDir(), "backing"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, twin := newPages(f, size), make([]byte, size)
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		off := r.IntN(size)
		n := 1 + r.IntN(min(6*pageSize, size-off))
		if r.IntN(3) > 0 { // whole pages
			off -= off % pageSize
			n = min(size-off, pageSize*(1+r.IntN(5)))
		}
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(i / pageSize)
		}
		if r.IntN(3) == 0 {
			p[r.IntN(n)] ^= 8
		}
		if _, err := d.WriteAt(p, int64(off)); err != nil {
			t.Fatal(err)
		}
		copy(twin[off:], p)
		off = r.IntN(size)
		got := make([]byte, r.IntN(size-off)+1)
		if _, err := d.ReadAt(got, int64(off)); err != nil || !bytes.Equal(got, twin[off:off+len(got)]) {
			t.Fatalf("%d bytes at %d differ, %v", len(got), off, err)
		}
	}
	fresh := newPages(f, 1<<40)
	if _, err := fresh.WriteAt(make([]byte, 8*pageSize), 1<<39); err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Size() > size {
		t.Errorf("pages of zeros are in the file: %d bytes, %v", info.Size(), err)
	}
}
