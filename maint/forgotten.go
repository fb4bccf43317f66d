package maint

import (
	"context"
	"errors"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// forgotten deals with a piece of a change that the namespace, restored from a backup, does not know
// of. Of a newer content, or a file it never heard of, the piece is kept and counted. One of the
// content that the namespace has was moved here after the backup, and the piece it was copied from
// was removed: so the move is recorded once more.
func (a *auditor) forgotten(ctx context.Context, d hemera.Disk, f finding, t *tally) error {
	e := a.base
	if !e.mover.LockFile(f.piece.File) { // perhaps by the repair of the piece that this one replaces
		return errBusy
	}
	defer e.mover.UnlockFile(f.piece.File)
	now, _, err := e.Files.Resolve(ctx, f.piece.File)
	if err != nil && !errors.Is(err, errs.NotFound) {
		return errs.Wrap(err, "maint.Audit", "disk "+d.ID.String())
	}
	gone := err != nil
	// The namespace knows a piece that is held for readers or waits for its removal. It is asked before the disk is: a removal that ends
	// while adopt reads the piece leaves no trace in the namespace, and the piece it keeps instead would be dropped for one that is gone. No
	// removal begins while the file is held.
	leaving, err := e.Removals.IsUnlinked(ctx, d.ID, f.piece)
	if err != nil || leaving {
		return err
	}
	if gone || now.Gen != f.piece.Gen || now.Size != f.stat.FileSize {
		t.addPiece(tagNewer, d.ID, f.stat)
		return nil
	}
	drop, ok := inPlaceOf(now, f.piece, d.ID)
	// Two pieces of one file on a disk would be lost together, so it is not recorded.
	if !ok { // the disk has another piece of the file, which is enough
		t.addPiece(tagNewer, d.ID, f.stat)
		return nil
	}
	// The list may be old, and adopt drops another piece for this one.
	there, err := a.base.onDisk(ctx, d, f.piece)
	if err != nil || !there {
		return err
	}
	took, err := a.adopt(ctx, d, f, now, drop, t)
	if err == nil && !took {
		t.addPiece(tagNewer, d.ID, f.stat)
	}
	return err
}

// strayed deals with an orphan of the content that its file has: where the piece that the file should have in its place
// is gone, the orphan is that piece, moved. The namespace does not know when it lost changes in a way that it cannot
// tell. An orphan stays if that is not certain. It reports whether that was all there is to do.
func (a *auditor) strayed(ctx context.Context, d hemera.Disk, f finding, now hemera.Entry, t *tally) (bool, error) {
	drop, ok := inPlaceOf(now, f.piece, d.ID)
	if !ok || now.Size != f.stat.FileSize || len(drop) == 0 { // repair makes what a file is short of
		return false, nil
	}
	switch there, known := a.anyThere(ctx, now, drop); {
	case there:
		return false, nil
	// A disk that cannot be asked may have the piece. To keep an orphan costs room, to drop the real piece costs data.
	case !known:
		t.addPiece(tagOrphan, d.ID, f.stat)
		return true, nil
	}
	took, err := a.adopt(ctx, d, f, now, drop, t)
	if err == nil && !took {
		t.addPiece(tagOrphan, d.ID, f.stat)
	}
	return true, err
}

// inPlaceOf returns the pieces of the file that the piece is another copy of. It returns false if the disk has a piece of the
// file.
func inPlaceOf(now hemera.Entry, piece hemera.PieceID, disk hemera.DiskID) (drop []hemera.Piece, ok bool) {
	for _, p := range now.Pieces {
		if p.Disk == disk {
			return nil, false
		}
		if p.Index == piece.Index {
			drop = append(drop, p)
		}
	}
	return drop, true
}

// adopt records that a piece was moved here, in place of others, and reports whether it did, or would if it were to
// put things right. A footer does not prove a move, since what is recorded drops another piece: all of
// the piece is read first, and one that is bad takes the place only of one that is gone. The file is held.
func (a *auditor) adopt(ctx context.Context, d hemera.Disk, f finding, now hemera.Entry, drop []hemera.Piece, t *tally) (bool, error) {
	e := a.base
	if !t.repair {
		t.addPiece(tagMoved, d.ID, f.stat)
		return true, nil
	}
	piece := hemera.Piece{Index: f.piece.Index, Disk: d.ID}
	// It reads the whole piece, which may take minutes; the file is locked meanwhile.
	check := a.checker.verify(ctx, e.Cluster.View(), now, piece)
	if !check.OK {
		there, known := a.anyThere(ctx, now, drop)
		// A bad piece is better than a missing one, but only if it is certain that no other exists.
		if check.Offline || there || !known {
			e.Log.Warn("a piece is not taken for one that was moved here", "piece", f.piece.String(), "disk", d.ID, "why", check.Error)
			return false, ctx.Err()
		}
	}
	t.addPiece(tagMoved, d.ID, f.stat)
	err := e.Files.MovePieces(ctx, now.ID, now.Gen, drop, []hemera.Piece{piece})
	if errors.Is(err, errs.Conflict) { // it is being removed, or the file has changed
		return true, nil
	}
	// It is recorded with its bad pages, and the repair of pieces takes them from other replicas, if there are any.
	if err == nil && !check.OK {
		a.piecer.repairSoon(hemera.BadPiece{Disk: d.ID, Piece: f.piece})
	}
	return true, err
}

// anyThere reports whether one of a file's pieces is where it should be, and whether that is known. Of no pieces
// it is not.
func (a *auditor) anyThere(ctx context.Context, entry hemera.Entry, pieces []hemera.Piece) (there, known bool) {
	known = len(pieces) > 0
	for _, p := range pieces {
		d, ok := a.base.Cluster.View().Disk(p.Disk)
		if !ok || !d.Readable() {
			known = false
			continue
		}
		there, err := a.base.onDisk(ctx, d, hemera.PieceID{File: entry.ID, Gen: entry.Gen, Index: p.Index})
		if there {
			return true, true
		}
		known = known && err == nil
	}
	return false, known
}
