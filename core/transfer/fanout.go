package transfer

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"hemera"
	"hemera/errs"
)

// begin makes the pieces, if there are none yet, and fills them with what is in memory, or the first keep
// bytes of the base. Targets that cannot even begin are replaced at once, while there is nothing to copy.
func (w *Writer) begin(keep int64) error {
	w.changed = true
	if w.pieces != nil {
		return nil
	}
	w.place()
	w.createPieces(live)
	if w.ledger.count(failed) > 0 && w.replace(w.ctx) {
		w.createPieces(failed)
	}
	if !w.ledger.writable() {
		return w.fail("transfer.Write", everyPieceFailed)
	}
	switch {
	case w.small != nil:
		return w.spill()
	case w.base == nil || keep == 0:
		w.dropBase()
		return nil
	}
	return w.copyBase(keep)
}

// place lists the pieces that are to be made.
func (w *Writer) place() {
	w.pieces = make([]*piece, len(w.cap.Targets))
	for i, t := range w.cap.Targets {
		w.pieces[i] = &piece{target: t}
	}
}

// createPieces creates every piece in the state, all at once.
func (w *Writer) createPieces(which state) {
	w.each(which, func(pc *piece) {
		made, err := w.host.create(w.ctx, w.cap, w.permit, pc.target)
		if err != nil {
			pc.err = err
			return
		}
		*pc = *made
	})
	for i, pc := range w.pieces {
		if w.ledger.states[i] != which {
			continue
		}
		w.ledger.states[i] = live
		if pc.err != nil {
			w.lose(i, pc.err)
		}
	}
}

// fanOut does the same to every live piece at once and runs meanwhile beside them. Disks of this node
// get the patience. A piece whose call fails is lost; fanOut fails when no live piece is left.
func (w *Writer) fanOut(patience time.Duration, do func(PeerWriter) error, meanwhile func()) error {
	failures := make([]error, len(w.pieces))
	calls := make([]*diskCall, len(w.pieces))
	var wg sync.WaitGroup
	here := -1 // the piece this goroutine sees to
	for i, pc := range w.pieces {
		switch {
		case w.ledger.states[i] != live:
		case pc.local != nil:
			out := pc.local.diskPiece // pc may be given up before the call looks at it
			calls[i] = pc.local.start(func() error { return do(out) })
		case here < 0:
			here = i
		default:
			wg.Go(func() { failures[i] = do(pc.out) })
		}
	}
	if meanwhile != nil {
		meanwhile()
	}
	if here >= 0 {
		failures[here] = do(w.pieces[here].out)
	}
	wg.Wait()
	for i, c := range calls {
		if c != nil {
			failures[i] = w.pieces[i].local.finish(c, patience)
		}
	}
	for i, err := range failures {
		if err != nil {
			w.lose(i, err)
		}
	}
	if !w.ledger.writable() {
		return w.fail("transfer.Write", everyPieceFailed)
	}
	return nil
}

// lose gives a piece up; its node removes what is there of it.
func (w *Writer) lose(i int, err error) {
	pc := w.pieces[i]
	w.ledger.states[i] = failed
	pc.err = err
	if out := pc.out; out != nil {
		end := func() {}
		if pc.local != nil {
			end = w.host.removals.begin(pieceID(w.cap, pc.target.Index), pc.target.Disk)
		}
		w.host.work.Go(func() {
			defer end()
			out.Abort()
		})
	}
	pc.out, pc.local = nil, nil
	w.host.Log.Warn("piece of a write lost", "path", w.cap.Path, "fxid", w.cap.File.Hex(), "trace", w.cap.Trace,
		"piece", pc.target.Index, "disk", pc.target.Disk, "node", pc.target.Addr, "err", err)
}

// everyPieceFailed is why a write ends before its close.
const everyPieceFailed = "every piece of the write failed"

// fail ends the write for good: too few pieces hold its content, or none. The cause is the first
// failure of a piece.
func (w *Writer) fail(op, text string) error {
	var cause error
	for _, pc := range w.pieces {
		if pc.err != nil {
			cause = pc.err
			break
		}
	}
	kind := errs.Unavailable
	if cause != nil {
		kind = errs.KindOf(cause)
	}
	w.broken = (&errs.Error{Kind: kind, Op: op, Subject: subject(w.cap), Text: text, Cause: cause}).
		WithRemedy("write the file again; `hemera fs ls` shows which disks are ill")
	return w.broken
}

// replace asks the manager for other disks in the places of the failed pieces and reports whether
// there are any. Pieces whose target did not change stay failed.
func (w *Writer) replace(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	w.ledger.rounds++
	var lost []hemera.DiskID
	for i, pc := range w.pieces {
		if w.ledger.states[i] == failed {
			lost = append(lost, pc.target.Disk)
		}
	}
	grant, err := w.host.Control.Replace(ctx, w.permit, lost)
	if err != nil {
		w.ledger.denied = true
		w.host.Log.Warn("no other disk for lost pieces", "path", w.cap.Path, "trace", w.cap.Trace, "disks", lost, "err", err)
		return false
	}
	w.permit = grant.Permit
	found := false
	for i, pc := range w.pieces {
		if w.ledger.states[i] != failed {
			continue
		}
		for _, t := range w.permit.Targets {
			if t.Index == pc.target.Index && t.Disk != pc.target.Disk {
				w.pieces[i] = &piece{target: t}
				w.host.Counters.Replaced.Add(1)
				found = true
			}
		}
	}
	w.ledger.denied = !found
	w.host.Log.Log(ctx, slog.LevelInfo, "lost pieces moved", "path", w.cap.Path, "trace", w.cap.Trace, "disks", lost)
	return found
}
