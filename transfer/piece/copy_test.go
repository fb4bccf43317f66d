package piece

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// memory is a content, which knows where its holes are, and a pending piece.
type memory struct {
	Writer
	mu      sync.Mutex
	data    []byte
	holes   bool  // NextData tells them
	skipped int64 // bytes
	fail    func(off int64) error
}

func (m *memory) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	if m.fail != nil {
		if err := m.fail(off); err != nil {
			return 0, err
		}
	}
	if off >= int64(len(m.data)) {
		return 0, io.EOF
	}
	n := copy(p, m.data[off:])
	if sums != nil {
		checksum.PageSums(p[:n], off, sums)
	}
	return n, nil
}

func (m *memory) NextData(off int64) (int64, error) {
	if !m.holes {
		return off, nil
	}
	for off < int64(len(m.data)) && m.data[off] == 0 {
		off = (off/hemera.PageSize + 1) * hemera.PageSize
		if off < int64(len(m.data)) && len(bytes.Trim(m.data[off:min(off+hemera.PageSize, int64(len(m.data)))], "\x00")) > 0 {
			break
		}
	}
	return min(off, int64(len(m.data))), nil
}

func (m *memory) WritePages(p []byte, sums []uint32, off int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	want := make([]uint32, checksum.Fragments(off, len(p)))
	checksum.PageSums(p, off, want)
	for i := range want {
		if want[i] != sums[i] {
			return errs.New(errs.Corrupt, "test", "", "the page does not have its checksum")
		}
	}
	m.grow(off + int64(len(p)))
	copy(m.data[off:], p)
	return nil
}

func (m *memory) Truncate(size int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.grow(size)
	m.data = m.data[:size]
	return nil
}

func (m *memory) grow(size int64) {
	if more := size - int64(len(m.data)); more > 0 {
		m.data = append(m.data, make([]byte, more)...)
	}
}

func (m *memory) Skip(n int64) { m.skipped += n }

// TestACopyIsItsSource for all sizes, with holes and without, and its checksum is that of the content; long holes are not written.
func TestACopyIsItsSource(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		size := rapid.SampledFrom([]int{0, 1, hemera.PageSize, CopyWindow - 1, CopyWindow, CopyWindow + 1, 4*CopyWindow + 5}).Draw(r, "size")
		src := &memory{data: make([]byte, size), holes: rapid.Bool().Draw(r, "holes")}
		for range rapid.IntRange(0, 3).Draw(r, "islands") {
			if size > 0 {
				src.data[rapid.IntRange(0, size-1).Draw(r, "at")] = byte(rapid.IntRange(1, 255).Draw(r, "byte"))
			}
		}
		dst := &memory{}
		crc, err := Copy(context.Background(), nil, dst, src, int64(size))
		if err != nil || !bytes.Equal(dst.data, src.data) || crc != checksum.CRC32C(src.data) {
			r.Fatalf("%d bytes of %d, %08x, want %08x, %v", len(dst.data), size, crc, checksum.CRC32C(src.data), err)
		}
		if !src.holes && dst.skipped > 0 {
			r.Fatalf("%d bytes are skipped", dst.skipped)
		}
	})
	holes := &memory{data: make([]byte, 20*CopyWindow), holes: true}
	holes.data[15*CopyWindow+CopyWindow/2] = 1
	dst := &memory{}
	// The first windows are read before it is known that they are zeros.
	if _, err := Copy(t.Context(), nil, dst, holes, int64(len(holes.data))); err != nil || dst.skipped < 10*CopyWindow || !bytes.Equal(dst.data, holes.data) {
		t.Errorf("%d bytes are skipped, %d are there, %v", dst.skipped, len(dst.data), err)
	}
}

