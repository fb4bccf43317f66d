package transfer

import (
	"context"
	"errors"
	"os"
	"sync/atomic"

	"hemera"
	"hemera/errs"
	"hemera/platform/vfs"
)

// writeHandle is one client's hold on a pending write.
type writeHandle struct {
	*Writer
	table *Pending
	entry *entry
	open  atomic.Bool
}

var (
	_ hemera.File        = (*writeHandle)(nil)
	_ hemera.Detacher    = (*writeHandle)(nil)
	_ hemera.Aborter     = (*writeHandle)(nil)
	_ hemera.Sharer      = (*writeHandle)(nil)
	_ hemera.Staller     = (*writeHandle)(nil)
	_ hemera.XattrSetter = (*writeHandle)(nil)
)

// ReadAt reads pending content.
func (h *writeHandle) ReadAt(p []byte, off int64) (int, error) { return h.ReadPages(p, nil, off) }

// WriteAt writes without checksums of the caller's.
func (h *writeHandle) WriteAt(p []byte, off int64) error { return h.WritePages(p, nil, off) }

// WritePages writes through this handle while it is open.
func (h *writeHandle) WritePages(p []byte, sums []uint32, off int64) error {
	if !h.open.Load() {
		return badHandle("transfer.Write", subject(h.cap))
	}
	return h.Writer.WritePages(p, sums, off)
}

// Truncate sets the size through this handle while it is open.
func (h *writeHandle) Truncate(size int64) error {
	if !h.open.Load() {
		return badHandle("transfer.Truncate", subject(h.cap))
	}
	return h.Writer.Truncate(size)
}

// restart empties the file for a client that begins anew.
func (h *writeHandle) restart() error { return h.Writer.restart() }

// Detach keeps the write for its client to come back.
func (h *writeHandle) Detach() {
	if h.open.CompareAndSwap(true, false) {
		h.table.detach(h.entry)
	}
}

// Shared implements hemera.Sharer.
func (h *writeHandle) Shared() bool {
	h.table.mu.Lock()
	defer h.table.mu.Unlock()
	return h.entry.refs > 1
}

// Close commits, as [Writer.Close] says. A write whose commit is undecided, or that hangs, is kept like
// one that was detached.
func (h *writeHandle) Close(ctx context.Context) error {
	if !h.open.CompareAndSwap(true, false) {
		return badHandle("transfer.Close", subject(h.cap))
	}
	err := h.Writer.Close(ctx)
	switch {
	case err == nil:
		info := h.Info()
		h.table.finish(h.entry, &info)
	case h.Stalled() != nil:
	case !h.undecided():
		h.table.finish(h.entry, nil)
	}
	h.table.detach(h.entry)
	return err
}

// Abort gives the write up; one that hangs is given up later, like one that was detached.
func (h *writeHandle) Abort(ctx context.Context) error {
	if err := h.Stalled(); err != nil {
		h.Detach()
		return err
	}
	if !h.open.CompareAndSwap(true, false) {
		return badHandle("transfer.Abort", subject(h.cap))
	}
	err := h.Writer.Abort(context.WithoutCancel(ctx)) // a client that left must not leave its lock
	if !h.undecided() {
		h.table.finish(h.entry, nil)
	}
	h.table.detach(h.entry)
	return err
}

// readHandle is a Reader as a file.
type readHandle struct{ *Reader }

// ReadAt is ReadPages without sums.
func (h *readHandle) ReadAt(p []byte, off int64) (int, error) { return h.ReadPages(p, nil, off) }

// WriteAt is refused, as are the other changes.
func (h *readHandle) WriteAt([]byte, int64) error {
	return readOnly("transfer.Write", subject(h.cap))
}

// WritePages is refused.
func (h *readHandle) WritePages([]byte, []uint32, int64) error {
	return readOnly("transfer.Write", subject(h.cap))
}

// Truncate is refused.
func (h *readHandle) Truncate(int64) error { return readOnly("transfer.Truncate", subject(h.cap)) }

// Sync has nothing to do.
func (h *readHandle) Sync(context.Context) error { return nil }

// Close ends all use.
func (h *readHandle) Close(context.Context) error {
	h.Reader.Close()
	return nil
}

// Sendfiler is a File that can offer its bytes for sendfile: ok only when every page of the range
// was verified a moment ago and is still in memory. Splice puts such pages into a pipe, with no moment
// between; it returns how many bytes, 0 if not even the first page is known to be good.
type Sendfiler interface {
	Verified(off, n int64) (f *os.File, ok bool)
	Splice(pipe *vfs.Pipe, off, n int64) int64
}

var _ Sendfiler = (*readHandle)(nil)

// committedHandle answers a client that did not hear that its close succeeded.
type committedHandle struct{ info hemera.FileInfo }

var errCommitted = errors.New("the write is committed; open the file again")

func (h *committedHandle) refuse(op string) error {
	return errs.As(errCommitted, errs.BadHandle, op, h.info.Path)
}

func (h *committedHandle) ReadAt([]byte, int64) (int, error) { return 0, h.refuse("transfer.Read") }

func (h *committedHandle) ReadPages([]byte, []uint32, int64) (int, error) {
	return 0, h.refuse("transfer.Read")
}
func (h *committedHandle) WriteAt([]byte, int64) error { return h.refuse("transfer.Write") }
func (h *committedHandle) WritePages([]byte, []uint32, int64) error {
	return h.refuse("transfer.Write")
}
func (h *committedHandle) Truncate(int64) error        { return h.refuse("transfer.Truncate") }
func (h *committedHandle) Sync(context.Context) error  { return nil }
func (h *committedHandle) Info() hemera.FileInfo       { return h.info }
func (h *committedHandle) Close(context.Context) error { return nil }
