package namespace

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A piece is in one of these states. Each is a record by disk, so that a disk's worth of work is one range of
// keys:
//
//	 current    in its file's entry, and in the list of its disk (schema.TablePiece)
//	 unlinked   to be removed now (schema.TableUnlinked)
//	 held       to be removed when its time is over (schema.TableHeld, and in order of time schema.TableDue)
//	 gone       no record: its removal was confirmed
//
// A move makes pieces unlinked; replaced and removed content is held first. Counts by disk (schema.TableUsage)
// change in the same batch. So do the sums over all disks, which are counters of the store.

// Pieces is the index of pieces: what each disk holds, and what it is to remove.
type Pieces struct {
	engine *engine
	holds  *holds
}

// pieceTx is the index of pieces within one transaction.
type pieceTx tx

// indexIncomplete keeps the index of incomplete files, which repair reads. old is what e replaces, nil if e is
// new.
func (t pieceTx) indexIncomplete(old, e *hemera.Entry) {
	switch {
	case schema.Incomplete(e):
		t.Mark(schema.IDKey(schema.TableIncomplete, e.ID))
	case old != nil && schema.Incomplete(old):
		t.Remove(schema.IDKey(schema.TableIncomplete, e.ID))
	}
}

// add puts pieces of e into the lists of their disks, and counts them.
func (t pieceTx) add(e *hemera.Entry, pieces []hemera.Piece) error {
	for _, p := range pieces {
		t.Key = schema.AppendPieceKey(t.Key[:0], p.Disk, e.ID, p.Index)
		t.Mark(t.Key)
		if err := t.count(p.Disk, schema.Usage{Pieces: 1, Bytes: schema.PieceBytes(e, p.Index)}); err != nil {
			return err
		}
	}
	return nil
}

// drop subtracts the pieces of e from the counts of their disks, which are to remove them now.
func (t pieceTx) drop(e *hemera.Entry, pieces []hemera.Piece) error {
	for _, p := range pieces {
		t.Remove(schema.PieceKey(p.Disk, e.ID, p.Index))
		t.Mark(schema.UnlinkedKey(p.Disk, hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}))
		if err := t.count(p.Disk, schema.Usage{Pieces: -1, Bytes: -schema.PieceBytes(e, p.Index), Unlinked: 1}); err != nil {
			return err
		}
	}
	return nil
}

// count adds to what is counted of a disk.
func (t pieceTx) count(disk hemera.DiskID, add schema.Usage) error {
	u, err := t.usage(disk)
	if err != nil {
		return err
	}
	sum := u.Add(add)
	t.Key = schema.AppendDiskKey(t.Key[:0], schema.TableUsage, disk)
	t.SetTotal(t.Key, &sum, schema.TotalMax)
	t.Count(tables.Unlinked, add.Unlinked)
	t.Count(tables.HeldPieces, add.Held)
	t.Count(tables.HeldBytes, add.HeldBytes)
	return nil
}

// usage returns what is counted of a disk.
func (t pieceTx) usage(disk hemera.DiskID) (schema.Usage, error) {
	t.Key = schema.AppendDiskKey(t.Key[:0], schema.TableUsage, disk)
	u, err := record.Get(t.Txn.Txn, t.Key, schema.DecodeUsage)
	if err != nil || u == nil {
		return schema.Usage{}, err
	}
	return *u, nil
}

// PieceMove is a change of the disks of a file's generation.
type PieceMove struct {
	File      hemera.FileID
	Gen       hemera.Generation
	Drop, Add []hemera.Piece
	DiskSet   uint64 // as in [Commit]
}

