package transfer

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

// readFull fills p, whose bytes must be there: an early end is Corrupt.
func readFull(src source, p []byte, sums []uint32, off int64) error {
	n, err := src.ReadPages(p, sums, off)
	if n == len(p) {
		return nil
	}
	// The size was known before the read, so an end is a piece that was cut.
	if err == nil || errors.Is(err, io.EOF) {
		return sizeMismatch("transfer.Copy", "source", off+int64(n), off+int64(len(p)))
	}
	return err
}

// copyPages copies the first size bytes, some windows at once, and returns their CRC32C. Checksums
// of pages are those the source vouches for, so the check spans the copy. Holes are neither read nor written.
func copyPages(ctx context.Context, panics *contain.Panics, dst PeerWriter, src source, size int64) (uint32, error) {
	windows := int((size + copyWindow - 1) / copyWindow)
	crcs := make([]uint32, windows)
	// Windows are reused among the copyWindows that are in flight, and only if their last use went well.
	free := sync.Pool{New: func() any { return newWindow(size) }}
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(copyWindows)
	// Holes are looked for only behind a window of zeros: asking the device costs more than reading a page.
	var zeros atomic.Bool // a window was read that may be in a hole
	data, end := int64(0), int64(0)
	for i := range windows {
		// A failure of one window ends the copy; the error comes from the group.
		if working.Err() != nil {
			break
		}
		off := int64(i) * copyWindow
		if zeros.Swap(false) && data <= off {
			data = nextData(src, off, size)
		}
		if n := min(copyWindow, size-off); off+n <= data {
			crcs[i] = checksum.ZerosCRC32C(n)
			if c, ok := dst.(counted); ok {
				c.skip(n)
			}
			continue
		}
		end = off + copyWindow
		group.Go(func() error {
			return panics.Do("transfer.Copy", "", func() error {
				w := free.Get().(*window)
				if err := w.read(src, off, int(min(copyWindow, size-off))); err != nil {
					return err
				}
				crcs[i] = combine(w.sums, len(w.data))
				if checksum.MayBeZeros(w.sums, len(w.data)) {
					zeros.Store(true)
				}
				if err := dst.WritePages(w.data, w.sums, off); err != nil {
					return err // a call that is stuck may have the window
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
		whole.Append(crc, min(copyWindow, size-int64(i)*copyWindow))
	}
	return whole.Sum(), nil
}

// window is one buffer of a copy.
type window struct {
	data []byte   // what was read last
	sums []uint32 // of its page fragments
}

// newWindow returns a window for a content of so many bytes: of copyWindow bytes at most, at any offset. One that begins
// within a page has one more page fragment.
func newWindow(size int64) *window {
	n := min(copyWindow, size)
	return &window{data: make([]byte, n), sums: make([]uint32, n/hemera.PageSize+2)}
}

// stalledReads is how often a window is read again after a device did not answer. A [Reader] has another piece then.
const stalledReads = 2

// read reads n bytes at off, which must be there.
func (w *window) read(src source, off int64, n int) error {
	for tries := 0; ; tries++ {
		w.data, w.sums = w.data[:n], w.sums[:checksum.Fragments(off, n)]
		err := readFull(src, w.data, w.sums, off)
		if !hemera.KeepsBuffers(err) {
			return err
		}
		*w = *newWindow(int64(cap(w.data))) // the call that is stuck has the other
		if tries == stalledReads || errs.KindOf(err) != errs.Timeout {
			return err
		}
	}
}

// combine is the CRC32C of n bytes that begin at a page boundary and whose pages have the sums.
func combine(sums []uint32, n int) uint32 {
	var whole checksum.Appender
	for _, s := range sums {
		k := min(hemera.PageSize, n)
		whole.Append(s, int64(k))
		n -= k
	}
	return whole.Sum()
}
