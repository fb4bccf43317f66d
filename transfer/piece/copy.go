package piece

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"hemera/platform/contain"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// copyWindows are in flight at once.
const copyWindows = 4

// CopyWindow is the unit in which content is copied and read back, in bytes.
const CopyWindow = 1 << 20

// Source reads pages of one piece, verified; content is copied from it. Calls block for the disk or the node that has the piece. Corrupt for bytes
// that do not match their checksums; the other errors are those of [hemera.Handle].
type Source interface {
	ReadPages(p []byte, sums []uint32, off int64) (int, error)
	// NextData is as in [hemera.Sparse].
	NextData(off int64) (int64, error)
}

// NextData returns the first offset at or after off, up to size, from where the source may have data.
func NextData(src Source, off, size int64) int64 {
	// One call looks only so far, so it is repeated for as long as it gets further.
	for off < size {
		next, err := src.NextData(off)
		if err != nil || next <= off {
			break
		}
		off = min(next, size)
	}
	return off
}

// Skipper is a destination of [Copy] that hears of bytes that need not be written.
type Skipper interface{ Skip(n int64) }

// ReadFull fills p, whose bytes must be there: an early end is Corrupt.
func ReadFull(src Source, p []byte, sums []uint32, off int64) error {
	n, err := src.ReadPages(p, sums, off)
	if n == len(p) {
		return nil
	}
	// The size was known before the read, so an end is a piece that was cut.
	if err == nil || errors.Is(err, io.EOF) {
		return SizeMismatch("transfer.Copy", "source", off+int64(n), off+int64(len(p)))
	}
	return err
}

// Copy copies the first size bytes, some windows at once, and returns their CRC32C. Checksums
// of pages are those the source vouches for, so the check spans the copy. Holes are neither read nor written.
func Copy(ctx context.Context, panics *contain.Panics, dst Writer, src Source, size int64) (uint32, error) {
	windows := int((size + CopyWindow - 1) / CopyWindow)
	crcs := make([]uint32, windows)
	// Windows are reused among the copyWindows that are in flight, and only if their last use went well.
	free := sync.Pool{New: func() any { return NewWindow(size) }}
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(copyWindows)
	// Holes are looked for only behind a Window of zeros: asking the device costs more than reading a page.
	var zeros atomic.Bool // a Window was read that may be in a hole
	data, end := int64(0), int64(0)
	for i := range windows {
		// A failure of one Window ends the copy; the error comes from the group.
		if working.Err() != nil {
			break
		}
		off := int64(i) * CopyWindow
		if zeros.Swap(false) && data <= off {
			data = NextData(src, off, size)
		}
		if n := min(CopyWindow, size-off); off+n <= data {
			crcs[i] = checksum.ZerosCRC32C(n)
			if s, ok := dst.(Skipper); ok {
				s.Skip(n)
			}
			continue
		}
		end = off + CopyWindow
		group.Go(func() error {
			return panics.Do("transfer.Copy", "", func() error {
				w := free.Get().(*Window)
				if err := w.Read(src, off, int(min(CopyWindow, size-off))); err != nil {
					return err
				}
				crcs[i] = combine(w.Sums, len(w.Data))
				if checksum.MayBeZeros(w.Sums, len(w.Data)) {
					zeros.Store(true)
				}
				if err := dst.WritePages(w.Data, w.Sums, off); err != nil {
					return err // a call that is stuck may have the Window
				}
				free.Put(w)
				return nil
			})
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, errs.Wrap(err, "transfer.Copy", "")
	}
	// A hole at the end was not written, so the size has to be said.
	if end < size {
		if err := dst.Truncate(size); err != nil {
			return 0, err
		}
	}
	var whole checksum.Appender
	for i, crc := range crcs {
		whole.Append(crc, min(CopyWindow, size-int64(i)*CopyWindow))
	}
	return whole.Sum(), nil
}

// Window is one buffer of a copy.
type Window struct {
	Data []byte   // what was read last
	Sums []uint32 // of its page fragments
}

// NewWindow returns a Window for a content of so many bytes: of CopyWindow bytes at most, at any offset. One that begins
// within a page has one more page fragment.
func NewWindow(size int64) *Window {
	n := min(CopyWindow, size)
	return &Window{Data: make([]byte, n), Sums: make([]uint32, n/hemera.PageSize+2)}
}

// stalledReads is the number of times that a Window is read again after a device did not answer. A reader of the file has
// another piece then.
const stalledReads = 2

// Read reads n bytes at off, which must be there.
func (w *Window) Read(src Source, off int64, n int) error {
	for tries := 0; ; tries++ {
		w.Data, w.Sums = w.Data[:n], w.Sums[:checksum.Fragments(off, n)]
		err := ReadFull(src, w.Data, w.Sums, off)
		if !hemera.KeepsBuffers(err) {
			return err
		}
		*w = *NewWindow(int64(cap(w.Data))) // the call that is stuck has the other
		if tries == stalledReads || errs.KindOf(err) != errs.Timeout {
			return err
		}
	}
}

// combine returns the CRC32C of n bytes that begin at a page boundary and whose pages have the sums.
func combine(sums []uint32, n int) uint32 {
	var whole checksum.Appender
	for _, s := range sums {
		k := min(hemera.PageSize, n)
		whole.Append(s, int64(k))
		n -= k
	}
	return whole.Sum()
}
