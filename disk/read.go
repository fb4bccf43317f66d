package disk

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"hemera/platform/vfs"
	"hemera/platform/zerocopy"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// pageSource is data and its page CRCs.
type pageSource interface {
	dataSize() int64
	// readAt fills p or fails.
	readAt(p []byte, off int64) error
	// pageSums puts the CRCs of the pages from first on into dst.
	pageSums(first int64, dst []uint32) error
	// forget drops clean pages from memory, so that they are read from the device again.
	forget(off, n int64)
}

// readStep is the number of pages that are read before they are verified: a verified step is still in a core's
// second-level cache.
const readStep = 64

// onePage is memory for reads of a part of a page.
var onePage = sync.Pool{New: func() any { return new([hemera.PageSize]byte) }}

// readPages reads from off to p, as hemera.File.ReadPages; every page it touches is read as a whole
// and verified. With an error that is not io.EOF, what came before the bad page is good.
func readPages(s pageSource, p []byte, sums []uint32, off int64) (int, error) {
	size := s.dataSize()
	if off < 0 {
		return 0, errs.New(errs.Invalid, "disk.Read", "", "negative offset")
	}
	if off >= size {
		return 0, io.EOF
	}
	var eof error
	if int64(len(p)) > size-off {
		p, eof = p[:size-off], io.EOF
	}
	if sums != nil && len(sums) < checksum.Fragments(off, len(p)) {
		return 0, errs.New(errs.Invalid, "disk.Read", "", "fewer checksums than page fragments")
	}
	done := 0 // bytes of p that are good
	for done < len(p) {
		n, pages, err := readSome(s, p[done:], sums, off+int64(done))
		done += n
		if err != nil {
			return done, err
		}
		if sums != nil {
			sums = sums[pages:]
		}
	}
	return done, eof
}

// readSome reads whole pages from off, or the part of one. It returns how many bytes and fragments
// are good.
func readSome(s pageSource, p []byte, sums []uint32, off int64) (n, fragments int, err error) {
	in := int(off % hemera.PageSize) // where in its page the range begins
	whole := min(len(p), readStep*hemera.PageSize)
	if off+int64(whole) < s.dataSize() {
		whole -= whole % hemera.PageSize
	}
	if in != 0 || whole == 0 {
		n, err := readPart(s, p, sums, off)
		return n, 1, err
	}
	// Checksums come first: memory has them mostly, and without them the bytes are of no use.
	var buf [readStep]uint32
	want := buf[:checksum.Fragments(off, whole)]
	if err := s.pageSums(off/hemera.PageSize, want); err != nil {
		return 0, 0, err
	}
	if err := s.readAt(p[:whole], off); err != nil {
		return 0, 0, err
	}
	// The caller gets the stored checksums, which match the bytes or end the read.
	copy(sums, want)
	if bad := checksum.VerifyPages(p[:whole], off, want); bad >= 0 {
		if err := reread(s, p[:whole], off, want); err != nil {
			if good, ok := BadPage(err); ok {
				return int(good - off), 0, err
			}
			return 0, 0, err // it could not be read again
		}
	}
	return whole, len(want), nil
}

// readPart reads a part of one page, by way of the whole page.
func readPart(s pageSource, p []byte, sums []uint32, off int64) (int, error) {
	buf := onePage.Get().(*[hemera.PageSize]byte)
	defer onePage.Put(buf)
	number := off / hemera.PageSize
	page := buf[:pageLen(s.dataSize(), number)]
	var want [1]uint32
	if err := s.pageSums(number, want[:]); err != nil {
		return 0, err
	}
	if err := s.readAt(page, number*hemera.PageSize); err != nil {
		return 0, err
	}
	if checksum.CRC32C(page) != want[0] {
		if err := reread(s, page, number*hemera.PageSize, want[:]); err != nil {
			return 0, err
		}
	}
	n := copy(p, page[off%hemera.PageSize:])
	if sums != nil { // of the part; the stored one is of the page
		sums[0] = checksum.CRC32C(p[:n])
	}
	return n, nil
}

// reread gives pages that did not match a second chance, from the device: memory may have been bad.
func reread(s pageSource, p []byte, off int64, want []uint32) error {
	s.forget(off, int64(len(p)))
	if err := s.readAt(p, off); err != nil {
		return err
	}
	if bad := checksum.VerifyPages(p, off, want); bad >= 0 {
		return &PageError{Page: off + int64(bad)*hemera.PageSize, What: "page"}
	}
	return nil
}

// badPagesMax bounds the bad pages that Verify names.
const badPagesMax = 1000

// reader is one open of a sealed piece.
type reader struct {
	piece  *piece
	ahead  readAhead // of this handle: two readers of a piece may be at different places
	closed atomic.Bool
}

// ReadPages reads verified pages.
func (r *reader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	const op = "disk.Read"
	if r.closed.Load() {
		return 0, errs.New(errs.BadHandle, op, r.piece.stat.ID.String(), "the reader is closed")
	}
	r.ahead.note(r.piece, off, int64(len(p)))
	r.ahead.ask(nil, r.piece)
	n, err := readPages(r.piece, p, sums, off)
	if err != nil && err != io.EOF {
		return n, r.piece.disk.failed(err, op, r.piece.stat.ID)
	}
	return n, err
}

