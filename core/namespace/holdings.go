package namespace

import (
	"context"
	"encoding/binary"
	"slices"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
)

// indexShort keeps the index of incomplete files; old is what e replaces, nil if it is new.
func (t *tx) indexShort(old, e *hemera.Entry) {
	switch {
	case schema.Incomplete(e):
		t.mark(schema.IDKey(schema.TableIncomplete, e.ID))
	case old != nil && schema.Incomplete(old):
		t.remove(schema.IDKey(schema.TableIncomplete, e.ID))
	}
}

// addPieces counts the pieces of e to their disks.
func (t *tx) addPieces(e *hemera.Entry, pieces []hemera.Piece) error {
	for _, p := range pieces {
		t.key = schema.AppendPieceKey(t.key[:0], p.Disk, e.ID, p.Index)
		t.mark(t.key)
		if err := t.use(p.Disk, schema.Usage{Pieces: 1, Bytes: schema.PieceBytes(e, p.Index)}); err != nil {
			return err
		}
	}
	return nil
}

// dropPieces takes the pieces of e from their disks' counts and has the disks remove them.
func (t *tx) dropPieces(e *hemera.Entry, pieces []hemera.Piece) error {
	for _, p := range pieces {
		t.remove(schema.PieceKey(p.Disk, e.ID, p.Index))
		t.mark(schema.UnlinkedKey(p.Disk, hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}))
		if err := t.use(p.Disk, schema.Usage{Pieces: -1, Bytes: -schema.PieceBytes(e, p.Index), Unlinked: 1}); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) use(disk hemera.DiskID, add schema.Usage) error {
	u, err := t.usage(disk)
	if err != nil {
		return err
	}
	sum := u.Add(add)
	t.key = schema.AppendDiskKey(t.key[:0], schema.TableUsage, disk)
	t.total(t.key, &sum)
	t.unlinked += add.Unlinked
	t.held.pieces += add.Held
	t.held.bytes += add.HeldBytes
	return nil
}

func (t *tx) usage(disk hemera.DiskID) (schema.Usage, error) {
	t.key = schema.AppendDiskKey(t.key[:0], schema.TableUsage, disk)
	u, err := fetch(t, t.key, schema.DecodeUsage)
	if err != nil || u == nil {
		return schema.Usage{}, err
	}
	return *u, nil
}

// MovePieces implements PieceIndex.
func (n *Namespace) MovePieces(ctx context.Context, id hemera.FileID, gen hemera.Generation, drop, add []hemera.Piece) error {
	subject := "fid:" + id.String()
	return n.update(ctx, func(t *tx) error {
		now, err := t.byID(id)
		if err != nil {
			return err
		}
		if now == nil || now.Kind != hemera.KindFile || now.Gen != gen {
			return refuse(errs.Conflict, "MovePieces", subject, "generation %d is not current any more", gen)
		}
		e := *now
		if e.Pieces, err = moved(subject, now, drop, add); err != nil {
			return err
		}
		delta := hemera.TreeTotals{Physical: schema.Physical(&e) - schema.Physical(now)}
		parent, err := t.byID(e.Parent)
		if err != nil {
			return err
		}
		dirs, path, err := t.above(parent)
		if err != nil {
			return err
		}
		if err := t.adjust(dirs, delta); err != nil {
			return err
		}
		if err := t.charge(dirs, now, &e); err != nil {
			return err
		}
		if err := t.dropPieces(now, drop); err != nil {
			return err
		}
		if err := t.addPieces(&e, add); err != nil {
			return err
		}
		for _, p := range add { // the disk may be removing it at this moment
			leaving, err := t.isUnlinked(p.Disk, hemera.PieceID{File: id, Gen: gen, Index: p.Index})
			if err != nil {
				return err
			}
			if leaving {
				return refuse(errs.Conflict, "MovePieces", subject, "disk %d is still to remove piece %d", p.Disk, p.Index)
			}
		}
		t.putEntry(&e)
		t.indexShort(now, &e)
		t.event(hemera.Event{Kind: hemera.EventPieces, File: id, Path: path + "/" + e.Name, Bytes: e.Size})
		return nil
	})
}

// moved is the file's pieces without drop and with add. Conflict when a piece to drop is not there,
// when one to add is, or when too few would be left to read the file: whoever decided on both of two
// pieces at once saw each beside the other.
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
		if p.Disk == 0 || p.Index >= e.Layout.Pieces || slices.ContainsFunc(out, func(o hemera.Piece) bool { return o.Index == p.Index }) {
			return nil, refuse(errs.Conflict, "MovePieces", subject, "piece %d is there already, or not of layout %s", p.Index, e.Layout)
		}
		out = append(out, p)
	}
	if needed := min(len(e.Pieces), max(1, int(e.Layout.Data))); len(out) < needed {
		return nil, refuse(errs.Conflict, "MovePieces", subject, "%d pieces would be left, the file needs %d", len(out), needed)
	}
	slices.SortFunc(out, func(a, b hemera.Piece) int { return int(a.Index) - int(b.Index) })
	return out, nil
}

