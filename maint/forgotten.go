package maint

import (
	"context"
	"errors"

	"hemera"
	"hemera/errs"
)

// forgotten deals with a piece of a change that the namespace, restored from a backup, does not know
// of. Of a newer content, or a file it never heard of, the piece is kept and counted. One of the
// content that the namespace has was moved here after the backup, and the piece it was copied from
// was removed: so the move is recorded once more. A footer does not prove a move, since what is recorded
// drops another piece: all of the piece is read first, and one that is bad takes the place only of one that is gone.
func (a *auditor) forgotten(ctx context.Context, d hemera.Disk, f finding, t *tally) error {
	e := a.engine
	if !e.gate.hold(f.piece.File) {
		return nil
	}
	defer e.gate.release(f.piece.File)
	now, _, err := e.Files.Resolve(ctx, f.piece.File)
	if err != nil && !errors.Is(err, errs.NotFound) {
		return errs.Wrap(err, "maint.audit", "disk "+d.ID.String())
	}
	if err != nil || now.Gen != f.piece.Gen || now.Size != f.stat.FileSize {
		t.addPiece(tagNewer, d.ID, f.stat)
		return nil
	}
	var drop []hemera.Piece
	for _, p := range now.Pieces {
		if p.Disk == d.ID {
			t.addPiece(tagNewer, d.ID, f.stat) // the disk has another piece of the file, which is enough
			return nil
		}
		if p.Index == f.piece.Index {
			drop = append(drop, p)
		}
	}
	there, err := a.onDisk(ctx, d, f.piece)
	if err != nil || !there {
		return err
	}
	if !t.repair {
		t.addPiece(tagMoved, d.ID, f.stat)
		return nil
	}
	piece := hemera.Piece{Index: f.piece.Index, Disk: d.ID}
	check := e.verify(ctx, e.Cluster.View(), now, piece)
	if !check.OK && (check.Offline || !a.gone(ctx, now, drop)) {
		e.Log.Warn("a piece is not taken for one that was moved after the backup", "piece", f.piece.String(), "disk", d.ID, "why", check.Error)
		t.addPiece(tagNewer, d.ID, f.stat)
		return ctx.Err()
	}
	t.addPiece(tagMoved, d.ID, f.stat)
	err = e.Files.MovePieces(ctx, now.ID, now.Gen, drop, []hemera.Piece{piece})
	if errors.Is(err, errs.Conflict) { // it is being removed, or the file has changed
		return nil
	}
	if err == nil && !check.OK {
		e.Heal(hemera.BadPiece{Disk: d.ID, Piece: f.piece})
	}
	return err
}

// gone reports whether there are pieces that a file should have, and all of them are known not to be there.
func (a *auditor) gone(ctx context.Context, entry hemera.Entry, pieces []hemera.Piece) bool {
	for _, p := range pieces {
		d, ok := a.engine.Cluster.View().Disk(p.Disk)
		if !ok || !d.Readable() {
			return false
		}
		there, err := a.onDisk(ctx, d, hemera.PieceID{File: entry.ID, Gen: entry.Gen, Index: p.Index})
		if err != nil || there {
			return false
		}
	}
	return len(pieces) > 0
}
