package slowdevice

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// device makes the content of a device of so many bytes.
func device(t *testing.T, size int64) (*pages, *os.File) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "backing"))
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := newPages(f, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.close(); _ = f.Close() })
	return d, f
}

// TestPagesAreAFile: whatever is written where, the device reads as plain memory does.
func TestPagesAreAFile(t *testing.T) {
	const size = 40*pageSize + 512
	d, _ := device(t, size)
	twin := make([]byte, size)
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
		if got := d.writeAt(p, int64(off)); got != n {
			t.Fatalf("%d of %d bytes at %d were written", got, n, off)
		}
		copy(twin[off:], p)
		off = r.IntN(size)
		got := make([]byte, r.IntN(size-off)+1+pageSize) // also behind the end
		got = got[:d.readAt(got, int64(off))]
		if want := twin[off:min(size, off+cap(got))]; !bytes.Equal(got, want[:min(len(want), len(got))]) || len(got) < len(want) {
			t.Fatalf("%d bytes at %d differ", len(got), off)
		}
	}
}

// TestRepeatedPagesTakeNoRoom: pages of one byte are not in the file, others are.
func TestRepeatedPagesTakeNoRoom(t *testing.T) {
	d, f := device(t, 1<<30)
	d.writeAt(bytes.Repeat([]byte{7}, 1<<24), 1<<20)
	d.writeAt([]byte{1, 2}, 1<<29)
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil || st.Blocks*512 > 1<<20 {
		t.Errorf("the file has %d bytes, %v", st.Blocks*512, err)
	}
	got := make([]byte, 1<<24+1)
	if d.readAt(got, 1<<20); bytes.Count(got, []byte{7}) != 1<<24 || got[1<<24] != 0 {
		t.Error("the pages read otherwise")
	}
}