// ReadCached implements [MemoryReader].
func (r *reader) ReadCached(wait Waiter, p []byte, sums []uint32, off int64) (n int, err error, all bool) {
	c, ok := r.piece.file.(vfs.CachedReader)
	n64 := min(int64(len(p)), r.piece.stat.Size-off)
	if off >= r.piece.stat.Size && !r.closed.Load() {
		return 0, io.EOF, true
	}
	if !ok || r.closed.Load() || off < 0 || n64 <= 0 {
		return 0, nil, false
	}
	// One system call says both whether memory has the pages and what they are: asking first would double the cost of
	// the reads that count, those that memory answers.
	n, err = readPages(cachedPiece{r.piece, c}, p, sums, off)
	if all = err == nil || err == io.EOF; all {
		r.ahead.note(r.piece, off, n64)
		r.ahead.ask(wait, r.piece)
	}
	return n, err, all
}

// errNotCached says that memory does not have all of what is read.
var errNotCached = errors.New("not in memory")

// cachedPiece is a piece as far as memory has it.
type cachedPiece struct {
	*piece
	file vfs.CachedReader
}

// readAt fills b without waiting for the device, or fails.
func (c cachedPiece) readAt(b []byte, off int64) error {
	began := time.Now()
	n, err := c.file.ReadCached(b, off)
	c.disk.gauge.readFromMemory(began, n)
	if err != nil || n < len(b) {
		return errNotCached
	}
	return nil
}

// forget has a page that does not match read again, by those who may wait for the device.
func (c cachedPiece) forget(int64, int64) {}

// pageSums fails if a block of the table is not in memory.
func (c cachedPiece) pageSums(first int64, dst []uint32) error {
	for at, n := first, int64(len(dst)); n > 0; {
		in := min(n, blockSums-at%blockSums)
		if c.tables[at/blockSums].Load() == nil {
			return errNotCached
		}
		at, n = at+in, n-in
	}
	return c.piece.pageSums(first, dst)
}

// Stat returns the contents of the footer.
func (r *reader) Stat() hemera.PieceStat { return r.piece.stat }

// Verified offers the file for sendfile; see pieceWindows for what makes that safe.
func (r *reader) Verified(off, n int64) (*os.File, bool) { return r.VerifiedBy(nil, off, n) }

// VerifiedBy implements [MemoryReader].
func (r *reader) VerifiedBy(wait Waiter, off, n int64) (*os.File, bool) {
	if r.closed.Load() || off < 0 || n <= 0 || n > r.piece.stat.Size-off {
		return nil, false
	}
	r.ahead.note(r.piece, off, n)
	r.ahead.ask(wait, r.piece)
	return r.piece.windows.verified(wait, off, n, r.ahead.sequential())
}

// Splice puts verified pages into a pipe; see pieceWindows for what makes that safe.
func (r *reader) Splice(pipe *zerocopy.Pipe, off, n int64) int64 {
	return r.SpliceBy(nil, pipe, off, n)
}

// SpliceBy implements [MemoryReader].
func (r *reader) SpliceBy(wait Waiter, pipe *zerocopy.Pipe, off, n int64) int64 {
	if r.closed.Load() || off < 0 || n <= 0 || n > r.piece.stat.Size-off {
		return 0
	}
	r.ahead.note(r.piece, off, n)
	r.ahead.ask(wait, r.piece)
	return r.piece.windows.splice(wait, pipe, off, n, r.ahead.sequential())
}

// Verify reads every page and returns the offsets of bad ones. Its error is of the device; bad
// pages are none.
func (r *reader) Verify() (bad []int64, err error) { return VerifyPages(r) }

// VerifyPages does what [Reader.Verify] does, in steps: it reads all of a piece, a little at a time, and leaves out what
// is known to be zeros. A Reader whose calls have deadlines uses it, since a whole piece may take hours. Bad pages are at
// most badPagesMax: a piece with more is not repaired page by page.
func VerifyPages(r Reader) (bad []int64, err error) {
	const op = "disk.Verify"
	stat := r.Stat()
	buf := make([]byte, readStep*hemera.PageSize)
	for off := int64(0); off < stat.Size && len(bad) < badPagesMax; {
		if next, err := r.NextData(off); err != nil {
			return bad, errs.Wrap(err, op, stat.ID.String())
		} else if next > off {
			off = next
			continue
		}
		// The pages before a bad page are good; the read continues behind it.
		n, err := r.ReadPages(buf, nil, off)
		off += int64(n)
		if errors.Is(err, errs.Corrupt) {
			page := off / hemera.PageSize * hemera.PageSize
			bad = append(bad, page)
			off = page + hemera.PageSize
		} else if err != nil && err != io.EOF {
			return bad, errs.Wrap(err, op, stat.ID.String())
		}
	}
	return bad, nil
}

// Close gives the piece back. Closing again is no error.
func (r *reader) Close() error {
	r.CloseBy(nil)
	return nil
}

// CloseBy implements [MemoryReader].
func (r *reader) CloseBy(wait Waiter) {
	if r.closed.Swap(true) {
		return
	}
	d := r.piece.disk
	d.gauge.readOpens.Add(-1)
	unused := d.open.giveBack(r.piece)
	switch {
	case unused == nil:
	case wait == nil:
		unused.close()
	default:
		wait.Wait(unused.close)
	}
}
