package transfer

import (
	"context"
	"fmt"
	"slices"

	"hemera/disk"
	"hemera/rules/layout"
	"hemera/transfer/ledger"
	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// The footers of a kept write say that it is kept, so that a rebuild of the namespace makes no file of it, whether or not its head is there
// to say so. A write that nobody closed is sealed so, in the same step. Before the manager is asked for the commit they say otherwise, durably: a
// crash in between leaves a content that a person wanted. After a refusal they say it again, unless an answer was lost: then the content
// may be the file's. A content counts as committed once one of its pieces says so.

// mark has the footers of the sealed pieces say whether they are kept, all at once, and returns the result of each.
func (p *pieces) mark(ctx context.Context, size int64, kept bool) []error {
	h := p.head
	info := hemera.SealInfo{FileSize: size, Sync: true, Kept: kept}
	return p.each(ledger.Sealed, everyPiece, nil, func(_ int, pc *headPiece) error {
		if h.cap.Layout.Coded() && !layout.Stored(h.cap.Layout, size, pc.target.Index) {
			return nil
		}
		at := pc.target
		for _, t := range h.permit.Targets { // where its node is by now
			if t.Index == at.Index && t.Disk == at.Disk {
				at = t
			}
		}
		return h.mark(ctx, at, info)
	})
}

// mark changes one piece. A piece at another node is opened again: its handle at the head was ended by the seal, or by another process.
func (h *head) mark(ctx context.Context, t hemera.Target, info hemera.SealInfo) error {
	if h.node.Local(t) {
		store, err := h.node.Store(t)
		if err != nil {
			return err
		}
		return disk.Mark(store, piece.ID(h.cap, t.Index), info.Kept)
	}
	ctx, cancel := context.WithTimeout(ctx, piece.CallTimeout)
	defer cancel()
	out, _, err := h.node.Create(ctx, h.cap, h.permit, t)
	if err != nil {
		return err
	}
	defer out.Release()
	return out.Seal(ctx, info)
}

// markKept has the footers of a content that was refused say that it is kept. A piece that cannot be reached keeps its old mark. The caller has the
// turn.
func (w *Writer) markKept(ctx context.Context) {
	p, ok := w.content.(*pieces)
	if !ok || w.commit == nil || w.commit.kept || w.commit.unsure {
		return
	}
	w.head.renew(ctx)
	for i, err := range p.mark(ctx, w.commit.request.Size, true) {
		if err != nil {
			w.head.node.Log.Warn("a piece does not say that it is kept: without its head a rebuild takes it for committed", "path", w.head.cap.Path,
				"trace", w.head.cap.Trace, "piece", p.list[i].target.Index, "disk", p.list[i].target.Disk, "error", err)
		}
	}
	w.commit.kept = true
	if !w.recorded {
		return
	}
	if err := w.saveRecord(); err != nil { // the one that is there makes less of it: that it may have been committed
		w.head.node.Log.Warn("the record of a kept write is the one before its commit was refused", "path", w.head.cap.Path, "error", err)
	}
}

// unmark has the footers of a kept content say nothing any more, as the manager is about to be asked for it. It fails, and has them say that
// they are kept, unless the pieces that can be reached are enough to read the file. The others go on to say it, until an audit finds that
// the file has them. The caller has the turn.
func (w *Writer) unmark(ctx context.Context) error {
	p, ok := w.content.(*pieces)
	if !ok || !w.commit.kept {
		return nil
	}
	h, r := &w.head, &w.commit.request
	h.renew(ctx)
	failures := p.mark(ctx, r.Size, false)
	w.commit.kept = false
	var reached []hemera.Piece
	for i, pc := range p.list {
		if at := (hemera.Piece{Index: pc.target.Index, Disk: pc.target.Disk}); failures[i] == nil && slices.Contains(r.Pieces, at) {
			reached = append(reached, at)
		}
	}
	if !layout.Readable(h.cap.Layout, r.Size, layout.Indexes(reached)) {
		return &errs.Error{Kind: errs.Unavailable, Op: "transfer.Commit", Subject: piece.Subject(h.cap), Cause: first(failures),
			Text: fmt.Sprintf("%d of its %d pieces can be reached", len(reached), len(r.Pieces))}
	}
	// If the process ends from here on, it is not known whether the commit was asked for.
	if w.recorded {
		return errs.Wrap(w.saveRecord(), "transfer.Commit", piece.Subject(h.cap))
	}
	return nil
}
