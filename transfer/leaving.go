package transfer

import (
	"context"

	"hemera/transfer/extents"
	"hemera/words/hemera"
)

// A client whose connection is lost has [hemera.PendingHold] to come back. What becomes of its write then follows from what
// was acknowledged. A library that finds its connection lost when it closes may tell its user that all is well, so what a
// close would have committed must not be thrown away if the node has acknowledged that it is safe:
//
//	a sync was acknowledged                       closed
//	a new content has all of its announced bytes  closed, unless the client was told of a failure
//	anything else that has bytes                  kept for a person to take or to drop: see kept
//	nothing was written                           removed
//
// If its node ends before that, what was synced is kept by the next process: see found.
//
// What was synced and has fewer bytes than were announced is kept too: its close would be refused.
//
// Closed means what a close of the client would have meant, with each reason for which that can fail. If the manager refuses the
// commit, the content is kept as well: nobody was told. An update without a sync
// is never closed: its announced size says nothing about which of its bytes are new. Neither is a direct write: its client, which
// is Hemera's own, takes no lost connection for a close, and says that it failed.

// leaving is what decides that. The holder of a write's turn has it.
type leaving struct {
	covered extents.Set // bytes of a new content whose size was announced
	synced  bool        // a sync was acknowledged
	failed  bool        // the client was told of a failure
	ends    bool        // nobody came back: the close is the node's own, or a person's
}

// wrote takes note of accepted bytes.
func (l *leaving) wrote(c *hemera.Capability, from, to int64) {
	if c.Access == hemera.AccessCreate && c.Size > 0 {
		l.covered.Add(from, to)
	}
}

// complete reports whether a content of the size has every byte that was announced, and no more. Bytes that a client sent by
// several ways arrive in any order, so the size alone does not tell.
func (l *leaving) complete(announced, size int64) bool {
	return announced > 0 && size == announced && !l.covered.Guessed() && l.covered.Covers(0, size)
}

// lasts reports whether the write, of the size, is closed if its client does not come back. The caller has the turn.
func (w *Writer) lasts(size int64) bool {
	return w.left.synced && size >= w.least || !w.left.failed && w.left.complete(w.head.cap.Size, size)
}

// answered takes note of what a client is told. The caller has the turn.
func (w *Writer) answered(err error) {
	if err != nil {
		w.left.failed = true
	}
	if lasts := w.lasts(w.state.size); lasts != w.state.lasts {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.state.lasts = lasts
	}
}

// lasting reports whether the write is to be closed when its time is over: it lasts, or its commit may have happened.
func (w *Writer) lasting() bool {
	s := w.snapshot()
	return s.phase == committing || s.phase == writing && s.lasts && !s.left
}

// synced reports whether a sync of the write was acknowledged.
func (w *Writer) synced() bool {
	w.turn.acquire()
	defer w.turn.release()
	return w.left.synced
}

// awaits reports whether a person decides about the write.
func (w *Writer) awaits() bool {
	s := w.snapshot()
	return s.phase == awaiting || s.phase == writing && s.left
}

// closeLeft closes a write that nobody came back for.
func (w *Writer) closeLeft(ctx context.Context) error {
	w.turn.acquire()
	w.left.ends = true
	w.turn.release()
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

// drop removes a write that nobody came back for.
func (w *Writer) drop(ctx context.Context) {
	c, size := w.head.cap, w.snapshot().size
	if size > 0 {
		w.head.node.Log.Warn("a write whose client did not come back is removed: nobody closed it, and it is not complete",
			"path", c.Path, "fxid", c.File.Hex(), "user", c.Who.Name, "bytes", size, "announced", c.Size, "trace", c.Trace)
	}
	w.abort(ctx, lostWrite("transfer.Write", c, "its node stopped or waited too long for its client"))
}