// MovePieces changes the disks of a file's current generation in one batch: Drop leaves, Add comes. Dropped pieces
// are to be removed at once: the content has others. Conflict if gen is not current any more, if a piece is not
// where Drop says, if too few would be left to read the file, if it is on tape only, or if a disk is still to remove
// the piece that it gets.
func (n *Pieces) MovePieces(ctx context.Context, m PieceMove) error {
	subject := "fid:" + m.File.String()
	return n.engine.update(ctx, func(t tx) error {
		if err := t.checkDiskSet(m.DiskSet); err != nil {
			return err
		}
		now, err := t.ByID(m.File)
		if err != nil {
			return err
		}
		if now == nil || now.Kind != hemera.KindFile || now.Gen != m.Gen {
			return refuse(errs.Conflict, "MovePieces", subject, "generation %d is not current any more", m.Gen)
		}
		// A copy that was under way when the file was evicted: what it made is one of too few pieces, and the content is on tape.
		if now.Evicted() {
			return refuse(errs.Conflict, "MovePieces", subject, "its disk copies were evicted meanwhile")
		}
		e := *now
		if e.Pieces, err = moved(subject, now, m.Drop, m.Add); err != nil {
			return err
		}
		// The content is the same, so only physical bytes change above.
		delta := hemera.TreeTotals{Physical: schema.Physical(&e) - schema.Physical(now)}
		parent, err := t.Parent(&e)
		if err != nil {
			return err
		}
		dirs, path, err := t.Above(parent)
		if err != nil {
			return err
		}
		if err := t.Adjust(dirs, delta); err != nil {
			return err
		}
		if err := t.ledger().Charge(dirs, now, &e); err != nil {
			return err
		}
		if err := t.pieces().drop(now, m.Drop); err != nil {
			return err
		}
		if err := t.pieces().add(&e, m.Add); err != nil {
			return err
		}
		// After drop: a piece that moves back to a disk before its removal was confirmed must wait.
		for _, p := range m.Add { // the disk may be removing it at this moment
			leaving, err := t.pieces().isUnlinked(p.Disk, hemera.PieceID{File: m.File, Gen: m.Gen, Index: p.Index})
			if err != nil {
				return err
			}
			if leaving {
				return refuse(errs.Conflict, "MovePieces", subject, "disk %d is still to remove piece %d", p.Disk, p.Index)
			}
		}
		t.PutEntry(&e)
		t.pieces().indexIncomplete(now, &e)
		t.Event(hemera.Event{Kind: hemera.EventPieces, File: m.File, Path: path + "/" + e.Name, Bytes: e.Size})
		return nil
	})
}

// moved returns the file's pieces without drop and with add. Conflict when a piece to drop is missing, when one to
// add exists, or when too few would be left to read the file: two decisions made at once may each count on the
// piece that the other drops.
func moved(subject string, e *hemera.Entry, drop, add []hemera.Piece) ([]hemera.Piece, error) {
	out := slices.Clone(e.Pieces)
	for _, p := range drop {
		i := slices.Index(out, p)
		if i < 0 {
			return nil, refuse(errs.Conflict, "MovePieces", subject, "piece %d is not on disk %d any more", p.Index, p.Disk)
		}
		out = slices.Delete(out, i, i+1)
	}
	for _, p := range add {
		if p.Disk == 0 || !fits(e.Layout, e.Size, p.Index) || slices.ContainsFunc(out, func(o hemera.Piece) bool { return o.Index == p.Index }) {
			return nil, refuse(errs.Conflict, "MovePieces", subject, "piece %d is there already, or not of layout %s", p.Index, e.Layout)
		}
		out = append(out, p)
	}
	if readable(e, e.Pieces) && !readable(e, out) {
		return nil, refuse(errs.Conflict, "MovePieces", subject, "%d pieces would be left, the file needs %d", len(out), layout.Needed(e.Layout, e.Size))
	}
	slices.SortFunc(out, func(a, b hemera.Piece) int { return int(a.Index) - int(b.Index) })
	return out, nil
}

// fits reports whether a file of size bytes can have a piece with the index. Of a coded file that is one with bytes.
func fits(l hemera.Layout, size int64, index uint8) bool {
	return index < l.Pieces && (!l.Coded() || layout.Stored(l, size, index))
}

// readable reports whether the file can be read from the pieces.
func readable(e *hemera.Entry, pieces []hemera.Piece) bool {
	return layout.Readable(e.Layout, e.Size, layout.Indexes(pieces))
}

