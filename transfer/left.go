package transfer

import (
	"context"

	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// expire ends the write of a client that does not come back, as its node stops: it is closed or removed.
func (w *Writer) expire(ctx context.Context) {
	// The write has no holder any more, so this does not change in between.
	if s := w.snapshot(); s.phase == awaiting || s.phase == writing && (s.left || !s.lasts) {
		w.drop(ctx)
		return
	}
	err := w.closeLeft(ctx)
	if err == nil || !w.undecided() {
		return
	}
	w.head.node.Log.Warn("the manager never answered a commit; sealed pieces are left to the audit",
		"path", w.head.cap.Path, "fxid", w.head.cap.File.Hex(), "trace", w.head.cap.Trace, "error", err)
	w.turn.Wait()
	defer w.turn.Release()
	w.record() // a person may ask for it again, at the next process
	if p, ok := w.content.(*pieces); ok {
		p.release()
	}
}

// closeLeft closes a write whose client did not come back.
func (w *Writer) closeLeft(ctx context.Context) error {
	w.turn.Wait()
	w.left.ends = true
	w.turn.Release()
	err := w.Close(ctx)
	c, log := w.head.cap, w.head.node.Log.With("path", w.head.cap.Path, "fxid", w.head.cap.File.Hex(), "user", w.head.cap.Who.Name, "trace", w.head.cap.Trace)
	size := w.snapshot().size
	switch {
	case err == nil:
		log.Info("a write whose client did not come back was committed", "bytes", size)
	case w.awaits():
		log.Warn("a write whose client did not come back could not be committed, and is kept", "bytes", size, "for", hemera.KeptLifetime, "error", err)
	case !w.undecided():
		log.Warn("a write whose client did not come back could not be committed, and its content is removed", "bytes", size, "error", err)
	default:
		log.Warn("a write whose client did not come back waits for the manager", "bytes", size, "until", c.Expires, "error", err)
	}
	return err
}

// drop removes a write whose client did not come back.
func (w *Writer) drop(ctx context.Context) {
	c, size := w.head.cap, w.snapshot().size
	if size > 0 {
		w.head.node.Log.Warn("a write whose client did not come back is removed: nobody closed it, and it is not complete",
			"path", c.Path, "fxid", c.File.Hex(), "user", c.Who.Name, "bytes", size, "announced", c.Size, "trace", c.Trace)
	}
	w.abort(ctx, lostWrite("transfer.Write", c, "its node stopped or waited too long for its client"))
}

// keep seals a write for a person, and gives back its name. A content that cannot be sealed any more is removed.
func (w *Writer) keep(ctx context.Context, still func() bool) {
	w.turn.Wait()
	defer w.turn.Release()
	if w.state.phase != writing || !still() {
		return
	}
	c := w.head.cap
	log := w.head.node.Log.With("path", c.Path, "fxid", c.File.Hex(), "user", c.Who.Name, "bytes", w.state.size, "announced", c.Size, "trace", c.Trace)
	w.endsAsItIs()
	done, err := w.seal(ctx, true)
	switch {
	case err == nil && !done:
		_ = w.await(ctx, nil)
		log.Warn("a write whose client did not come back is kept: nobody closed it, and it is not complete", "for", hemera.KeptLifetime)
	case w.stop(ctx, err) != nil:
		log.Warn("a write whose client did not come back cannot be sealed", "kept", w.awaits(), "error", err)
	}
}

// endsAsItIs records that the client does not come back, so that the bytes that are there are the content, whatever size was announced. The caller
// has the turn.
func (w *Writer) endsAsItIs() {
	w.left.ends = true
	w.least = min(w.least, w.state.size)
}

// takeLeft commits the write as it is.
func (w *Writer) takeLeft(ctx context.Context) error {
	if err := w.turn.Acquire(ctx); err != nil {
		return errs.Wrap(err, "transfer.Write", piece.Subject(w.head.cap))
	}
	w.endsAsItIs()
	w.turn.Release()
	err := w.Close(ctx)
	log := w.head.node.Log.With("path", w.head.cap.Path, "fxid", w.head.cap.File.Hex(), "user", w.head.cap.Who.Name, "bytes", w.snapshot().size, "trace", w.head.cap.Trace)
	if err != nil {
		log.Warn("a write whose client did not come back could not be committed for a person", "error", err)
		return err
	}
	log.Info("a write whose client did not come back was committed for a person")
	return nil
}

// suspend ends a kept write here, with the process; its record stays.
func (w *Writer) suspend() {
	w.turn.Wait()
	defer w.turn.Release()
	left := w.state.phase == writing && w.found != nil
	if !left && (w.state.phase != awaiting || !w.recorded) {
		return
	}
	w.head.node.Files.End(&w.usage)
	w.content.drop()
	if w.base != nil {
		w.base.Close()
	}
	if p, ok := w.content.(*pieces); ok {
		p.release()
		p.letGo()
	}
	w.result = piece.BadHandle("transfer.Write", piece.Subject(w.head.cap))
	w.setPhase(ended)
	w.cancel()
}

// stopLeft ends a write as its node stops. left: no client has it open.
func (w *Writer) stopLeft(ctx context.Context, left bool) {
	if (left || w.synced()) && w.head.writes.Kept != nil && w.worthKeeping() && !w.lasting() {
		w.keep(ctx, func() bool { return true })
	}
	if w.lasting() {
		w.expire(ctx)
	}
	w.suspend()
	if phase := w.snapshot().phase; phase == writing || phase == awaiting {
		w.expire(ctx)
	}
}
