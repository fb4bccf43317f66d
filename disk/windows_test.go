package disk

import (
	"io"
	"os"
	"syscall"
	"testing"

	"hemera/platform/vfs"
	"hemera/words/hemera"
)

// windowed makes a disk with room for n windows, or skips where the system has none (emulators).
func windowed(t *testing.T, n int64) *Disk {
	d := newDisk(t, vfs.OS{}, t.TempDir(), Options{VerifiedBytes: n * windowSize})
	if d.windows.pagemap == nil {
		t.Skip("no usable /proc/self/pagemap")
	}
	return d
}

func openPiece(t *testing.T, d *Disk, id hemera.PieceID) *reader {
	t.Helper()
	r, err := d.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r.(*reader)
}

// overwrite changes a byte of the piece's file behind the disk's back.
func overwrite(t *testing.T, d *Disk, id hemera.PieceID, off int64) {
	t.Helper()
	f, err := os.OpenFile(d.sealedPath(id), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var b [1]byte
	if _, err := f.ReadAt(b[:], off); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	if _, err := f.WriteAt(b[:], off); err != nil {
		t.Fatal(err)
	}
}

func TestVerifiedOffersTheFile(t *testing.T) {
	d := windowed(t, 100)
	data := randomBytes(1, 3*windowSize+5000)
	store(t, d, pieceID(1), data, 1<<20)
	r := openPiece(t, d, pieceID(1))
	for _, c := range []struct {
		off, n int64
		ok     bool
	}{
		{0, windowSize, true}, {100, 2 * windowSize, true}, {3*windowSize - 10, 5010, false}, // too short for sendfile
		{2 * windowSize, windowSize + 5000, true}, {3 * windowSize, 5001, false}, {-1, 1 << 20, false}, {0, 0, false},
	} {
		f, ok := r.Verified(c.off, c.n)
		if ok != c.ok {
			t.Errorf("%d at %d: %v, want %v", c.n, c.off, ok, c.ok)
		}
		if ok {
			p := make([]byte, c.n)
			if _, err := f.ReadAt(p, c.off); err != nil || string(p) != string(data[c.off:c.off+c.n]) {
				t.Errorf("%d at %d: other bytes, %v", c.n, c.off, err)
			}
		}
	}
}

// A few small reads here and there do not make the disk verify whole windows.
func TestVerifiedNeedsWorth(t *testing.T) {
	d := windowed(t, 100)
	store(t, d, pieceID(1), randomBytes(1, 64*windowSize), 1<<20)
	r := openPiece(t, d, pieceID(1))
	for i := range int64(3) {
		for _, index := range []int64{50, 5, 30} { // not in order
			if _, ok := r.Verified(index*windowSize+i*windowWorth/4, windowWorth/4); ok {
				t.Errorf("read %d of window %d was worth it", i, index)
			}
		}
	}
	if _, ok := r.Verified(30*windowSize, windowWorth/4); !ok {
		t.Error("the fourth read was not worth it")
	}
}

func TestVerifiedRefusesBadPages(t *testing.T) {
	d := windowed(t, 100)
	data := randomBytes(1, 2*windowSize)
	store(t, d, pieceID(1), data, 1<<20)
	overwrite(t, d, pieceID(1), windowSize+9000)
	r := openPiece(t, d, pieceID(1))
	if _, ok := r.Verified(0, windowSize); !ok {
		t.Error("the good window was refused")
	}
	if _, ok := r.Verified(0, 2*windowSize); ok {
		t.Error("a bad page was offered")
	}
	p := make([]byte, 2*windowSize)
	n, err := r.ReadPages(p, nil, 0)
	if off, ok := BadPage(err); !ok || off != windowSize+8192 || int64(n) != off {
		t.Errorf("read %d, bad page at %d, %v", n, off, err)
	}
	if err := d.RepairPages(pieceID(1), data[windowSize+8192:windowSize+12288], windowSize+8192); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Verified(0, 2*windowSize); !ok {
		t.Error("the repaired page was refused")
	}
}

// A page that left memory is verified again. Cutting the file takes its pages from memory; when
// they are back they hold other bytes, which nobody has seen.
func TestVerifiedNoticesLostPages(t *testing.T) {
	d := windowed(t, 100)
	store(t, d, pieceID(1), randomBytes(1, 2*windowSize), 1<<20)
	r := openPiece(t, d, pieceID(1))
	if _, ok := r.Verified(0, 2*windowSize); !ok {
		t.Fatal("not verified")
	}
	size, err := r.piece.file.Size()
	if err != nil {
		t.Fatal(err)
	}
	name := d.sealedPath(pieceID(1))
	if err := os.Truncate(name, windowSize+4096); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Verified(0, windowSize); !ok {
		t.Error("pages that never left were refused")
	}
	if _, ok := r.Verified(windowSize, windowSize); ok {
		t.Error("pages that left and came back with other bytes were offered")
	}
}

// A page that cannot be read raises SIGBUS; it must cost no more than the answer "no".
func TestVerifiedSurvivesSIGBUS(t *testing.T) {
	d := windowed(t, 100)
	store(t, d, pieceID(1), randomBytes(1, 2*windowSize), 1<<20)
	r := openPiece(t, d, pieceID(1))
	if _, err := r.piece.block(0); err != nil { // the sums must be known: they go with the data
		t.Fatal(err)
	}
	if err := os.Truncate(d.sealedPath(pieceID(1)), 4096); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Verified(0, windowSize); ok {
		t.Error("a file that was cut was offered")
	}
}

// More windows than may stay are unmapped, the longest unused first, and verified again.
func TestWindowsAreBounded(t *testing.T) {
	d := windowed(t, 2)
	store(t, d, pieceID(1), randomBytes(1, 4*windowSize), 1<<20)
	r := openPiece(t, d, pieceID(1))
	for _, index := range []int64{0, 1, 0, 2, 3, 0} {
		if _, ok := r.Verified(index*windowSize, windowSize); !ok {
			t.Errorf("window %d refused", index)
		}
		if n := d.windows.used.Len(); n > 2 {
			t.Errorf("%d windows stay", n)
		}
	}
	d.open.forget(pieceID(1))
	_ = r.Close()
	if n := d.windows.used.Len(); n != 0 {
		t.Errorf("%d windows stay after the piece was closed", n)
	}
}

func TestReadersAtOnce(t *testing.T) {
	d := windowed(t, 3)
	data := randomBytes(1, 8*windowSize)
	store(t, d, pieceID(1), data, 1<<20)
	done := make(chan error)
	for i := range 8 {
		go func() {
			r, err := d.Open(pieceID(1))
			for j := int64(0); j < 16 && err == nil; j++ {
				off := (j*3 + int64(i)) % 8 * windowSize
				p := make([]byte, windowSize)
				if f, ok := r.Verified(off, windowSize); ok {
					_, err = f.ReadAt(p, off)
				} else if _, err = r.ReadPages(p, nil, off); err == io.EOF {
					err = nil
				}
				if err == nil && string(p) != string(data[off:off+windowSize]) {
					err = syscall.EILSEQ
				}
			}
			if err == nil {
				err = r.Close()
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestLessRoomForVerifiedDataUnmapsTheOldest(t *testing.T) {
	d := windowed(t, 100)
	store(t, d, pieceID(1), randomBytes(1, 4*windowSize), 1<<20)
	r := openPiece(t, d, pieceID(1))
	if _, ok := r.Verified(0, 4*windowSize); !ok {
		t.Fatal("not offered")
	}
	d.SetVerified(1 * windowSize)
	if n := d.windows.used.Len(); n != 1 {
		t.Errorf("%d windows are mapped", n)
	}
	if _, ok := r.Verified(0, windowSize); !ok {
		t.Error("what fits is not offered any more")
	}
	d.SetVerified(0)
	if n := d.windows.used.Len(); n != 0 {
		t.Errorf("%d windows are mapped", n)
	}
}