// TestACopyEndsWithTheErrorOfItsSource, and one whose source is shorter than it should be is Corrupt.
func TestACopyEndsWithTheErrorOfItsSource(t *testing.T) {
	t.Parallel()
	bad := errs.New(errs.Corrupt, "test", "", "a bad page")
	src := &memory{data: make([]byte, 3*CopyWindow), fail: func(off int64) error {
		if off == 2*CopyWindow {
			return bad
		}
		return nil
	}}
	if _, err := Copy(t.Context(), nil, &memory{}, src, 3*CopyWindow); !errors.Is(err, bad) {
		t.Errorf("a source that fails: %v", err)
	}
	for _, short := range []int64{1, CopyWindow + 5} {
		src := &memory{data: bytes.Repeat([]byte{1}, int(3*CopyWindow-short))}
		if _, err := Copy(t.Context(), nil, &memory{}, src, 3*CopyWindow); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("a source that lacks %d bytes: %v", short, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Copy(ended, nil, &memory{}, &memory{data: make([]byte, 100)}, 100); errs.KindOf(err) != errs.Cancelled {
		t.Errorf("nobody waits for it: %v", err)
	}
}

// stuck is the error of a call that may still use its buffers.
type stuck struct{ error }

func (stuck) KeepsBuffers() bool { return true }

func (s stuck) Unwrap() error { return s.error }

// TestAStalledReadIsTriedWithOtherMemory: twice more, for a device that did not answer, and never into memory that a call may still have.
func TestAStalledReadIsTriedWithOtherMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind  errs.Kind
		fails int
		calls int
		good  bool
	}{{errs.Timeout, 0, 1, true}, {errs.Timeout, 1, 2, true}, {errs.Timeout, 2, 3, true}, {errs.Timeout, 3, 3, false}, {errs.Unavailable, 1, 1, false}} {
		calls := 0
		w := NewWindow(100)
		seen := map[*byte]bool{}
		src := &memory{data: bytes.Repeat([]byte{7}, 100)}
		src.fail = func(int64) error {
			if calls++; calls <= c.fails {
				return stuck{errs.New(c.kind, "test", "", "no answer")}
			}
			return nil
		}
		err := w.Read(recorder{src, seen}, 0, 100)
		if calls != c.calls || (err == nil) != c.good || len(seen) != c.calls {
			t.Errorf("%+v: %d calls into %d buffers, %v", c, calls, len(seen), err)
		}
		if seen[&w.Data[0]] != (err == nil) {
			t.Errorf("%+v: the window has the memory of a call that is stuck", c)
		}
	}
}

// recorder notes the memory of reads.
type recorder struct {
	*memory
	seen map[*byte]bool
}

func (s recorder) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	s.seen[&p[0]] = true
	return s.memory.ReadPages(p, sums, off)
}

// TestAFooterIsOfThePieceThatWasCommitted: by its id, its sizes and each checksum that both have.
func TestAFooterIsOfThePieceThatWasCommitted(t *testing.T) {
	t.Parallel()
	l := hemera.ReedSolomon(2, 1)
	id := hemera.PieceID{File: 5, Gen: 2, Index: 1}
	c := &hemera.Capability{File: 5, Gen: 2, Layout: l, Size: 3 << 20, Sums: []hemera.Checksum{CRC32C(7)}}
	good := hemera.PieceStat{ID: id, FileSize: c.Size, Size: layout.PieceSize(l, c.Size, 1), Checksums: []hemera.Checksum{{Kind: hemera.MD5}, CRC32C(7)}}
	for name, alter := range map[string]func(s *hemera.PieceStat){
		"":                                func(*hemera.PieceStat) {},
		" without a checksum":             func(s *hemera.PieceStat) { s.Checksums = nil },
		"another index":                   func(s *hemera.PieceStat) { s.ID.Index = 0 },
		"another generation":              func(s *hemera.PieceStat) { s.ID.Gen = 1 },
		"another size of the file":        func(s *hemera.PieceStat) { s.FileSize++ },
		"another size of the piece":       func(s *hemera.PieceStat) { s.Size-- },
		"the size of another piece":       func(s *hemera.PieceStat) { s.Size = layout.PieceSize(l, c.Size, 0) + 1 },
		"another checksum, of those both": func(s *hemera.PieceStat) { s.Checksums = []hemera.Checksum{CRC32C(8)} },
	} {
		stat := good
		alter(&stat)
		wrong := name != "" && name[0] != ' '
		if err := CheckFooter(stat, id, c); wrong != (errs.KindOf(err) == errs.Corrupt) || !wrong && err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestOffsetsEndWhereFilesDo: the last byte that a file can have is allowed, the next one is too large.
func TestOffsetsEndWhereFilesDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		off  int64
		n    int
		kind errs.Kind
	}{{0, 0, 0}, {-1, 5, errs.Invalid}, {math.MinInt64, 1, errs.Invalid}, {hemera.FileSizeMax - 5, 5, 0}, {hemera.FileSizeMax - 4, 5, errs.TooLarge}, {math.MaxInt64, 1, errs.TooLarge}} {
		if err := CheckRange("op", "f", c.off, c.n); (c.kind == 0) != (err == nil) || c.kind != 0 && errs.KindOf(err) != c.kind {
			t.Errorf("%d and %d: %v", c.off, c.n, err)
		}
	}
}

