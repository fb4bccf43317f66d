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
// was removed: so the move is recorded once more.
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
	t.addPiece(tagMoved, d.ID, f.stat)
	if !t.repair {
		return nil
	}
	err = e.Files.MovePieces(ctx, now.ID, now.Gen, drop, []hemera.Piece{{Index: f.piece.Index, Disk: d.ID}})
	if errors.Is(err, errs.Conflict) { // it is being removed, or the file has changed
		return nil
	}
	return err
}
