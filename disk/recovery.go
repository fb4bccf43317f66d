package disk

import (
	"errors"
	"io/fs"
	"slices"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// recovery finishes what a crash cut short, when a disk is opened and nothing else uses it. A seal renames a piece and does
// not make the rename durable, so after a power cut a sealed piece may be in the pending directory again. Recovery does
// the rename once more. It can be cut short itself, any number of times: each step leaves a state that it starts from.
type recovery struct{ disk *Disk }

// run moves sealed pieces to their place that a crash left in the pending directory. Their
// footers are valid, but only their pages say whether everything reached the device: pieces with a
// bad page stay pending, and expire.
func (r recovery) run() error {
	d := r.disk
	names, err := d.fs.ReadDir(d.pendingDir())
	if err != nil {
		return err
	}
	for _, name := range names {
		id, side, ok := parsePending(name)
		if !ok || side {
			continue
		}
		// Pieces that were never sealed have no footer: of those only the end is read.
		complete, err := r.complete(id)
		if err != nil {
			return err
		}
		if !complete {
			continue
		}
		if !r.replaces(id) {
			continue
		}
		if _, err := d.sealed.move(id, true); err != nil {
			return err
		}
		if err := d.removeSynced(id); err != nil {
			return err
		}
		d.opt.Log.Info("piece sealed before a crash is back in place", "disk", d.path, "piece", id.String())
	}
	return nil
}

// replaces reports whether a whole pending piece goes in its place: nothing is there, or a piece
// that it was to replace. One of other content was sealed later, and counts.
func (r recovery) replaces(id hemera.PieceID) bool {
	d := r.disk
	there, err := loadPiece(d, d.sealedPath(id))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errs.Corrupt)
	}
	defer there.close()
	// Both are whole. The same content means that the move was repeated, or is to be; then either may stay.
	pending, err := loadPiece(d, d.pendingPath(id))
	if err != nil {
		return false
	}
	defer pending.close()
	return there.stat.FileSize == pending.stat.FileSize && slices.Equal(there.stat.Checksums, pending.stat.Checksums)
}

// complete reports whether a pending file is a sealed piece with nothing but good pages, and makes it
// durable if so: from now on it counts.
func (r recovery) complete(id hemera.PieceID) (bool, error) {
	d := r.disk
	p, err := loadPiece(d, d.pendingPath(id))
	if err != nil {
		return false, r.skips(err, id)
	}
	defer p.close()
	bad, err := (&reader{piece: p}).Verify()
	if err != nil || len(bad) > 0 || p.stat.ID != id {
		return false, r.skips(err, id)
	}
	// The bytes that were read may be in memory only: the piece counts as sealed once they are on the device, with its
	// name.
	if err := p.file.Sync(); err != nil {
		return false, err
	}
	return true, d.fs.SyncDir(d.pendingDir())
}

// skips passes on an error unless it says nothing of the pending piece alone. A piece that the device cannot read must
// not keep the whole disk out of use.
func (r recovery) skips(err error, id hemera.PieceID) error {
	d := r.disk
	switch errs.KindOf(err) {
	case errs.Corrupt:
		return nil
	case errs.IO:
		d.opt.Log.Error("pending piece cannot be read", "disk", d.path, "piece", id.String(), "error", d.failed(err, "disk.Open", id))
		return nil
	}
	return err
}
