package transfer

import (
	"context"
	"fmt"
	"time"

	"hemera"
	"hemera/errs"
)

// Close seals every piece, moves lost ones to other disks, and commits. Nil: durable and visible.
// A Timeout or Unavailable error means that all is sealed but the manager did not answer within
// [CommitPatience]; the content may be visible, and Close may be called again. After any other
// error nothing is visible and no piece is left, unless an answer to an earlier commit was lost.
// Close again answers as before.
//
// It is not ended by ctx: a client that goes away in the middle finds the answer when it comes back.
func (w *Writer) Close(ctx context.Context) error {
	w.turn.acquire()
	defer w.turn.release()
	if w.state.phase == ended {
		return w.result
	}
	// What follows must not stop half-way: pieces would be left that nobody knows.
	if ctx.Done() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if w.commit == nil {
		if done, err := w.seal(ctx); done || err != nil {
			return w.end(ctx, err)
		}
	}
	err := w.commit.run(ctx)
	if err != nil && errs.Undecided(err) {
		return err
	}
	return w.end(ctx, err)
}

// end records the result; a failed write leaves nothing behind, unless it may be that the manager
// committed it all the same: then its pieces are left to the audit, which knows.
func (w *Writer) end(ctx context.Context, err error) error {
	h := &w.head
	h.host.uses.end(&w.usage)
	w.content.drop()
	// An answer was lost on the way, so "refused" may be the second of two answers.
	unsure := w.commit != nil && w.commit.unsure
	if err != nil && unsure {
		err = mayBeCommitted(err, subject(h.cap))
	}
	// Recorded before the pieces are removed: what comes meanwhile waits for the turn, and finds the answer.
	w.result = err
	w.setPhase(ended)
	p, _ := w.content.(*pieces)
	switch {
	// After a commit that may have happened nothing is removed: the pieces may be those of the file.
	case err != nil && !unsure:
		w.discard(ctx)
	case p != nil:
		p.release()
	}
	if err != nil && unsure {
		h.host.Log.Warn("a commit was refused after one that may have happened; its pieces are left to the audit",
			"path", h.cap.Path, "fxid", h.cap.File.Hex(), "trace", h.cap.Trace, "error", err)
	}
	w.cancel()
	return err
}

// setPhase records how far the write is. Only the holder of the turn calls it, so it may read the phase without mu.
func (w *Writer) setPhase(p writePhase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.phase = p
}

// mayBeCommitted says of a refused commit that one asked for before may have happened, or happen yet: the request
// whose answer was lost may be anywhere on its way. The client must not take the refusal for a no.
func mayBeCommitted(err error, subject string) error {
	e := &errs.Error{Kind: errs.Unavailable, Op: "transfer.Close", Subject: subject,
		Text: "the commit was refused, but the answer to one before was lost, which may have happened", Cause: err}
	return e.WithRemedy("look whether the file has the content that was written, and write it again if not")
}

// Abort cancels the write: its pieces are removed and its lock at the manager is freed. A write
// that is already committed, or whose commit may have happened, is left as it is.
func (w *Writer) Abort(ctx context.Context) error {
	w.abort(ctx, badHandle("transfer.Write", subject(w.head.cap)))
	return nil
}

// abort cancels the write; later calls fail with why.
func (w *Writer) abort(ctx context.Context, why error) {
	// The turn may be held by a call that waits for a peer. Disks return by themselves.
	w.cancel() // frees the holder of the turn, if it waits for a peer
	w.turn.acquire()
	defer w.turn.release()
	if w.state.phase == writing {
		_ = w.end(ctx, w.head.fail(why))
	}
}

// expire cancels the write, or asks a last time whether it was committed.
func (w *Writer) expire(ctx context.Context) {
	// Nobody holds the write any more, so its phase does not change between these two.
	if !w.undecided() {
		w.abort(ctx, lostWrite("transfer.Write", w.head.cap, "its node stopped or waited too long for its client"))
		return
	}
	err := w.Close(ctx)
	if err == nil {
		return
	}
	w.head.host.Log.Warn("the manager never answered a commit; sealed pieces are left to the audit",
		"path", w.head.cap.Path, "fxid", w.head.cap.File.Hex(), "trace", w.head.cap.Trace, "error", err)
	w.turn.acquire()
	defer w.turn.release()
	if p, ok := w.content.(*pieces); ok {
		p.release()
	}
}

// undecided reports whether the commit may or may not have happened.
func (w *Writer) undecided() bool { return w.snapshot().phase == committing }

// discard removes every piece and tells the manager.
func (w *Writer) discard(ctx context.Context) {
	h := &w.head
	if p, ok := w.content.(*pieces); ok {
		p.abort()
	}
	// The lock is freed last. Until then the name belongs to this write, so no other can meet its pieces.
	h.host.Counters.Aborts.Add(1)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := h.host.Control.Abort(ctx, h.permit); err != nil {
		h.host.Log.Info("the manager was not told of an abort", "path", h.cap.Path, "trace", h.cap.Trace, "error", err)
	}
}

// seal brings the write to where only the commit is missing, in w.commit. done: nothing changed,
// so that there is nothing to commit.
func (w *Writer) seal(ctx context.Context) (done bool, err error) {
	h, size := &w.head, w.state.size
	if h.broken != nil {
		return false, h.broken
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
	// What was not written in order is read back for the checksums; usually there is nothing to read.
	sums, err := w.sums.finish(size, pendingSource{w.content}, w.usage.bytes.Load())
	if err != nil {
		return false, errs.Wrap(err, "transfer.Close", subject(h.cap))
	}
	sealed, err := w.sealContent(ctx, hemera.SealInfo{FileSize: size, Checksums: sums, Sync: h.cap.Sync})
	if err != nil {
		return false, err
	}
	// The permit is the last one granted: its targets are where the pieces are now.
	r := hemera.CommitRequest{Permit: h.permit, Size: size, Checksums: sums, Pieces: sealed, Mtime: time.Now(), Xattrs: set, XattrsGone: removed}
	w.commit = &commit{head: h, request: r}
	// From here on nothing changes the content, and a close that comes again sends the same request.
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.phase, w.state.mtime = committing, r.Mtime
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
		p.whole, p.ledger.kept = c, true
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
	return errs.New(errs.Invalid, "transfer.Close", subject(w.head.cap),
		fmt.Sprintf("%d bytes were announced and %d written: the file is not complete, and nothing of it is kept", w.least, w.state.size)).
		WithRemedy("write the whole file again, or truncate it before the close if it is to be shorter than announced")
}

// splitXattrs returns the attributes that a commit sets, and those that it removes, which are nil in changes.
func splitXattrs(changes map[string][]byte) (set map[string][]byte, removed []string) {
	for name, value := range changes {
		if value == nil {
			removed = append(removed, name)
			continue
		}
		if set == nil {
			set = map[string][]byte{}
		}
		set[name] = value
	}
	return set, removed
}
