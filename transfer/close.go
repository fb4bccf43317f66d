package transfer

import (
	"context"
	"fmt"
	"time"

	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Close seals every piece, moves lost ones to other disks, and commits. Nil: durable and visible.
// A Timeout or Unavailable error means that all is sealed but the manager did not answer within
// [CommitPatience]; the content may be visible, and Close may be called again. After any other
// error nothing is visible and no piece is left, unless an answer to an earlier commit was lost.
// Close again answers as before. Where no client closes, a refusal leaves everything as it is, and Close may be called again.
//
// It is not ended by ctx: a client that goes away in the middle finds the answer when it comes back.
func (w *Writer) Close(ctx context.Context) error {
	w.turn.Wait()
	defer w.turn.Release()
	if w.state.phase == ended {
		return w.result
	}
	// The steps that follow must not stop half-way: pieces would be left that no list has.
	if ctx.Done() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if w.commit == nil {
		if done, err := w.seal(ctx, false); done || err != nil {
			return w.stop(ctx, err)
		}
	}
	if err := w.unmark(ctx); err != nil {
		return w.await(ctx, err)
	}
	w.setPhase(committing)
	err := w.commit.run(ctx)
	switch {
	case err != nil && errs.Undecided(err):
		return err
	case err != nil && w.commit.request.Left:
		return w.await(ctx, err)
	}
	return w.end(ctx, err)
}

// stop ends a write that could not be sealed, or has nothing to commit. A write that its client does not close stays where its content is as good as
// before.
func (w *Writer) stop(ctx context.Context, err error) error {
	if err != nil && w.found != nil {
		return w.leaveFound(err)
	}
	if err == nil || w.head.broken != nil || !w.left.ends {
		return w.end(ctx, err)
	}
	return w.await(ctx, err)
}

// await leaves a write to a person. refused, if not nil, is why it was not committed; await returns it with what can be done.
func (w *Writer) await(ctx context.Context, refused error) error {
	if refused != nil {
		refused = refusal(refused, w.head.cap)
	}
	w.setAwaiting(refused)
	w.markKept(ctx)
	if w.commit != nil && !w.commit.unsure {
		w.commit.asked = time.Time{} // it was answered: that something came in between is for the manager to find
	}
	w.head.keep(ctx, w.state.size)
	w.record()
	return refused
}

// end records the result; a failed write leaves nothing behind, unless it may be that the manager
// committed it all the same: then its pieces are left to the audit, which knows.
func (w *Writer) end(ctx context.Context, err error) error {
	h := &w.head
	h.node.Files.End(&w.usage)
	w.content.drop()
	if w.base != nil {
		w.base.Close()
	}
	// An answer was lost on the way, so "refused" may be the second of two answers.
	unsure := w.commit != nil && w.commit.unsure || w.found != nil && w.found.footer != nil
	if err != nil && unsure {
		err = mayBeCommitted(err, piece.Subject(h.cap))
	}
	// Recorded before the pieces are removed: what comes meanwhile waits for the turn, and finds the answer.
	w.result = err
	w.setPhase(ended)
	w.unrecord()
	p, _ := w.content.(*pieces)
	switch {
	// After a commit that may have happened nothing is removed: the pieces may be those of the file.
	case err != nil && !unsure:
		w.discard(ctx)
	case p != nil:
		p.release()
	}
	if err != nil && unsure {
		h.node.Log.Warn("a commit was refused after one that may have happened; its pieces are left to the audit",
			"path", h.cap.Path, "fxid", h.cap.File.Hex(), "trace", h.cap.Trace, "error", err)
	}
	w.cancel()
	return err
}

// Abort cancels the write: its pieces are removed and its lock at the manager is freed. A write
// that is already committed, or whose commit may have happened, is left as it is.
func (w *Writer) Abort(ctx context.Context) error {
	w.abort(ctx, piece.BadHandle("transfer.Write", piece.Subject(w.head.cap)))
	return nil
}

// abort cancels the write; later calls fail with why.
func (w *Writer) abort(ctx context.Context, why error) {
	// The turn may be held by a call that waits for a peer. Disks return by themselves.
	w.cancel() // frees the holder of the turn, if it waits for a peer
	w.turn.Wait()
	defer w.turn.Release()
	if w.state.phase == writing || w.state.phase == awaiting {
		_ = w.end(ctx, w.head.fail(why))
	}
}

// discard removes every piece and tells the manager.
func (w *Writer) discard(ctx context.Context) {
	h := &w.head
	if p, ok := w.content.(*pieces); ok {
		p.disown()
		p.abort()
	} else {
		h.removeClientPieces(ctx)
	}
	// The lock is freed last. Until then the name belongs to this write, so no other can meet its pieces.
	h.node.Counters.Aborts.Add(1)
	h.giveBack(ctx)
}

// seal brings the write to where only the commit is missing, in w.commit. done: nothing changed,
// so that there is nothing to commit. kept: nobody closed it, and the footers say so.
func (w *Writer) seal(ctx context.Context, kept bool) (done bool, err error) {
	h, size := &w.head, w.state.size
	if h.broken != nil {
		return false, h.broken
	}
	if w.found != nil {
		return false, w.sealFound(ctx)
	}
	if a := w.adopted; a != nil {
		ready(w, a.info, a.pieces)
		return false, nil
	}
	// A client that announced a size has to reach it, or to truncate the file.
	if size < w.least {
		return false, w.incomplete()
	}
	set, removed := splitXattrs(w.Xattrs())
	if h.cap.Access == hemera.AccessUpdate && h.cap.Base != nil && !w.changed && len(set)+len(removed) == 0 {
		w.discard(ctx) // frees the lock; there are no pieces
		return true, nil
	}
	if _, ok := w.content.(baseView); ok { // attributes alone make a new generation too
		if err := w.makeRoom(size, size); err != nil {
			return false, err
		}
	}
	// Bytes that were not written in order are read back for the checksums; usually there are none.
	allowed := w.usage.Bytes.Load()
	if h.cap.Base != nil { // which was written once
		allowed += h.cap.Base.Size
	}
	sums, err := w.sums.Finish(size, pendingSource{w.content}, allowed)
	if err != nil {
		return false, errs.Wrap(err, "transfer.Close", piece.Subject(h.cap))
	}
	sealed, err := w.sealContent(ctx, hemera.SealInfo{FileSize: size, Checksums: sums, Sync: h.cap.Sync, Kept: kept})
	if err != nil { // some pieces may be sealed: it cannot be done a second time
		return false, h.fail(err)
	}
	ready(w, hemera.SealInfo{FileSize: size, Checksums: sums}, sealed)
	w.commit.kept = kept
	return false, nil
}

// sealContent seals the content in pieces, which it returns. An empty content has none.
func (w *Writer) sealContent(ctx context.Context, info hemera.SealInfo) ([]hemera.Piece, error) {
	switch c := w.content.(type) {
	case *inlineContent:
		if c.inlineBuffer == nil {
			return nil, nil
		}
		if err := c.check(); err != nil {
			return nil, err
		}
		// The memory stays until the commit may be made: every planned piece is made from it.
		p := newPieces(&w.head)
		p.whole = c
		p.ledger.Keep()
		w.content = p
	case *pieces:
		if info.FileSize == 0 {
			// A file without bytes needs no pieces. Those that were made for bytes that are gone are removed.
			c.abort()
			w.content = &inlineContent{head: &w.head}
			return nil, nil
		}
	}
	p := w.content.(*pieces)
	if err := p.seal(ctx, info); err != nil {
		return nil, err
	}
	return p.sealedPieces(), nil
}

// incomplete refuses the close of a client that stopped early: some close a file like any other when a time or
// a rate is exceeded, or their source ends early. What was there before stays.
func (w *Writer) incomplete() error {
	return errs.New(errs.Invalid, "transfer.Close", piece.Subject(w.head.cap),
		fmt.Sprintf("%d bytes were announced and %d written: the file is not complete, and nothing of it is kept", w.least, w.state.size)).
		WithRemedy("write the whole file again, or truncate it before the close if it is to be shorter than announced")
}
