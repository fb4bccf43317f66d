package namespace

import (
	"context"
	"slices"
	"time"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// The pieces of a content that was replaced or removed are held for a while: readers that have the content
// open go on with it, also when they lose their connection. A held piece is unlinked; its disk gets
// the order to remove it when the time is over. Pieces that a move to another disk leaves behind are not held: their
// content is still there.

// replace subtracts all pieces of e, whose content is replaced or removed, from the counts of their disks and
// holds them. Without a hold time they are to be removed at once.
func (t pieceTx) replace(e *hemera.Entry) error {
	hold := t.memory.holds.time()
	if hold <= 0 {
		return t.drop(e, e.Pieces)
	}
	until := time.UnixMilli(t.Now().Add(hold).UnixMilli()) // whole milliseconds, as the key has
	for _, p := range e.Pieces {
		bytes := schema.PieceBytes(e, p.Index)
		h := schema.HeldPiece{Until: until, Bytes: bytes}
		id := hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}
		t.Remove(schema.PieceKey(p.Disk, e.ID, p.Index))
		t.Set(schema.HeldKey(p.Disk, id), &h, t.Record(schema.AppendHeld(t.Room(schema.HeldRoom), &h)))
		t.Mark(schema.DueKey(p.Disk, h.Until, id))
		if err := t.count(p.Disk, schema.Usage{Pieces: -1, Bytes: -bytes, Unlinked: 1, Held: 1, HeldBytes: bytes}); err != nil {
			return err
		}
	}
	return nil
}

// held returns the record of a piece that the disk holds, nil when it does not.
func (t pieceTx) held(disk hemera.DiskID, p hemera.PieceID) (*schema.HeldPiece, error) {
	return record.GetUncached(t.Txn.Txn, schema.HeldKey(disk, p), schema.DecodeHeld)
}

// release drops the records of a held piece, in both orders, and its counts.
func (t pieceTx) release(disk hemera.DiskID, p hemera.PieceID, h *schema.HeldPiece) error {
	t.Remove(schema.HeldKey(disk, p))
	t.Remove(schema.DueKey(disk, h.Until, p))
	return t.count(disk, schema.Usage{Unlinked: -1, Held: -1, HeldBytes: -h.Bytes})
}

// due lists held pieces of the disk whose time is over. A time that is further away than the hold is from a clock
// that was wrong, or from a longer hold that was set before: it counts as over.
func (n *Pieces) due(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error) {
	now := n.engine.clock()
	// Callers ask for every disk often, and nearly always nothing is due: the hint saves reading an empty range.
	hold := n.holds.time()
	if limit <= 0 || !n.holds.due.passed(disk, now, hold) {
		return nil, nil
	}
	next := now.Add(hold)
	out, _, err := n.heldBetween(ctx, schema.DueFrom(disk, time.UnixMilli(0)), schema.DueFrom(disk, now.Add(time.Millisecond)), limit)
	if err == nil && len(out) < limit {
		var more []hemera.PieceID
		more, _, err = n.heldBetween(ctx, schema.DueFrom(disk, next.Add(time.Millisecond)), schema.PrefixEnd(schema.DiskKey(schema.TableDue, disk)), limit-len(out))
		out = append(out, more...)
	}
	if err == nil && len(out) == 0 {
		// Nothing is due: remember when to look again. Pieces that are held from now on are due after that.
		var first time.Time
		_, first, err = n.heldBetween(ctx, schema.DueFrom(disk, now), schema.PrefixEnd(schema.DiskKey(schema.TableDue, disk)), 1)
		if err == nil && (first.IsZero() || first.After(next)) {
			first = next
		}
		n.holds.due.set(disk, first)
	}
	return out, err
}

// heldBetween lists up to limit held pieces of a range of keys, in the order of time, and returns until when the
// first of them is held; the zero time if there is none.
func (n *Pieces) heldBetween(ctx context.Context, lo, hi []byte, limit int) (out []hemera.PieceID, first time.Time, err error) {
	err = n.engine.records.Engine().Scan(ctx, lo, hi, func(k, _ []byte) bool {
		if len(out) >= min(limit, listMax) || len(k) != schema.DueKeyBytes {
			return false
		}
		if len(out) == 0 {
			first = time.UnixMilli(int64(schema.Uint64At(k, 6)))
		}
		out = append(out, schema.PieceIDOf(k))
		return true
	})
	return out, first, err
}