// TestARemovalIsAwaitedWhereItIs: until the last call that removes the piece has ended, and not that of another piece or another disk.
func TestARemovalIsAwaitedWhereItIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r Removals
		p := hemera.PieceID{File: 1, Gen: 1}
		first, second := r.Begin(p, 1), r.Begin(p, 1)
		other := r.Begin(p, 3)
		r.Wait(p, 2)
		r.Wait(hemera.PieceID{File: 2, Gen: 1}, 1)
		over := false
		go func() { r.Wait(p, 1); over = true }()
		synctest.Wait()
		if first(); over {
			t.Error("over before it began to end")
		}
		synctest.Wait()
		if over {
			t.Error("over while one is under way")
		}
		second()
		synctest.Wait()
		if !over {
			t.Error("the removal is over, and is waited for")
		}
		r.Wait(p, 1)
		again := r.Begin(p, 1) // a new one
		again()
		other()
		r.Wait(p, 3)
	})
}

// TestCodesAreKept: by layout, whatever the blocks' size; one that cannot be is Invalid each time.
func TestCodesAreKept(t *testing.T) {
	t.Parallel()
	var c Codes
	l := hemera.ReedSolomon(4, 2)
	one, err := c.Get(l)
	small := l
	small.BlockSize = 4096
	two, smallErr := c.Get(small)
	if err != nil || smallErr != nil || one == nil || one != two {
		t.Errorf("%p %p, %v, %v", one, two, err, smallErr)
	}
	if code, err := c.Get(hemera.Replica(3)); code != nil || err != nil {
		t.Errorf("copies have a code: %v", err)
	}
	for range 2 {
		if _, err := c.Get(hemera.Layout{Kind: 99, Data: 2, Pieces: 3}); errs.KindOf(err) != errs.Invalid {
			t.Errorf("a layout that cannot be: %v", err)
		}
	}
	made := 0
	for data := 2; data < 30; data++ { // more than it keeps
		for parity := range 3 {
			if code, err := c.Get(hemera.ReedSolomon(data, parity+1)); err == nil && code != nil {
				made++
			}
		}
		if len(c.known) > codesMax {
			t.Fatalf("%d codes are kept", len(c.known))
		}
	}
	if made <= codesMax {
		t.Errorf("%d codes are no test of the bound", made)
	}
}

// TestBuffersHaveTheLengthThatIsAsked, whatever they had before.
func TestBuffersHaveTheLengthThatIsAsked(t *testing.T) {
	t.Parallel()
	var b Buffers
	for _, n := range []int{10, 5, 10, 11, 0, 100} {
		p := b.Get(n)
		if len(p) != n {
			t.Errorf("%d bytes, asked for %d", len(p), n)
		}
		b.Put(p)
	}
}
