package xrd

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/rules/limits"
	"hemera/rules/wire"
)

// handle is one open file of a session. Its fields belong to the session's goroutine; what is served on a bound
// connection, and the sealing of a piece, use only file and, for pages, bad.
type handle struct {
	file     hemera.Handle // whole or piece, one of which is nil
	whole    hemera.File
	piece    hemera.PieceHandle
	path     string
	posc     bool // persist on successful close: given up when the connection ends
	sealed   bool // a piece that was sealed or given up: only close is left
	writable bool
	badMu    sync.Mutex
	bad      map[int64]int // length of each page whose checksum did not match and was not sent again; see badMu
	undo     *undo         // checkpoint under way
	place    *limits.Account[Client]
	pull     *pull          // third-party copy into this file
	anew     *anew          // to have a copy begun anew when a write fails
	ticket   *ticket        // of a write that a manager's door opened itself
	granted  *hemera.Permit // of a read that it opened itself
	// attributes were set through this handle, under their stored names.
	attributes map[string][]byte
	// inflight counts work that uses the file beside the session's goroutine, which alone adds.
	inflight sync.WaitGroup
}

// forWriting refuses what changes a file that is open for reading.
func (h *handle) forWriting() error {
	switch {
	case h.sealed:
		return errBadHandle
	case !h.writable:
		return refuse(wire.NotAuthorized, "the file is not open for writing")
	}
	return nil
}

// closeFor ends the handle on the client's wish.
func (h *handle) closeFor(ctx context.Context) error {
	h.inflight.Wait()
	switch {
	case h.sealed:
		h.letGo(ctx)
		return nil
	case h.pull != nil && !h.pull.finished():
		h.pull.stop()
		h.giveUp(ctx)
		return nil
	case h.pull != nil && h.pull.err != nil:
		h.giveUp(ctx)
		return nil
	case len(h.bad) > 0:
		h.giveUp(ctx)
		return refuse(wire.ChkSumErr, "pages whose checksums did not match were not sent again; nothing was kept")
	}
	if h.undo != nil {
		if err := h.rollback(); err != nil {
			h.giveUp(ctx)
			return err
		}
	}
	h.handAttributes()
	return h.end(ctx, hemera.EndClose)
}

// end ends use of what is open.
func (h *handle) end(ctx context.Context, how hemera.Ending) error {
	if h.piece != nil {
		return h.piece.End(ctx, how)
	}
	return h.whole.End(ctx, how)
}

// giveUp drops a write: nothing becomes visible.
func (h *handle) giveUp(ctx context.Context) {
	h.leave()
	h.forgetUndo()
	if h.writable {
		_ = h.end(ctx, hemera.EndAbort)
		return
	}
	h.letGo(ctx)
}

// letGo ends use of the handle, and keeps a pending write for a client that comes back. It never
// commits.
func (h *handle) letGo(ctx context.Context) {
	h.forgetUndo()
	h.handAttributes()
	how := hemera.EndDetach
	if h.sealed && h.piece != nil { // nothing of it is pending any more
		how = hemera.EndClose
	}
	_ = h.end(ctx, how)
}

// abandonTimeout bounds what is done for a client that went away.
const abandonTimeout = 30 * time.Second

// abandon ends the handle of a client that went away.
func (h *handle) abandon(log *slog.Logger) {
	h.inflight.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	defer cancel()
	if h.sealed { // its head may come back to give the piece up
		_ = h.end(ctx, hemera.EndDetach)
		return
	}
	if h.pull != nil {
		h.pull.stop()
		h.giveUp(ctx)
		return
	}
	if h.undo != nil {
		if err := h.rollback(); err != nil {
			log.Warn("checkpoint of a lost client not rolled back", "path", h.path, "err", err)
			h.giveUp(ctx)
			return
		}
	}
	if h.posc || len(h.bad) > 0 && h.writable {
		h.giveUp(ctx)
		return
	}
	h.letGo(ctx)
}

// statOf is the stat line of an open file.
func statOf(i hemera.FileInfo) wire.StatInfo {
	flags := wire.StatReadable
	if i.Writable || i.Mode&0o222 != 0 {
		flags |= wire.StatWritable
	}
	if i.Mode&0o111 != 0 {
		flags |= wire.StatXset
	}
	t := i.Mtime.Unix()
	if i.Mtime.IsZero() {
		t = time.Now().Unix()
	}
	return wire.StatInfo{
		ID: uint64(i.ID), Size: i.Size, Flags: flags, Mtime: t, Ctime: t, Atime: t,
		Mode: i.Mode, Owner: decimal(i.UID), Group: decimal(i.GID),
	}
}

