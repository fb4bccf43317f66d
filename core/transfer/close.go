package transfer

import (
	"context"
	"fmt"
	"sync"
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
	if err := w.enter(); err != nil {
		return err
	}
	defer w.mu.Unlock()
	if w.done {
		return w.result
	}
	if ctx.Done() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if w.request == nil {
		if done, err := w.seal(ctx); done || err != nil {
			return w.end(ctx, err)
		}
	}
	err := w.commit(ctx)
	if err != nil && errs.Undecided(err) {
		return err
	}
	return w.end(ctx, err)
}

// end records the result; a failed write leaves nothing behind, unless it may be that the manager
// committed it all the same: then its pieces are left to the audit, which knows.
func (w *Writer) end(ctx context.Context, err error) error {
	w.host.uses.end(&w.usage)
	w.dropBase()
	w.dropSmall()
	if err != nil && w.unsure {
		err = maybe(err, subject(w.cap))
	}
	w.done, w.result = true, err
	switch {
	case err != nil && w.unsure:
		w.host.Log.Warn("a commit was refused after one that may have happened; its pieces are left to the audit",
			"path", w.cap.Path, "fxid", w.cap.File.Hex(), "trace", w.cap.Trace, "err", err)
		w.release()
	case err != nil:
		w.discard(ctx)
	default:
		w.release()
	}
	w.cancel()
	return err
}

// maybe says of a refused commit that one asked for before may have happened, or happen yet: what the
// manager was sent when its answer was lost may be anywhere on its way. The client must not take the
// refusal for a no.
func maybe(err error, subject string) error {
	e := &errs.Error{Kind: errs.Unavailable, Op: "transfer.Close", Subject: subject,
		Text: "the commit was refused, but the answer to one before was lost, which may have happened", Cause: err}
	return e.WithRemedy("look whether the file has the content that was written, and write it again if not")
}

// Abort gives the write up: its pieces are removed and its lock at the manager is freed. A write
// that is already committed, or whose commit may have happened, is left as it is.
func (w *Writer) Abort(ctx context.Context) error {
	return w.abort(ctx, badHandle("transfer.Write", subject(w.cap)))
}

// abort gives the write up; why is what is said to who goes on with it.
func (w *Writer) abort(ctx context.Context, why error) error {
	w.cancel() // frees writers that wait for a peer
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.request != nil {
		return nil
	}
	w.broken = why
	_ = w.end(ctx, w.broken)
	return nil
}

// expire gives the write up, or asks a last time whether it was committed.
func (w *Writer) expire(ctx context.Context) {
	if w.undecided() {
		if err := w.Close(ctx); err != nil {
			w.host.Log.Warn("the manager never answered a commit; sealed pieces are left to the audit",
				"path", w.cap.Path, "fxid", w.cap.File.Hex(), "trace", w.cap.Trace, "err", err)
			w.mu.Lock()
			w.release()
			w.mu.Unlock()
		}
		return
	}
	_ = w.abort(ctx, lostWrite("transfer.Write", w.cap, "its node stopped or waited too long for its client"))
}

// undecided reports whether the commit may or may not have happened.
func (w *Writer) undecided() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.done && w.request != nil
}

// release lets go of the sealed pieces: they stay.
func (w *Writer) release() {
	for i, pc := range w.pieces {
		if pc.out != nil && w.ledger.states[i] == sealed {
			pc.out.Release()
		}
	}
}

// discard removes every piece and tells the manager.
func (w *Writer) discard(ctx context.Context) {
	var wg sync.WaitGroup
	for i, pc := range w.pieces {
		if pc.out != nil && w.ledger.states[i] != failed {
			wg.Go(pc.out.Abort)
		}
	}
	wg.Wait()
	w.host.Counters.Aborts.Add(1)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := w.host.Control.Abort(ctx, w.permit); err != nil {
		w.host.Log.Info("the manager was not told of an abort", "path", w.cap.Path, "trace", w.cap.Trace, "err", err)
	}
}

// seal brings the write to where only the commit is missing, in w.request. done: nothing changed,
// so that there is nothing to commit.
func (w *Writer) seal(ctx context.Context) (done bool, err error) {
	if w.broken != nil {
		return false, w.broken
	}
	if w.size < w.least {
		return false, w.incomplete()
	}
	if w.cap.Access == hemera.AccessUpdate && w.cap.Base != nil && !w.changed && len(w.xattrs) == 0 {
		w.discard(ctx) // frees the lock; there are no pieces
		return true, nil
	}
	if w.base != nil { // attributes alone make a new generation too
		if err := w.begin(w.size); err != nil {
			return false, err
		}
	}
	if w.size == 0 {
		w.dropPieces()
	}
	sums, err := w.sums.finish(w.size, pendingSource{w}, w.usage.bytes.Load())
	if err != nil {
		return false, errs.Wrap(err, "transfer.ReadBack", subject(w.cap))
	}
	info := hemera.SealInfo{FileSize: w.size, Checksums: sums, Sync: w.cap.Sync}
	if w.small != nil {
		if err := w.small.check(w.cap); err != nil {
			return false, err
		}
		w.place()
		w.ledger.kept = true
	}
	if w.pieces != nil {
		if err := w.sealPieces(ctx, info); err != nil {
			return false, err
		}
	}
	w.request = &hemera.CommitRequest{Permit: w.permit, Size: w.size, Checksums: sums, Pieces: w.sealedPieces(), Mtime: time.Now()}
	w.request.Xattrs, w.request.XattrsGone = w.changedXattrs()
	return false, nil
}

