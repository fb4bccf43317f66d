package transfer

import (
	"context"
	"errors"
	"sync/atomic"

	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// writeHandle is one client's hold on a pending write.
type writeHandle struct {
	writer *Writer
	table  *Pending
	entry  *entry
	open   atomic.Bool
}

var (
	_ hemera.File        = (*writeHandle)(nil)
	_ hemera.XattrSetter = (*writeHandle)(nil)
)

// WritePages writes through this handle while it is open.
func (h *writeHandle) WritePages(p []byte, sums []uint32, off int64) error {
	if !h.open.Load() {
		return piece.BadHandle("transfer.Write", piece.Subject(h.writer.head.cap))
	}
	return h.writer.WritePages(p, sums, off)
}

// Truncate sets the size through this handle while it is open.
func (h *writeHandle) Truncate(size int64) error {
	if !h.open.Load() {
		return piece.BadHandle("transfer.Truncate", piece.Subject(h.writer.head.cap))
	}
	return h.writer.Truncate(size)
}

// ReadPages implements hemera.File.
func (h *writeHandle) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	return h.writer.ReadPages(p, sums, off)
}

// Sync implements hemera.File.
func (h *writeHandle) Sync(ctx context.Context) error { return h.writer.Sync(ctx) }

// Info implements hemera.File.
func (h *writeHandle) Info() hemera.FileInfo { return h.writer.Info() }

// SetXattr implements hemera.XattrSetter.
func (h *writeHandle) SetXattr(name string, value []byte) { h.writer.SetXattr(name, value) }

// Xattrs implements hemera.XattrSetter.
func (h *writeHandle) Xattrs() map[string][]byte { return h.writer.Xattrs() }

// restart empties the file for a client that starts over.
func (h *writeHandle) restart() error { return h.writer.restart() }

// End implements hemera.File.
func (h *writeHandle) End(ctx context.Context, how hemera.Ending) error {
	// The door decides by what its client did: closed, went away, or asked for nothing to be kept.
	switch how {
	case hemera.EndDetach:
		h.detach()
		return nil
	case hemera.EndAbort:
		return h.abort(ctx)
	}
	return h.close(ctx)
}

// detach keeps the write for its client to come back.
func (h *writeHandle) detach() {
	if h.open.CompareAndSwap(true, false) {
		h.table.release(h.entry)
	}
}

// Shared implements hemera.File.
func (h *writeHandle) Shared() bool { return h.table.shared(h.entry) }

// close commits, as [Writer.Close] says. A write whose commit is undecided is kept like one that was detached.
func (h *writeHandle) close(ctx context.Context) error {
	if !h.open.CompareAndSwap(true, false) {
		return piece.BadHandle("transfer.Close", piece.Subject(h.writer.head.cap))
	}
	// The handle is closed whatever the result; the write may stay in the table.
	err := h.writer.Close(ctx)
	switch {
	case err == nil:
		info := h.writer.Info()
		h.table.finish(h.entry, &info)
	case !h.writer.undecided():
		h.table.finish(h.entry, nil)
	}
	h.table.release(h.entry)
	return err
}

// abort cancels the write.
func (h *writeHandle) abort(ctx context.Context) error {
	if !h.open.CompareAndSwap(true, false) {
		return piece.BadHandle("transfer.Abort", piece.Subject(h.writer.head.cap))
	}
	// An abort frees the lock of the name at the manager, so it is made for clients that left, too.
	err := h.writer.Abort(context.WithoutCancel(ctx)) // a client that left must not leave its lock
	if !h.writer.undecided() {
		h.table.finish(h.entry, nil)
	}
	h.table.release(h.entry)
	return err
}

// committedHandle answers a client that did not hear that its close succeeded.
type committedHandle struct {
	hemera.Refusal
	info hemera.FileInfo
}

var _ hemera.File = (*committedHandle)(nil)

var errCommitted = errors.New("the write is committed; open the file again")

// newCommittedHandle returns the handle for a client that comes back to a write that is committed. Its close succeeds,
// as the close before did; anything else has to go through a new open.
func newCommittedHandle(info hemera.FileInfo) *committedHandle {
	return &committedHandle{hemera.Refusal{Err: errs.As(errCommitted, errs.BadHandle, "transfer.Write", info.Path)}, info}
}

// Sync returns nil: what was committed is durable.
func (h *committedHandle) Sync(context.Context) error { return nil }

// Info describes what was committed.
func (h *committedHandle) Info() hemera.FileInfo { return h.info }

// Shared implements hemera.File.
func (h *committedHandle) Shared() bool { return false }

// End returns nil: the close happened.
func (h *committedHandle) End(context.Context, hemera.Ending) error { return nil }
