package namespace

import (
	"context"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A sealed piece that no file has may belong to a write whose head has died, or only stands still: a process
// that is stopped, or a machine. Nobody can tell how long that lasts, so an audit removes the piece after a
// while, and bars the write: if the head goes on, it must not commit content whose pieces are gone.

// ClaimOrphan reports whether a piece on a disk belongs to no file, and makes sure that it never will: from then on,
// for as long as the manager takes commits of such a write, it is refused. The caller removes the piece then.
// Overloaded when too many writes are barred.
func (n *Writes) ClaimOrphan(ctx context.Context, disk hemera.DiskID, p hemera.PieceID) (orphan bool, err error) {
	if err := expire(ctx, n.engine, schema.TableBarred, &n.ended.barred); err != nil {
		return false, err
	}
	// Of a write that began so long ago no commit is taken, so it needs no record.
	possible := !n.ended.barred.over(schema.WriteNumber(p), n.engine.clock())
	if possible && n.ended.barred.full() {
		return false, refuse(errs.Overloaded, "ClaimOrphan", p.String(), "%d writes are barred", expiringMax)
	}
	n.ended.refused.Add(1) // before the record is made, so that no commit after it skips the look
	barred := false
	err = n.engine.update(ctx, func(t tx) (err error) {
		orphan, barred, err = t.writes().claimOrphan(disk, p, possible)
		return err
	})
	if err == nil && barred {
		n.ended.barred.add(1)
	}
	return orphan && err == nil, err
}

// claimOrphan bars the write of a piece that no file has, if it could still be committed. A generation that is
// committed is not barred: the piece was left by a move. A write that began long ago need not be: possible is false.
func (t writeTx) claimOrphan(disk hemera.DiskID, p hemera.PieceID, possible bool) (orphan, barred bool, err error) {
	now, err := t.ByID(p.File)
	if err != nil {
		return false, false, err
	}
	if now != nil && now.Gen == p.Gen {
		for _, has := range now.Pieces {
			if has.Disk == disk && has.Index == p.Index {
				return false, false, nil
			}
		}
	}
	// What the disk is to remove anyway is no orphan: it had a file, and its removal is being counted.
	unlinked, err := pieceTx(t).isUnlinked(disk, p)
	switch {
	case err != nil || unlinked:
		return false, false, err
	case !possible, now != nil && now.Gen >= p.Gen, now == nil && p.Gen != 1:
		return true, false, nil // it is committed, or never will be
	}
	number := schema.WriteNumber(p)
	if over, err := t.isBarred(number); err != nil || over {
		return err == nil, false, err
	}
	t.notNew(number)
	t.Set(schema.IDKey(schema.TableBarred, number), record.Opaque{}, schema.EncodeBarred(t.Now().Add(writeLifetime), p.File))
	return true, true, nil
}

// Barred reports whether the commit would be refused for good: it was before, or an audit has removed pieces of the
// write; see [Writes.ClaimOrphan].
func (n *Writes) Barred(ctx context.Context, c Commit) (bool, error) {
	raw, err := n.engine.records.Engine().GetMany(ctx, [][]byte{schema.IDKey(schema.TableBarred, c.number()), schema.IDKey(schema.TableTombstone, c.number())})
	if err != nil {
		return false, errs.Wrap(err, "namespace.Barred", c.Name)
	}
	return raw[0] != nil || raw[1] != nil, n.engine.records.Settle(ctx)
}
