package xrd

import (
	"context"
	"strconv"
	"strings"

	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// resolver finds the committed entry of an open file.
type resolver func(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error)

// fileHandlers serve requests about an open file, except for its data.
type fileHandlers struct {
	resolve resolver // nil: attributes of open files are those set through the handle alone
}

// okStat answers with the stat line of an open file.
func okStat(r *request, i hemera.FileInfo) error {
	return r.ok(append(translate.StatOf(i).Append(nil), 0))
}

// stat answers kXR_stat of a handle.
func (f *fileHandlers) stat(r *request) error {
	file, err := r.session.handles.forReading(wire.DecodeStat(r.Body).Handle)
	if err != nil {
		return err
	}
	return okStat(r, file.file.Info())
}

// close answers kXR_close. For a file that was written the answer means that it is durable and visible.
func (f *fileHandlers) close(r *request) error {
	ss, id := r.session, wire.DecodeClose(r.Body).Handle
	h, err := ss.handles.get(id)
	if err != nil {
		return err
	}
	// The id is free at once, also if the close fails: clients do not use it again.
	ss.handles.remove(id)
	file, _ := h.(*fileHandle)
	var write *hemera.Grant // if a manager's door opened it
	if file != nil && file.write != nil {
		write = file.write
		ss.forgetWrite(file.path, write)
	}
	if !h.data().writable && (file == nil || file.pull == nil) { // a read that is not the destination of a copy
		// It waits only for reads under way.
		if err := h.close(r.conn.ctx); err != nil {
			return err
		}
		return r.ok(nil)
	}
	// The close continues if the connection ends: a client that reconnects finds its outcome.
	ctx := hemera.WithTrace(context.Background(), r.traceID())
	work := func() ([]byte, error) {
		err := h.close(ctx)
		if err != nil && write != nil {
			ss.reconnect.closeFailed(file.path, *write)
		}
		return nil, err
	}
	if len(ss.handles.files) > 0 || r.conn.in.Buffered() > 0 || ss.streams.wasGiven(1) {
		// The client has other work than waiting for this file's disks, or may leave before it has sent on another
		// connection the data for which the close waits.
		return runAsync(r, work)
	}
	return runInline(r, work)
}

// sync answers kXR_sync. For a third-party copy it starts the copy; see tpc.go.
func (f *fileHandlers) sync(r *request) error {
	file, err := r.session.handles.forReading(wire.DecodeSync(r.Body).Handle)
	if err != nil {
		return err
	}
	if h, err := r.session.handles.file(wire.DecodeSync(r.Body).Handle); err == nil && h.pull != nil { // stock clients start a third-party copy by syncs
		return syncPull(r, h)
	}
	if !file.writable { // nothing to make durable
		return r.ok(nil)
	}
	return runInline(r, func() ([]byte, error) { return nil, file.file.Sync(r.context()) })
}

// truncate answers kXR_truncate of a handle.
func (f *fileHandlers) truncate(r *request) error {
	t := wire.DecodeTruncate(r.Body)
	if err := translate.CheckSize(t.Size); err != nil {
		return err
	}
	file, err := r.session.handles.forWriting(t.Handle)
	if err == nil { // accepted but not durable, like a write
		err = file.file.Truncate(t.Size)
	}
	if err != nil {
		return err
	}
	return r.ok(nil)
}

// queryHoles answers the next offset with data of an open file, so that a copy can skip holes, or the number of its
// allocated bytes.
func queryHoles(r *request, id wire.Handle, arg string) error {
	h, err := r.session.handles.get(id)
	if err != nil {
		return err
	}
	f := h.data()
	var ask func() (int64, error)
	if arg == wire.OpaqueAllocated {
		if a, ok := f.file.(hemera.Sparse); ok {
			ask = a.Allocated
		}
	} else {
		off, err := wire.ParseAskData(arg)
		if err != nil {
			return errs.As(err, errs.Invalid, "xrd.Data", f.path)
		}
		if s, ok := f.file.(hemera.Sparse); ok {
			ask = func() (int64, error) { return s.NextData(off) }
		}
	}
	if ask == nil {
		return errs.New(errs.Unsupported, "xrd.Data", f.path, "holes are not known of this handle")
	}
	f.inUse.Add(1) // a close waits for it
	return runAsync(r, func() ([]byte, error) {
		defer f.inUse.Done()
		n, err := ask()
		return append(strconv.AppendInt(nil, n, 10), 0), err
	})
}

// endFile answers the queries that end a write without a close: a head node seals or aborts a piece, and a client offers
// a piece or aborts a file. Afterwards only close is possible.
func endFile(r *request, id wire.Handle, arg string) error {
	h, err := r.session.handles.get(id)
	if err != nil {
		return err
	}
	f := h.data()
	abort := strings.HasPrefix(arg, wire.OpaqueAbort)
	// A sealed piece can still be aborted, as long as its head has not closed it.
	if again := abort && f.ended && f.writable; !again {
		if err := f.forWriting(); err != nil {
			return err
		}
	}
	f.inUse.Wait() // data that came on bound connections precedes the end
	// The head may lose this connection and ask again on another, so the work is completed.
	ctx := context.WithoutCancel(r.context())
	if abort {
		return abortFile(ctx, r, f)
	}
	return sealPiece(ctx, r, h, arg)
}

func abortFile(ctx context.Context, r *request, f *openFile) error {
	f.ended = true
	f.inUse.Add(1)
	return runAsync(r, func() ([]byte, error) {
		defer f.inUse.Done()
		return nil, f.file.End(ctx, hemera.EndAbort)
	})
}

func sealPiece(ctx context.Context, r *request, h handle, arg string) error {
	f := h.data()
	parse, offers := wire.ParseSealInfo, strings.HasPrefix(arg, wire.OpaqueOffer)
	if offers {
		parse = wire.ParseOffer
	}
	seal, err := parse(arg)
	if err != nil {
		return errs.As(err, errs.Invalid, "xrd.Seal", f.path)
	}
	p, ok := h.(*pieceHandle) // a close seals a file
	if !ok {
		return errs.New(errs.Unsupported, "xrd.Seal", f.path, "the handle is not a piece")
	}
	if f.bad.any() {
		return translate.Refuse(wire.ChkSumErr, "pages whose checksums did not match were not sent again")
	}
	offerer, ok := p.piece.(hemera.Offerer)
	if offers && !ok {
		return errs.New(errs.Unsupported, "xrd.Offer", f.path, "the piece cannot be offered")
	}
	f.ended = true
	f.inUse.Add(1)
	return runAsync(r, func() ([]byte, error) {
		defer f.inUse.Done()
		if offers {
			return nil, offerer.Offer(ctx, seal)
		}
		stat, err := p.piece.Seal(ctx, seal)
		if err != nil {
			return nil, err
		}
		return append([]byte("piece="+stat.ID.String()+"&size="+strconv.FormatInt(stat.Size, 10)), 0), nil
	})
}

// clonePiece copies a piece of the base to a pending piece of an update, for the head of the update. It runs outside the
// connection's goroutine, because it may take as long as a copy of the piece; the head waits with its writes.
func clonePiece(r *request, id wire.Handle, arg string) error {
	h, err := r.session.handles.get(id)
	if err != nil {
		return err
	}
	f := h.data()
	if err := f.forWriting(); err != nil {
		return err
	}
	size, err := wire.ParseClone(arg)
	if err != nil {
		return errs.As(err, errs.Invalid, "xrd.Clone", f.path)
	}
	c, ok := f.file.(hemera.Cloner)
	if !ok {
		return errs.New(errs.Unsupported, "xrd.Clone", f.path, "the handle is not a piece")
	}
	f.inUse.Add(1) // a close waits for it
	// A head that leaves needs no copy.
	ctx := r.context()
	return runAsync(r, func() ([]byte, error) {
		defer f.inUse.Done()
		return nil, c.Clone(ctx, size)
	})
}
