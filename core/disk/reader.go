package disk

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"hemera"
	"hemera/errs"
	"hemera/platform/vfs"
)

// badPagesMax is how many bad pages Verify names.
const badPagesMax = 1000

// reader is one open of a sealed piece.
type reader struct {
	piece  *piece
	ahead  readAhead
	closed atomic.Bool
}

// ReadPages reads verified pages.
func (r *reader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	const op = "disk.Read"
	if r.closed.Load() {
		return 0, errs.New(errs.BadHandle, op, r.piece.stat.ID.String(), "the reader is closed")
	}
	r.ahead.reading(r.piece, off, int64(len(p)))
	n, err := readPages(r.piece, p, sums, off)
	if err != nil && err != io.EOF {
		return n, r.piece.disk.failed(err, op, r.piece.stat.ID)
	}
	return n, err
}

// Stat is what the footer says.
func (r *reader) Stat() hemera.PieceStat { return r.piece.stat }

// Verified offers the file for sendfile; see pieceWindows for what makes that safe.
func (r *reader) Verified(off, n int64) (*os.File, bool) {
	if r.closed.Load() || off < 0 || n <= 0 || n > r.piece.stat.Size-off {
		return nil, false
	}
	r.ahead.reading(r.piece, off, n)
	return r.piece.windows.verified(off, n, r.ahead.sequential())
}

// Splice puts verified pages into a pipe; see pieceWindows for what makes that safe.
func (r *reader) Splice(pipe *vfs.Pipe, off, n int64) int64 {
	if r.closed.Load() || off < 0 || n <= 0 || n > r.piece.stat.Size-off {
		return 0
	}
	r.ahead.reading(r.piece, off, n)
	return r.piece.windows.splice(pipe, off, n, r.ahead.sequential())
}

// Verify reads every page and returns the offsets of bad ones. Its error is of the device; bad
// pages are none.
func (r *reader) Verify() (bad []int64, err error) { return VerifyPages(r) }

// VerifyPages is [Reader.Verify] in steps: it reads all of a piece, a little at a time, and leaves out what is known
// to be zeros.
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
	if r.closed.Swap(true) {
		return nil
	}
	d := r.piece.disk
	d.gauge.readOpens.Add(-1)
	d.release(r.piece)
	return nil
}
