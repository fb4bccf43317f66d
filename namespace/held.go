package namespace

import (
	"context"
	"sync"
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

// dueTimes remembers, by disk, until when no held piece can be due, because disks ask often. It is a hint in
// memory: a disk that is not in it is looked up.
type dueTimes struct {
	mu   sync.Mutex
	next map[hemera.DiskID]time.Time // nothing is due before
}

// passed reports whether a piece of the disk may be due. A hint further away than the hold is from a longer one.
func (d *dueTimes) passed(disk hemera.DiskID, now time.Time, hold time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := d.next[disk]
	return !now.Before(next) || next.After(now.Add(hold))
}

// set says that no piece of the disk is due before next.
func (d *dueTimes) set(disk hemera.DiskID, next time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.next == nil {
		d.next = map[hemera.DiskID]time.Time{}
	}
	d.next[disk] = next
}

// replace subtracts all pieces of e, whose content is replaced or removed, from the counts of their disks and
// holds them. Without a hold time they are to be removed at once.
func (t pieceTx) replace(e *hemera.Entry) error {
	hold := time.Duration(t.base.hold.Load())
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
func (n Pieces) due(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error) {
	now := n.clock()
	// Callers ask for every disk often, and nearly always nothing is due: the hint saves reading an empty range.
	hold := time.Duration(n.hold.Load())
	if limit <= 0 || !n.dueTimes.passed(disk, now, hold) {
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
		n.dueTimes.set(disk, first)
	}
	return out, err
}

// heldBetween lists up to limit held pieces of a range of keys, in the order of time, and returns until when the
// first of them is held; the zero time if there is none.
func (n Pieces) heldBetween(ctx context.Context, lo, hi []byte, limit int) (out []hemera.PieceID, first time.Time, err error) {
	err = n.records.Engine().Scan(ctx, lo, hi, func(k, _ []byte) bool {
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
func (n Pieces) Held(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error) {
	out, _, err := n.heldBetween(ctx, schema.DiskKey(schema.TableDue, disk), schema.PrefixEnd(schema.DiskKey(schema.TableDue, disk)), limit)
	if err != nil {
		return nil, errs.Wrap(err, "namespace.Held", "fs "+disk.String())
	}
	return out, n.records.Settle(ctx)
}

// DiskHeld returns the exact number of pieces in Held, and of their bytes.
func (n Pieces) DiskHeld(ctx context.Context, disk hemera.DiskID) (pieces, bytes int64, err error) {
	err = n.view(ctx, func(t tx) error {
		u, err := t.pieces().usage(disk)
		pieces, bytes = u.Held, u.HeldBytes
		return err
	})
	return pieces, bytes, err
}

// IsUnlinked reports whether the disk is to remove the piece, now or later: it was there, and its removal is not
// confirmed.
func (n Pieces) IsUnlinked(ctx context.Context, disk hemera.DiskID, p hemera.PieceID) (bool, error) {
	raw, err := n.records.Engine().GetMany(ctx, [][]byte{schema.UnlinkedKey(disk, p), schema.HeldKey(disk, p)})
	if err != nil {
		return false, errs.Wrap(err, "namespace.Leaving", "fs "+disk.String())
	}
	return raw[0] != nil || raw[1] != nil, n.records.Settle(ctx)
}