// isUnlinked reports whether the disk is to remove the piece, now or later.
func (t pieceTx) isUnlinked(disk hemera.DiskID, p hemera.PieceID) (bool, error) {
	if u, err := t.usage(disk); err != nil || u.Unlinked == 0 {
		return false, err
	}
	return t.Exists(schema.UnlinkedKey(disk, p), schema.HeldKey(disk, p))
}

// DiskFiles lists up to limit files with a piece on the disk, by id after the given one. An empty list is the end.
func (n *Pieces) DiskFiles(ctx context.Context, disk hemera.DiskID, from hemera.FileID, limit int) ([]hemera.Entry, error) {
	x := index{prefix: schema.DiskKey(schema.TablePiece, disk), holds: func(e *hemera.Entry) bool {
		return slices.ContainsFunc(e.Pieces, func(p hemera.Piece) bool { return p.Disk == disk })
	}}
	return n.indexed(ctx, x, from, limit)
}

// Incomplete lists up to limit files with fewer pieces than their layout, by id after the given one. An empty list
// is the end.
func (n *Pieces) Incomplete(ctx context.Context, from hemera.FileID, limit int) ([]hemera.Entry, error) {
	return n.indexed(ctx, index{prefix: schema.TableKey(schema.TableIncomplete), holds: schema.Incomplete}, from, limit)
}

// index is a list of files: keys of a prefix and an id, and what is true of an entry in it.
type index struct {
	prefix []byte                   // of its keys; an id follows
	holds  func(*hemera.Entry) bool // what is true of an entry in it
}

// listMax is the most entries that one call lists, so that no caller can make it hold much.
const listMax = 10_000

// indexed returns the entries that an index names, by id. The index and the entries are read one after the other:
// entries that left the index meanwhile are skipped, but the answer is not empty while more follow.
func (n *Pieces) indexed(ctx context.Context, x index, from hemera.FileID, limit int) ([]hemera.Entry, error) {
	limit = min(limit, listMax)
	for {
		var ids []hemera.FileID // each once: a file may have several pieces on a disk
		lo := binary.BigEndian.AppendUint64(slices.Clone(x.prefix), uint64(from)+1)
		err := n.engine.records.Engine().Scan(ctx, lo, schema.PrefixEnd(x.prefix), func(k, _ []byte) bool {
			id := hemera.FileID(schema.Uint64At(k, len(x.prefix)))
			if len(ids) > 0 && ids[len(ids)-1] == id {
				return true
			}
			if len(ids) >= limit {
				return false
			}
			ids = append(ids, id)
			return true
		})
		if err != nil {
			return nil, errs.Wrap(err, "namespace.List", "")
		}
		out, err := n.pick(ctx, ids, x.holds)
		if err != nil || len(out) > 0 || len(ids) == 0 {
			return out, err
		}
		from = ids[len(ids)-1]
	}
}

// pick returns the entries with the ids for which holds is true, when all of them are durable.
func (n *Pieces) pick(ctx context.Context, ids []hemera.FileID, holds func(*hemera.Entry) bool) ([]hemera.Entry, error) {
	var out []hemera.Entry
	for _, id := range ids {
		var e *hemera.Entry
		if _, err := n.engine.look(ctx, func(t tx) (err error) {
			e, err = t.ByID(id)
			return err
		}); err != nil {
			return nil, err
		}
		if e != nil && holds(e) {
			out = append(out, *e)
		}
	}
	return out, n.engine.records.Settle(ctx)
}

// DiskUsage returns the exact number of pieces and bytes that the namespace has on a disk.
func (n *Pieces) DiskUsage(ctx context.Context, disk hemera.DiskID) (pieces, bytes int64, err error) {
	err = n.engine.view(ctx, func(t tx) error {
		u, err := t.pieces().usage(disk)
		pieces, bytes = u.Pieces, u.Bytes
		return err
	})
	return pieces, bytes, err
}

// pieces returns the index of pieces in the same transaction.
func (t tx) pieces() pieceTx { return pieceTx(t) }

// SetHold sets how long replaced and removed content is held from now on, as Options.Hold does at the start. Content that
// is held already is held no longer than that from now.
func (n *Pieces) SetHold(hold time.Duration) { n.holds.set(hold) }
