package transfer

import (
	"context"
	"sync/atomic"

	"hemera"
	"hemera/errs"
)

// Convert writes the content that one permit lets read as another permit says, and commits it. Both are used like those
// of any client: every page that is read is verified, a bad one is read elsewhere, and a disk that fails in the write is
// replaced. The manager compares size and checksums with those of the file before the commit counts.
//
// It returns the bytes of the content; copied counts them on the way. An order that comes again begins again, or finds
// that its write is committed. When ctx ends the write is aborted. Conflict if the file was changed meanwhile.
func (t *Pending) Convert(ctx context.Context, from, to *hemera.Permit, copied *atomic.Int64) (int64, error) {
	if from.Access != hemera.AccessRead || to.Access != hemera.AccessCreate || !to.Capability.Convert ||
		from.File != to.File || from.Gen != to.BaseGen || from.Size != to.Size {
		return 0, errs.New(errs.Invalid, "transfer.Convert", subject(&to.Capability), "the capabilities are not for the conversion of one file")
	}
	if t.committed(&to.Capability) {
		return from.Size, nil
	}
	src, err := t.Open(ctx, from, hemera.NodeOpen{})
	if err != nil {
		return 0, err
	}
	defer func() { _ = src.End(context.WithoutCancel(ctx), hemera.EndClose) }()
	dst, err := t.Open(ctx, to, hemera.NodeOpen{Truncate: true})
	if err != nil {
		return 0, err
	}
	if err := copyContent(ctx, dst, src, from.Size, copied); err != nil {
		_ = dst.End(context.WithoutCancel(ctx), hemera.EndAbort)
		return 0, err
	}
	// From here on nothing stops it: the commit may be on its way.
	return from.Size, dst.End(context.WithoutCancel(ctx), hemera.EndClose)
}

// committed reports whether the write of the capability is known to be committed: its order came again.
func (t *Pending) committed(c *hemera.Capability) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, done := t.commits.get(writeKey(c))
	return done
}

// copyContent copies a content in order, as a client would write it: the whole-file checksums then cost no second read.
// The next window is read while one is written. Holes are not written, if the source knows where they are.
func copyContent(ctx context.Context, dst hemera.Handle, src hemera.Handle, size int64, copied *atomic.Int64) error {
	ctx, cancel := context.WithCancel(ctx)
	windows, free := make(chan readWindow, 1), make(chan *window, convertWindows)
	go readWindows(ctx, windows, free, contentSource{src}, size)
	// The reader may be in the middle of a read: its buffers are its own, so only its end is waited for.
	defer func() {
		cancel()
		for range windows {
		}
	}()
	end := int64(0)
	for w := range windows {
		if w.err != nil {
			return w.err
		}
		if err := dst.WritePages(w.data, w.sums, w.off); err != nil {
			return err
		}
		end = w.off + int64(len(w.data))
		copied.Store(end)
		free <- w.window // it has room for all there are; one of a call that failed is not used again
	}
	if err := ctx.Err(); err != nil {
		return errs.Wrap(err, "transfer.Convert", "")
	}
	if end < size {
		return dst.Truncate(size) // a hole at the end
	}
	return nil
}

// convertWindows is how many windows a conversion has: one is read, one waits, one is written.
const convertWindows = 3

// readWindow is a part of a content on its way, or why there is none.
type readWindow struct {
	*window
	off int64
	err error
}

// readWindows sends the content window by window, and closes the channel at its end or when ctx ends.
func readWindows(ctx context.Context, out chan<- readWindow, free <-chan *window, src source, size int64) {
	defer close(out)
	zeros := false
	for off := int64(0); off < size && ctx.Err() == nil; off += copyWindow {
		if zeros {
			// Windows begin at multiples of their size: pages are whole, and a hole that ends within one is read.
			data := nextData(src, off, size)
			if data >= size {
				return
			}
			off = data / copyWindow * copyWindow
		}
		w := readWindow{off: off}
		select {
		case w.window = <-free:
		default:
			w.window = newWindow() // as long as there are few
		}
		w.err = w.read(src, off, int(min(copyWindow, size-off)))
		zeros = w.err == nil && allZeros(w.sums, len(w.data))
		select {
		case out <- w:
		case <-ctx.Done():
			return
		}
		if w.err != nil {
			return
		}
	}
}

// contentSource is an open file as a source of a copy.
type contentSource struct{ hemera.Handle }

// NextData implements source.
func (c contentSource) NextData(off int64) (int64, error) {
	if s, ok := c.Handle.(hemera.Sparse); ok {
		return s.NextData(off)
	}
	return off, nil
}
