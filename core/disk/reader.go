package disk

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/platform/vfs"
	"hemera/platform/zerocopy"
)

// badPagesMax is how many bad pages Verify names.
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

// Stat is what the footer says.
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

// VerifyPages is [Reader.Verify] in steps: it reads all of a piece, a little at a time, and leaves out what is known
// to be zeros. A Reader whose calls have deadlines uses it, since a whole piece may take hours. Bad pages are at most
// badPagesMax: a piece with more is not repaired page by page.
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
		// What comes before a bad page is good; the read goes on behind it.
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