// incomplete refuses the close of a client that gave up: some close a file like any other when a time or
// a rate is exceeded, or their source ends early. What was there before stays.
func (w *Writer) incomplete() error {
	return errs.New(errs.Invalid, "transfer.Close", subject(w.cap),
		fmt.Sprintf("%d bytes were announced and %d written: the file is not complete, and nothing of it is kept", w.least, w.size)).
		WithRemedy("write the whole file again, or truncate it before the close if it is to be shorter than announced")
}

// dropPieces removes the pieces of a file that turned out empty.
func (w *Writer) dropPieces() {
	for i, pc := range w.pieces {
		if w.ledger.states[i] == live {
			pc.out.Abort()
		}
	}
	w.pieces = nil
}

// sealPieces takes the ledger's steps until the commit may be made.
func (w *Writer) sealPieces(ctx context.Context, info hemera.SealInfo) error {
	for {
		switch w.ledger.next() {
		case stepSeal:
			if w.small != nil {
				w.putPieces(ctx, info)
				continue
			}
			if err := w.fanOut(2*diskPatience, func(out PeerWriter) error { return out.Seal(ctx, info) }, nil); err != nil {
				return err
			}
			for i, s := range w.ledger.states {
				if s == live {
					w.ledger.states[i] = sealed
				}
			}
		case stepReplace:
			if w.replace(ctx) {
				w.restore(ctx, info)
			}
		case stepCommit:
			if w.ledger.count(failed) > 0 {
				w.host.Counters.Short.Add(1)
			}
			w.reuseSmall()
			return nil
		case stepFail:
			return w.short()
		}
	}
}

// short is the error of a close that cannot reach the layout's minimum.
func (w *Writer) short() error {
	if w.ledger.count(sealed) == 0 {
		return w.fail("transfer.Close", everyPieceFailed)
	}
	return w.fail("transfer.Close", fmt.Sprintf("%d of %d pieces could be sealed, and a close takes %d",
		w.ledger.count(sealed), len(w.pieces), w.ledger.min))
}

// restore brings the content, from memory or a sealed piece, to every piece that was given another disk.
func (w *Writer) restore(ctx context.Context, info hemera.SealInfo) {
	for i, pc := range w.pieces {
		if w.ledger.states[i] != failed || pc.err != nil {
			continue
		}
		if err := w.restoreOne(ctx, pc, info); err != nil {
			w.lose(i, err)
			continue
		}
		w.ledger.states[i] = sealed
	}
}

func (w *Writer) restoreOne(ctx context.Context, pc *piece, info hemera.SealInfo) error {
	if w.small != nil {
		return w.put(ctx, pc, info)
	}
	c := *w.cap
	c.Targets, c.Size, c.Sums = nil, info.FileSize, info.Checksums
	for i, other := range w.pieces {
		if w.ledger.states[i] == sealed {
			c.Targets = append(c.Targets, other.target)
		}
	}
	src := w.host.newReader(&c, w.permit)
	defer src.Close()
	made, err := w.host.create(ctx, w.cap, w.permit, pc.target)
	if err != nil {
		return err
	}
	*pc = *made
	if _, err := copyPages(ctx, pc.out, src, info.FileSize); err != nil {
		return err
	}
	return pc.out.Seal(ctx, info)
}

func (w *Writer) sealedPieces() []hemera.Piece {
	var list []hemera.Piece
	for i, pc := range w.pieces {
		if w.ledger.states[i] == sealed {
			list = append(list, hemera.Piece{Index: pc.target.Index, Disk: pc.target.Disk})
		}
	}
	return list
}

// ask is one attempt to commit. A manager in another process may not answer; in this one nothing is
// lost on the way, and asking again would wait for the same.
func (w *Writer) ask(ctx context.Context) error {
	if !w.request.Permit.Local() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTimeout)
		defer cancel()
	}
	return w.host.Control.Commit(ctx, *w.request)
}

// askedAgain is how long after it was asked for a commit may be asked for again. The manager remembers for an
// hour that a new file was removed, so that a late request does not bring it back without its content.
const askedAgain = 30 * time.Minute

// tooLate refuses to ask again when so much time has gone by, perhaps in one moment: the process stood still.
func (w *Writer) tooLate() error {
	now := time.Now()
	if w.asked.IsZero() {
		w.asked = now
	}
	// A machine that was suspended sees it on the wall clock only.
	if waited := max(now.Sub(w.asked), now.Round(0).Sub(w.asked.Round(0))); waited > askedAgain {
		return errs.New(errs.Conflict, "transfer.Commit", subject(w.cap), fmt.Sprintf("the manager was asked for it %s ago", waited.Round(time.Second)))
	}
	return nil
}

// commit asks the manager until it answers or patience ends.
func (w *Writer) commit(ctx context.Context) error {
	deadline := time.Now().Add(w.host.patience())
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		if err := w.tooLate(); err != nil {
			return err
		}
		err := w.ask(ctx)
		if err == nil {
			w.host.Counters.Commits.Add(1)
			return nil
		}
		w.unsure = w.unsure || errs.Undecided(err)
		if !errs.Undecided(err) || time.Now().Add(pause).After(deadline) {
			return errs.Wrap(err, "transfer.Commit", subject(w.cap))
		}
		w.host.Log.Info("commit waits for the manager", "path", w.cap.Path, "trace", w.cap.Trace, "err", err)
		time.Sleep(pause)
	}
}
