package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// scanFaults bounds the pieces that one Scan leaves out because the device cannot read their end. A Scan with more fails:
// it would say nothing of what is there.
const scanFaults = 8

// Scan lists sealed pieces. Those whose footer or table of checksums is bad are left out: to the cluster
// they are missing. It reads the end of every piece that it lists, and directories that are not asked for not at all.
func (d *Disk) Scan(after hemera.PieceID, limit int) ([]hemera.PieceStat, error) {
	const op = "disk.Scan"
	dirs, err := d.pieceDirs()
	if err != nil {
		return nil, d.failed(err, op, after)
	}
	var found []hemera.PieceStat
	faults := 0 // ends that the device could not read
	for _, dir := range dirs {
		if dir < uint64(after.File)/perDirectory || len(found) >= limit {
			continue
		}
		ids, err := d.piecesIn(dir)
		if err != nil {
			return nil, d.failed(err, op, after)
		}
		for _, id := range ids {
			if len(found) >= limit {
				break
			}
			if comparePieces(id, after) <= 0 { // it was listed before
				continue
			}
			stat, ok, err := d.stat(op, id)
			if faults++; err != nil && (errs.KindOf(err) != errs.IO || faults > scanFaults) {
				return nil, err
			} else if err != nil {
				d.opt.Log.Warn("the end of a piece cannot be read", "disk", d.path, "piece", id.String(), "error", err)
				continue
			}
			faults--
			if ok {
				found = append(found, stat)
			}
		}
	}
	return found, nil
}

// stat reads a piece's footer and table; not ok if they are not valid.
func (d *Disk) stat(op string, id hemera.PieceID) (stat hemera.PieceStat, ok bool, err error) {
	p, err := d.acquire(id)
	if err == nil {
		err = p.checkTable()
		d.release(p)
	}
	switch {
	case err == nil:
		return p.stat, true, nil
	case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		return stat, false, nil
	case errors.Is(err, errs.Corrupt):
		_ = d.failed(err, op, id)
		d.opt.Log.Warn("piece without a valid end", "disk", d.path, "piece", id.String(), "error", err)
		return stat, false, nil
	}
	return stat, false, d.failed(err, op, id)
}

// Expire removes pending pieces that no Writer has. They are of writes that a crash ended, or of a Close.
func (d *Disk) Expire(age time.Duration) (removed int, err error) {
	const op = "disk.Expire"
	// Pieces made after the list are too young to expire.
	names, err := d.fs.ReadDir(d.pendingDir())
	if err != nil {
		return 0, d.failed(err, op, hemera.PieceID{})
	}
	for _, name := range names {
		id, side, ok := parsePending(name)
		if !ok {
			continue
		}
		gone, err := d.expire(id, name, side, age)
		if err != nil {
			return removed, d.failed(err, op, id)
		}
		if gone && !side {
			removed++
		}
	}
	return removed, nil
}

// expire removes one file of the pending directory if it is old and not open. It looks again in the piece's turn, in
// which no Writer can come.
func (d *Disk) expire(id hemera.PieceID, name string, side bool, age time.Duration) (bool, error) {
	mine := d.turn(id)
	mine.Wait()
	defer mine.Release()
	d.mu.Lock()
	busy := d.writers[id] != nil
	d.mu.Unlock()
	if busy {
		return false, nil
	}
	if side { // it goes with its piece
		if _, err := d.fs.Stat(d.pendingPath(id)); !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	name = d.pendingDir() + "/" + name
	info, err := d.fs.Stat(name)
	if err != nil {
		return false, ignoreMissing(err)
	}
	if d.opt.Now().Sub(info.Modified) <= age {
		return false, nil
	}
	return true, ignoreMissing(d.fs.Remove(name))
}

// RepairPages writes pages of a sealed piece whose content was lost. off is the start of a page and
// p ends with a page, or with the data.
func (d *Disk) RepairPages(id hemera.PieceID, b []byte, off int64) error {
	const op = "disk.Repair"
	p, err := d.acquire(id)
	if err != nil {
		return d.failed(err, op, id)
	}
	defer d.release(p)
	end := off + int64(len(b)) // pages are whole, but for the last one of the piece
	if off < 0 || off%hemera.PageSize != 0 || end > p.stat.Size || end%hemera.PageSize != 0 && end != p.stat.Size {
		return errs.New(errs.Invalid, op, id.String(), "not whole pages of the piece")
	}
	sums := make([]uint32, checksum.Fragments(off, len(b)))
	if err := p.pageSums(off/hemera.PageSize, sums); err != nil {
		return d.failed(err, op, id)
	}
	if bad := checksum.VerifyPages(b, off, sums); bad >= 0 {
		// The fault is the caller's content, not the disk's.
		return errs.As(&PageError{Page: off + int64(bad)*hemera.PageSize, What: "new content"}, errs.Corrupt, op, id.String())
	}
	f, err := d.fs.Open(d.sealedPath(id), os.O_RDWR)
	if err != nil {
		return d.failed(err, op, id)
	}
	_, err = f.WriteAt(b, off)
	if err == nil {
		err = f.Sync() // before it counts as good: what memory has may never reach the device
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		return d.failed(err, op, id)
	}
	// The written bytes are read from the device and compared: a sector that cannot keep bytes stays bad.
	again := make([]byte, len(b))
	p.forget(off, int64(len(b)))
	if _, err := readPages(p, again, nil, off); err != nil && err != io.EOF {
		return d.failed(err, op, id)
	}
	for page := off; page < end; page += hemera.PageSize {
		d.bad.mended(badPlace{id, page})
	}
	return nil
}
