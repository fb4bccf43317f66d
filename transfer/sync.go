package transfer

import (
	"context"
	"encoding/json"
	"slices"

	"hemera/transfer/piece"
	"hemera/words/errs"
)

// Sync makes everything accepted durable on every live piece, and so that it is found after the end of the process: see found.
func (w *Writer) Sync(ctx context.Context) (err error) {
	if err := w.turn.Acquire(ctx); err != nil {
		return errs.Wrap(err, "transfer.Sync", piece.Subject(w.head.cap))
	}
	defer w.turn.Release()
	defer func() {
		w.left.synced = w.left.synced || err == nil
		w.answered(err)
	}()
	if err := w.usable("transfer.Sync"); err != nil {
		return err
	}
	// Bytes that wait in memory have to be on disks to be durable. An empty content has nothing to lose.
	if c, ok := w.content.(*inlineContent); ok && c.inlineBuffer != nil {
		if err := w.spill(c); err != nil {
			return err
		}
	}
	if err := w.content.sync(ctx); err != nil {
		return err
	}
	return w.recordSynced()
}

// restart empties the content for a client that starts over. Its announced size holds again.
func (w *Writer) restart() error {
	w.turn.Wait()
	defer w.turn.Release()
	// The client does not want the bytes any more that it had synced.
	w.left = leaving{}
	w.unrecord()
	return w.resize(0, w.head.cap.Size)
}

// promises reports whether a sync of the write is to outlast its node. The caller has the turn.
func (w *Writer) promises() bool {
	p, ok := w.content.(*pieces)
	return ok && !w.head.cap.Layout.Coded() && w.state.size > 0 && w.head.writes.Kept != nil && !w.head.cap.Convert &&
		slices.ContainsFunc(p.list, func(pc *headPiece) bool { return pc.local != nil })
}

// recordSynced makes durable that the write was synced, as it is known now, before the sync is acknowledged. The caller has the turn.
func (w *Writer) recordSynced() error {
	if !w.promises() {
		return nil
	}
	token, err := w.head.permit.Token()
	var raw []byte
	if err == nil {
		r := keptRecord{Version: keptVersion, Synced: true, Token: token, Opened: w.opened}
		r.Xattrs, r.XattrsGone = splitXattrs(w.Xattrs())
		slices.Sort(r.XattrsGone)
		raw, err = json.Marshal(r)
	}
	if err != nil || string(raw) == w.promised {
		return errs.Wrap(err, "transfer.Sync", piece.Subject(w.head.cap))
	}
	if err := w.head.writes.Kept.Save(recordName(w.head.cap.Nonce), raw); err != nil {
		return errs.Wrap(err, "transfer.Sync", piece.Subject(w.head.cap))
	}
	w.promised = string(raw)
	return nil
}
