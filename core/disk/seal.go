package disk

import (
	"errors"

	"hemera"
	"hemera/errs"
)

// tailBuffer is how much of the table is written at once.
const tailBuffer = 1 << 20

// Seal writes checksums and footer, makes the piece durable if asked to, and moves it to its place.
func (w *writer) Seal(s hemera.SealInfo) (hemera.PieceStat, error) {
	const op = "disk.Seal"
	w.io.begin()
	defer w.io.end()
	// Alone: no write is under way, and none begins.
	var stat hemera.PieceStat
	err := w.usable(op)
	if err == nil {
		stat, err = w.writeTail(s)
	}
	return w.finish(op, stat, s.Sync, err)
}

// finish makes a piece durable, if asked to, whose file was written, and moves it to its place; one that
// could not be written, for the reason err, is removed. It is called with io held alone.
func (w *writer) finish(op string, stat hemera.PieceStat, sync bool, err error) (hemera.PieceStat, error) {
	if err == nil && sync {
		err = w.sync()
	}
	if w.done { // it was sealed or aborted before: there is nothing to remove
		return hemera.PieceStat{}, err
	}
	if err != nil {
		_ = w.close(func() error { return w.disk.removePending(w.id) })
		return hemera.PieceStat{}, w.disk.failed(err, op, w.id)
	}
	moved, replaced := false, false // in its place; another went for it
	err = w.close(func() error {
		// A sealed piece may have come to the place since the writer began: only with Replace does it go.
		var err error
		if replaced, err = w.disk.sealed.move(w.id, w.opt.Replace); err != nil {
			return errors.Join(err, w.disk.removePending(w.id))
		}
		moved = true
		return nil
	})
	// close found that the piece is another's by now, and left everything alone.
	if err == nil && !moved {
		err = errs.New(errs.Conflict, op, w.id.String(), "the piece was removed or started over meanwhile")
	}
	if moved && replaced && sync {
		// After a power cut that undid the move, recovery would keep the piece that was there, if its footer differs.
		err = errors.Join(err, w.disk.fs.SyncDir(w.disk.sealedDir(w.id.File)))
	}
	if moved && w.opt.Replace { // Readers that have the old piece open keep it
		w.disk.open.forget(w.id) // what had the name before
		w.disk.bad.replaced(w.id)
	}
	if err != nil {
		if moved && !w.opt.Replace { // its caller will hear that there is no piece
			_ = w.disk.Remove(w.id)
		}
		return hemera.PieceStat{}, w.disk.failed(err, op, w.id)
	}
	return stat, nil
}

// stat is what the footer says.
func (w *writer) stat(size int64, s hemera.SealInfo) hemera.PieceStat {
	return hemera.PieceStat{
		ID: w.id, Size: size, FileSize: s.FileSize, Layout: w.opt.Layout,
		Checksums: s.Checksums, Path: w.opt.Path, Sealed: w.disk.opt.Now(),
	}
}

// writeTail writes the table and the footer after the data, tailBuffer at a time: the table of a large piece is not in
// memory as a whole.
func (w *writer) writeTail(s hemera.SealInfo) (hemera.PieceStat, error) {
	size := w.table.size
	stat := w.stat(size, s)
	off := tableOff(size)
	// For a small piece this is all of the tail, and one write.
	tail := make([]byte, 0, min(tailBuffer, footerOff(size)-off)+footerRoom(stat))
	// Sums of dirty pages are taken from the data here, at the latest.
	src := (*pendingSource)(w)
	for i := range blocks(size) {
		if w.table.absent(i) {
			tail = appendZeroBlock(tail, blockLen(size, i)) // a page that is not whole makes a block
		} else {
			var sums [blockSums]uint32
			n := blockLen(size, i)
			if err := src.pageSums(i*blockSums, sums[:n]); err != nil {
				return stat, err
			}
			tail = appendBlock(tail, sums[:n])
		}
		if len(tail) >= tailBuffer {
			if err := w.writeAt(tail, off); err != nil {
				return stat, err
			}
			off, tail = off+int64(len(tail)), tail[:0]
		}
	}
	tail, err := appendFooter(tail, stat)
	if err != nil {
		return stat, errs.As(err, errs.Invalid, "disk.Seal", w.id.String())
	}
	if err := w.writeAt(tail, off); err != nil {
		return stat, err
	}
	if w.opt.SizeHint > size && !w.opt.Sparse { // give back what was reserved and not used
		err = w.file.Truncate(off + int64(len(tail)))
	}
	return stat, err
}

// writeAt writes to the file, beyond the data.
func (w *writer) writeAt(p []byte, off int64) error {
	start := w.disk.gauge.start()
	_, err := w.file.WriteAt(p, off)
	w.disk.gauge.wrote(start, len(p))
	return err
}