// isUnlinked reports whether the disk is to remove the piece, now or later.
func (t *tx) isUnlinked(disk hemera.DiskID, p hemera.PieceID) (bool, error) {
	var ask [][]byte
	for _, k := range [...][]byte{schema.UnlinkedKey(disk, p), schema.HeldKey(disk, p)} {
		value, ok := t.changed(k, t.n.cache.hash(k))
		if ok && value != nil {
			return true, nil
		}
		if !ok {
			ask = append(ask, k)
		}
	}
	if u, err := t.usage(disk); err != nil || u.Unlinked == 0 || len(ask) == 0 {
		return false, err
	}
	raw, err := t.n.store.GetMany(t.ctx, ask)
	if err != nil {
		return false, errs.Wrap(err, "namespace", "")
	}
	return slices.ContainsFunc(raw, func(v []byte) bool { return v != nil }), nil
}

// DiskFiles implements PieceIndex.
func (n *Namespace) DiskFiles(ctx context.Context, disk hemera.DiskID, from hemera.FileID, limit int) ([]hemera.Entry, error) {
	x := index{prefix: schema.DiskKey(schema.TablePiece, disk), holds: func(e *hemera.Entry) bool {
		return slices.ContainsFunc(e.Pieces, func(p hemera.Piece) bool { return p.Disk == disk })
	}}
	return n.indexed(ctx, x, from, limit)
}

// Incomplete implements PieceIndex.
func (n *Namespace) Incomplete(ctx context.Context, from hemera.FileID, limit int) ([]hemera.Entry, error) {
	return n.indexed(ctx, index{prefix: schema.TableKey(schema.TableIncomplete), holds: schema.Incomplete}, from, limit)
}

// index is a list of files: keys of a prefix and an id, and what is true of an entry in it.
type index struct {
	prefix []byte
	holds  func(*hemera.Entry) bool
}

// listMax is the most entries one call lists, so that no caller can make it hold much.
const listMax = 10_000

// indexed gives the entries an index names, by id. Entries that left the index meanwhile are
// skipped, but never so many that the answer is empty while more follow.
func (n *Namespace) indexed(ctx context.Context, x index, from hemera.FileID, limit int) ([]hemera.Entry, error) {
	limit = min(limit, listMax)
	for {
		var ids []hemera.FileID
		lo := binary.BigEndian.AppendUint64(slices.Clone(x.prefix), uint64(from)+1)
		err := n.store.Scan(ctx, lo, schema.PrefixEnd(x.prefix), func(k, _ []byte) bool {
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

func (n *Namespace) pick(ctx context.Context, ids []hemera.FileID, holds func(*hemera.Entry) bool) ([]hemera.Entry, error) {
	var out []hemera.Entry
	for _, id := range ids {
		var e *hemera.Entry
		if _, err := n.look(ctx, func(t *tx) (err error) {
			e, err = t.byID(id)
			return err
		}); err != nil {
			return nil, err
		}
		if e != nil && holds(e) {
			out = append(out, *e)
		}
	}
	return out, n.outside(ctx)
}

// DiskUsage implements PieceIndex.
func (n *Namespace) DiskUsage(ctx context.Context, disk hemera.DiskID) (pieces, bytes int64, err error) {
	err = n.view(ctx, func(t *tx) error {
		u, err := t.usage(disk)
		pieces, bytes = u.Pieces, u.Bytes
		return err
	})
	return pieces, bytes, err
}

// Unlinked implements PieceIndex.
func (n *Namespace) Unlinked(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error) {
	var u schema.Usage
	if err := n.view(ctx, func(t *tx) (err error) { // nearly always there is nothing, and the cache says so
		u, err = t.usage(disk)
		return err
	}); err != nil || u.Unlinked == 0 {
		return nil, err
	}
	var out []hemera.PieceID
	var err error
	limit = min(limit, listMax)
	if u.Unlinked > u.Held {
		lo := schema.DiskKey(schema.TableUnlinked, disk)
		err = n.store.Scan(ctx, lo, schema.PrefixEnd(lo), func(k, _ []byte) bool {
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
	return out, n.outside(ctx)
}

// forgetMax is how many pieces one batch forgets.
const forgetMax = 1000

// ConfirmRemoved implements PieceIndex. Pieces that are not on the list are no error.
func (n *Namespace) ConfirmRemoved(ctx context.Context, disk hemera.DiskID, pieces []hemera.PieceID) error {
	for chunk := range slices.Chunk(pieces, forgetMax) {
		err := n.update(ctx, func(t *tx) error {
			for _, p := range chunk {
				if err := t.forget(disk, p); err != nil {
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

func (t *tx) forget(disk hemera.DiskID, p hemera.PieceID) error {
	if there, err := t.isUnlinked(disk, p); err != nil || !there {
		return err
	}
	h, err := t.heldRecord(disk, p)
	switch {
	case err != nil:
		return err
	case h != nil:
		return t.letGo(disk, p, h)
	}
	t.remove(schema.UnlinkedKey(disk, p))
	return t.use(disk, schema.Usage{Unlinked: -1})
}
