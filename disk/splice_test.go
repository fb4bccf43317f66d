package disk

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hemera/platform/zerocopy"
)

func newPipe(t *testing.T) *zerocopy.Pipe {
	t.Helper()
	p, err := zerocopy.NewPipe()
	if err != nil {
		t.Skip("no pipes of this size: ", err)
	}
	t.Cleanup(p.Close)
	return p
}

// pour empties the pipe and returns what was in it.
func pour(t *testing.T, p *zerocopy.Pipe) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "poured"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for p.Len() > 0 {
		if err := p.Send(int(f.Fd())); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// splices tries a few times: a fault of this thread that has nothing to do with the pages makes the
// disk forget the window, and verify it again.
func splices(t *testing.T, r *reader, p *zerocopy.Pipe, off, n int64) int64 {
	t.Helper()
	for range 10 {
		if got := r.Splice(p, off, n); got > 0 {
			return got
		}
		if p.Len() != 0 {
			t.Fatalf("nothing was offered, and %d bytes are in the pipe", p.Len())
		}
	}
	return 0
}

func TestSpliceGivesWhatWasWritten(t *testing.T) {
	d, p := windowed(t, 100), newPipe(t)
	data := randomBytes(1, 3*windowSize+50000)
	store(t, d, pieceID(1), data, 1<<20)
	r := openPiece(t, d, pieceID(1))
	for _, c := range []struct {
		off, n int64
		ok     bool
	}{
		{0, zerocopy.PipeBytes, true}, {100, zerocopy.PipeBytes, true}, {windowSize - 100000, 200000, true}, {0, 3 * windowSize, true},
		{3 * windowSize, 50000, true}, {3 * windowSize, 50001, false}, {0, 5000, false}, {-1, 1 << 20, false}, {0, 0, false},
	} {
		n := splices(t, r, p, c.off, c.n)
		if n > c.n || (n > 0) != c.ok || c.ok && n < min(c.n, zerocopy.PipeBytes-4096) {
			t.Errorf("%d at %d: %d", c.n, c.off, n)
		}
		if got := pour(t, p); !bytes.Equal(got, data[max(c.off, 0):max(c.off, 0)+n]) {
			t.Errorf("%d at %d: other bytes", c.n, c.off)
		}
	}
}

func TestSpliceEndsBeforeBadPages(t *testing.T) {
	d, p := windowed(t, 100), newPipe(t)
	data := randomBytes(1, 2*windowSize)
	store(t, d, pieceID(1), data, 1<<20)
	overwrite(t, d, pieceID(1), windowSize+9000)
	r := openPiece(t, d, pieceID(1))
	if n := splices(t, r, p, windowSize-100000, 200000); n != 100000 {
		t.Errorf("%d bytes before the bad window", n)
	}
	if got := pour(t, p); !bytes.Equal(got, data[windowSize-100000:windowSize]) {
		t.Error("other bytes")
	}
	if n := splices(t, r, p, windowSize, 100000); n != 0 {
		t.Errorf("%d bytes of a window with a bad page", n)
	}
}

// Pages that left memory and came back, by the very call that puts them into the pipe, are verified again.
func TestSpliceNoticesLostPages(t *testing.T) {
	for _, marked := range []bool{true, false} {
		d, p := windowed(t, 100), newPipe(t)
		data := randomBytes(1, windowSize)
		store(t, d, pieceID(1), data, 1<<20)
		r := openPiece(t, d, pieceID(1))
		if n := splices(t, r, p, 0, 100000); n != 100000 {
			t.Fatalf("%d bytes", n)
		}
		p.Drop()
		v := r.piece.windows.windows[0]
		if !marked {
			v.marked = v.marked.Add(-time.Hour) // the kernel has not been told for long that the pages are in use
		}
		// As when the page is reclaimed, and the device gives other bytes from now on.
		overwrite(t, d, pieceID(1), 50000)
		if err := unix.Madvise(v.data[48<<10:52<<10], unix.MADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
		if n := splices(t, r, p, 0, 100000); n != 0 {
			t.Errorf("%d bytes of a page that left memory were offered", n)
		}
		if v.data != nil {
			t.Error("the window counts as verified")
		}
	}
}

// A reader of a window that is known to be good does not wait for the device, nor read it again.
func TestSpliceOfAVerifiedWindowReadsNothing(t *testing.T) {
	d, p := windowed(t, 100), newPipe(t)
	store(t, d, pieceID(1), randomBytes(1, windowSize), 1<<20)
	r := openPiece(t, d, pieceID(1))
	for range 10 { // until one call finds the window verified, and no fault makes it forget
		_ = splices(t, r, p, 0, windowSize)
		p.Drop()
		before := d.gauge.readBytes.Load()
		n := r.Splice(p, 0, 100000)
		p.Drop()
		if n == 100000 && d.gauge.readBytes.Load() == before {
			return
		}
	}
	t.Error("the window is verified each time")
}