// Held lists pieces that the disk holds, or is to remove because their time is over, oldest first.
func (n *Pieces) Held(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error) {
	out, _, err := n.heldBetween(ctx, schema.DiskKey(schema.TableDue, disk), schema.PrefixEnd(schema.DiskKey(schema.TableDue, disk)), limit)
	if err != nil {
		return nil, errs.Wrap(err, "namespace.Held", "fs "+disk.String())
	}
	return out, n.engine.records.Settle(ctx)
}

// DiskHeld returns the exact number of pieces in Held, and of their bytes.
func (n *Pieces) DiskHeld(ctx context.Context, disk hemera.DiskID) (pieces, bytes int64, err error) {
	err = n.engine.view(ctx, func(t tx) error {
		u, err := t.pieces().usage(disk)
		pieces, bytes = u.Held, u.HeldBytes
		return err
	})
	return pieces, bytes, err
}

// IsUnlinked reports whether the disk is to remove the piece, now or later: it was there, and its removal is not
// confirmed.
func (n *Pieces) IsUnlinked(ctx context.Context, disk hemera.DiskID, p hemera.PieceID) (bool, error) {
	raw, err := n.engine.records.Engine().GetMany(ctx, [][]byte{schema.UnlinkedKey(disk, p), schema.HeldKey(disk, p)})
	if err != nil {
		return false, errs.Wrap(err, "namespace.Leaving", "fs "+disk.String())
	}
	return raw[0] != nil || raw[1] != nil, n.engine.records.Settle(ctx)
}

// Unlinked lists up to limit pieces that the disk is to remove now: unlinked ones, and held ones whose time is
// over. The list is durable, because a disk that removed a piece for a change that was lost would have lost a
// file's piece.
func (n *Pieces) Unlinked(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error) {
	var u schema.Usage
	if err := n.engine.view(ctx, func(t tx) (err error) { // nearly always there is nothing, and the cache says so
		u, err = t.pieces().usage(disk)
		return err
	}); err != nil || u.Unlinked == 0 {
		return nil, err
	}
	var out []hemera.PieceID
	var err error
	limit = min(limit, listMax)
	if u.Unlinked > u.Held { // held ones are counted as unlinked, too
		lo := schema.DiskKey(schema.TableUnlinked, disk)
		err = n.engine.records.Engine().Scan(ctx, lo, schema.PrefixEnd(lo), func(k, _ []byte) bool {
			if len(out) >= limit || len(k) != 23 {
				return false
			}
			out = append(out, schema.PieceIDOf(k))
			return true
		})
	}
	if u.Held > 0 && err == nil {
		var due []hemera.PieceID
		due, err = n.due(ctx, disk, limit-len(out))
		out = append(out, due...)
	}
	if err != nil {
		return nil, errs.Wrap(err, "namespace.Unlinked", "fs "+disk.String())
	}
	// A disk that removed a piece because of a change that was lost would have lost a file's piece.
	return out, n.engine.records.Settle(ctx)
}

// removedMax is the number of removed pieces that one batch drops.
const removedMax = 1000

// ConfirmRemoved drops pieces from the lists, held ones too, once the disk has removed them. Pieces that are on no
// list are no error.
func (n *Pieces) ConfirmRemoved(ctx context.Context, disk hemera.DiskID, pieces []hemera.PieceID) error {
	for chunk := range slices.Chunk(pieces, removedMax) {
		err := n.engine.update(ctx, func(t tx) error {
			for _, p := range chunk {
				if err := t.pieces().confirmRemoved(disk, p); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// confirmRemoved drops the records of a piece that its disk has removed.
func (t pieceTx) confirmRemoved(disk hemera.DiskID, p hemera.PieceID) error {
	if there, err := t.isUnlinked(disk, p); err != nil || !there {
		return err
	}
	h, err := t.held(disk, p)
	switch {
	case err != nil:
		return err
	case h != nil:
		return t.release(disk, p, h)
	}
	t.Remove(schema.UnlinkedKey(disk, p))
	return t.count(disk, schema.Usage{Unlinked: -1})
}
