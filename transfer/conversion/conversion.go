// Package conversion writes the content of a file in another form, at the head of that write. It uses a node's transfers as any
// client does: every page that is read is verified, a bad one is read elsewhere, a disk that fails in the write is replaced,
// and what is aborted leaves nothing. What differs from a client's copy is in the capabilities, and in the commit: the manager
// compares size and checksums with those of the file before it counts.
package conversion

import (
	"context"
	"sync/atomic"

	"hemera/platform/contain"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Files opens files by their permits; transfer.Pending is one.
type Files interface {
	Open(ctx context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error)
}

// Run writes the content that one permit lets read as another permit says, and commits it. It returns the bytes of the content;
// copied counts them on the way, and panics contains those of the goroutine that reads. An order that comes again begins again, or
// finds that its write is committed. When ctx ends before all is written the write is aborted. Conflict if the file was changed meanwhile, Invalid for permits that are not for
// the conversion of one file.
func Run(ctx context.Context, files Files, from, to *hemera.Permit, panics *contain.Panics, copied *atomic.Int64) (int64, error) {
	if from.Access != hemera.AccessRead || to.Access != hemera.AccessCreate || !to.Capability.Convert ||
		from.File != to.File || from.Gen != to.BaseGen || from.Size != to.Size {
		return 0, errs.New(errs.Invalid, "conversion.Run", "fxid:"+to.File.Hex(), "the capabilities are not for the conversion of one file")
	}
	src, err := files.Open(ctx, from, hemera.NodeOpen{})
	if err != nil {
		return 0, err
	}
	lasting := context.WithoutCancel(ctx) // of what has to end well in any case
	defer func() { _ = src.End(lasting, hemera.EndClose) }()
	dst, err := files.Open(ctx, to, hemera.NodeOpen{Truncate: true})
	if err != nil {
		return 0, err
	}
	// A write begins empty. One that has its size already is committed, and only its answer was lost.
	if from.Size > 0 && dst.Info().Size == from.Size {
		return from.Size, dst.End(lasting, hemera.EndClose)
	}
	if err := (contents{dst, src, from.Size, panics}).copy(ctx, copied); err != nil {
		_ = dst.End(lasting, hemera.EndAbort)
		return 0, err
	}
	// From here on nothing stops it: the commit may be on its way.
	return from.Size, dst.End(lasting, hemera.EndClose)
}

const (
	// windowSize is the number of bytes that are read and written at a time.
	windowSize = 1 << 20
	// windowsMax is the number of windows of a conversion: one is read, one waits, one is written.
	windowsMax = 3
	// stalledReads is the number of times that a window is read again after a device did not answer: the reader has
	// another piece then.
	stalledReads = 2
)

// window is a part of a content on its way, or the error in its place.
type window struct {
	data []byte   // of the content
	sums []uint32 // CRC32C of its pages, as the disks vouch for them
	off  int64    // a multiple of windowSize
	err  error    // of the read; data is nothing then
}

// contents are those of one conversion.
type contents struct {
	dst, src hemera.Handle
	size     int64
	panics   *contain.Panics
}

// copy copies a content in order, as a client would write it: the whole-file checksums then cost no second read.
// The next window is read while one is written. Holes are not written, if the source knows where they are.
func (c contents) copy(ctx context.Context, copied *atomic.Int64) error {
	dst, src, size := c.dst, c.src, c.size
	ctx, cancel := context.WithCancel(ctx)
	windows, free := make(chan *window, 1), make(chan *window, windowsMax)
	c.panics.Go(nil, "conversion.Run", "", func() {
		defer close(windows)
		err := c.panics.Do("conversion.Run", "", func() error { readWindows(ctx, windows, free, src, size); return nil })
		if err == nil {
			return
		}
		select {
		case windows <- &window{err: err}:
		case <-ctx.Done():
		}
	})
	// The reader may be in the middle of a read, with buffers of its own: its end is waited for.
	defer func() {
		cancel()
		for range windows {
		}
	}()
	end := int64(0)
	for w := range windows {
		// The reader has tried every piece by then.
		if w.err != nil {
			return w.err
		}
		if err := dst.WritePages(w.data, w.sums, w.off); err != nil {
			return err
		}
		end = w.off + int64(len(w.data))
		copied.Store(end)
		free <- w // it has room for all there are; one of a call that failed is not used again
	}
	if err := ctx.Err(); err != nil {
		return errs.Wrap(err, "conversion.Run", "")
	}
	if end < size {
		return dst.Truncate(size) // a hole at the end
	}
	return nil
}

// readWindows sends the content window by window, until its end, a failure, or the end of ctx.
func readWindows(ctx context.Context, out chan<- *window, free <-chan *window, src hemera.Handle, size int64) {
	for off := int64(0); off < size && ctx.Err() == nil; off += windowSize {
		var w *window
		select {
		case w = <-free:
		default:
			w = newWindow() // as long as there are few
		}
		w.read(src, off, int(min(windowSize, size-off)))
		// A device is asked for holes only behind a window of zeros: that costs more than reading a page.
		zeros, failed := w.zeros(), w.err != nil
		select {
		case out <- w:
		case <-ctx.Done():
			return
		}
		if failed {
			return
		}
		if zeros {
			off = skipHole(src, off, size)
		}
	}
}

// skipHole returns the begin of the last window before off's next data, so that the walk continues at the window with it.
// Windows begin at multiples of their size: pages are whole, and a hole that ends within a window is read.
func skipHole(src hemera.Handle, off, size int64) int64 {
	// A source that cannot tell is read to its end.
	sparse, ok := src.(hemera.Sparse)
	if !ok {
		return off
	}
	// One call looks only so far, so it is repeated for as long as it gets further.
	data := off + windowSize
	for data < size {
		next, err := sparse.NextData(data)
		if err != nil || next <= data {
			break
		}
		data = next
	}
	if data >= size {
		return size
	}
	return data/windowSize*windowSize - windowSize
}

// newWindow returns a window with memory.
func newWindow() *window {
	return &window{data: make([]byte, windowSize), sums: make([]uint32, windowSize/hemera.PageSize)}
}

// read reads n bytes at off, which must be there.
func (w *window) read(src hemera.Handle, off int64, n int) {
	w.off = off
	for range stalledReads + 1 {
		w.data, w.sums = w.data[:n], w.sums[:checksum.Fragments(off, n)]
		var got int
		if got, w.err = src.ReadPages(w.data, w.sums, off); got == n {
			w.err = nil
			return
		}
		if w.err == nil {
			w.err = errs.New(errs.Corrupt, "conversion.Run", "", "the content ends early")
		}
		if !hemera.KeepsBuffers(w.err) {
			return
		}
		fresh := newWindow() // the call that is stuck has the other
		w.data, w.sums = fresh.data, fresh.sums
	}
}

// zeros reports whether a whole window is zeros, by its checksums.
func (w *window) zeros() bool {
	for _, sum := range w.sums {
		if sum != checksum.ZeroPage {
			return false
		}
	}
	return w.err == nil && len(w.data) == windowSize
}