// statHandle answers kXR_stat at a node: of a handle, or of a write whose process the manager sent here to ask
// for what it has written.
func (c *conn) statHandle(r *request) error {
	if r.byPath() {
		raw, opaque := wire.SplitPath(r.payload)
		token, ok := opaque.Get(hemera.OpaqueCapability)
		if !ok {
			return c.toManager(r)
		}
		path, err := wire.CleanPath(raw)
		if err != nil {
			return err
		}
		info, err := c.srv.o.Node.Written(c.traced(r), hemera.ParsePermit(token), path)
		if err != nil {
			return err
		}
		return c.ok(r, append(statOf(info).Append(nil), 0))
	}
	h, err := c.session.usable(wire.DecodeStat(r.Body).Handle)
	if err != nil {
		return err
	}
	return c.ok(r, append(statOf(h.file.Info()).Append(nil), 0))
}

// closeHandle answers kXR_close: for a file that was written, when it is durable and visible.
func (c *conn) closeHandle(r *request) error {
	id := wire.DecodeClose(r.Body).Handle
	h, err := c.session.handle(id)
	if err != nil {
		return err
	}
	c.session.dropHandle(id)
	if h.ticket != nil {
		c.session.settled(h.path, *h.ticket)
	}
	if !h.writable && h.pull == nil {
		// Nothing is waited for but reads under way.
		if err := h.closeFor(c.ctx); err != nil {
			return err
		}
		return c.ok(r, nil)
	}
	ctx := hemera.WithTrace(context.Background(), r.traceID()) // the client finds the answer when it comes back
	work := func() ([]byte, error) {
		err := h.closeFor(ctx)
		if err != nil && h.ticket != nil {
			c.session.refuse(h.path, *h.ticket)
		}
		return nil, err
	}
	if len(c.session.handles) > 0 || c.in.Buffered() > 0 || c.session.wasBound(1) {
		// The client has more to do than to wait for this file's disks, or may go away before it has sent on
		// another connection what the close waits for.
		return c.beside(r, work)
	}
	return c.inPlace(r, work)
}

// sync answers kXR_sync; for a third-party copy it begins the copy (see tpc.go).
func (c *conn) sync(r *request) error {
	h, err := c.session.usable(wire.DecodeSync(r.Body).Handle)
	switch {
	case err != nil:
		return err
	case h.pull != nil:
		return c.syncPull(r, h)
	case !h.writable:
		return c.ok(r, nil)
	}
	return c.inPlace(r, func() ([]byte, error) { return nil, h.file.Sync(c.traced(r)) })
}

// truncate answers kXR_truncate at a node: of a handle, or of a path with the manager's grant.
func (c *conn) truncate(r *request) error {
	t := wire.DecodeTruncate(r.Body)
	if t.Size < 0 || t.Size > hemera.FileSizeMax {
		return refuse(wire.ArgInvalid, "no file can have this size")
	}
	if !r.byPath() {
		h, err := c.session.handle(t.Handle)
		if err == nil {
			err = h.forWriting()
		}
		if err == nil {
			err = h.file.Truncate(t.Size)
		}
		if err != nil {
			return err
		}
		return c.ok(r, nil)
	}
	_, opaque := wire.SplitPath(r.payload)
	token, ok := opaque.Get(hemera.OpaqueCapability)
	if !ok {
		return c.toManager(r)
	}
	return c.inPlace(r, func() ([]byte, error) {
		ctx := c.traced(r)
		f, err := c.srv.o.Node.Open(ctx, hemera.ParsePermit(token), hemera.NodeOpen{})
		if err != nil {
			return nil, openFailure(err)
		}
		if err := f.Truncate(t.Size); err != nil {
			switch {
			case errs.KindOf(err) == errs.BadHandle: // of a write that was closed meanwhile: begin another
				_ = f.End(ctx, hemera.EndClose)
				return nil, c.toManager(r)
			case f.Shared():
				_ = f.End(ctx, hemera.EndDetach)
			default:
				_ = f.End(ctx, hemera.EndAbort)
			}
			return nil, err
		}
		if f.Shared() { // another handle's client commits
			return nil, f.End(ctx, hemera.EndDetach)
		}
		return nil, f.End(ctx, hemera.EndClose)
	})
}

// tooMany refuses one more open file.
func (c *conn) tooMany() error {
	return errs.New(errs.Overloaded, "xrd.Open", "", "this session has too many open files").
		WithRemedy("close some")
}
