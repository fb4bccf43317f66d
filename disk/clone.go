package disk

import (
	"errors"
	"io"

	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// An update of a file changes little of it mostly. Its pieces begin as copies of those of the base, made at the disk: the
// blocks are shared where the filesystem can do that, and else copied within the machine.
//
// The bytes are not read by this program for that, so nothing is known of them but the checksums of the base. Those are
// taken over with them. Where blocks are shared, a page that was bad stays one: its reader finds that. A copy is compared, and is
// refused if a page is bad: the base, whose page may be good at the device, is removed after the commit. Before a part of a page
// changes, or the last one grows, it is verified (prove): its checksum is made again from the data afterwards, and an update that
// is acknowledged can be read. A page that is written over whole need not be good, and one that is not touched is not read.
//
// The table stays where it is, too: a block of it is read when a page of it changes, and by the seal. So a small change of a
// large piece costs the pages that changed, and a table that is read and written once: a thousandth of the piece.

// Cloner is a Writer that can begin as a copy of a sealed piece of its disk.
type Cloner interface {
	// Clone gives a Writer that nothing was written to the first size bytes of a sealed piece. NotFound if there is no such
	// piece, Corrupt if its footer, its table or a page that is copied is bad, and Invalid if it is shorter or the Writer is not
	// empty: then nothing has changed. After other errors the Writer cannot be sealed. It is not durable before a Sync or Seal.
	Clone(base hemera.PieceID, size int64) error
}

// Clone calls [Cloner] of any Writer. It fails with Unsupported, and changes nothing, if the Writer is not a Cloner.
func Clone(w Writer, base hemera.PieceID, size int64) error {
	if c, ok := w.(Cloner); ok {
		return c.Clone(base, size)
	}
	return errs.New(errs.Unsupported, "disk.Clone", base.String(), "the disk cannot begin a piece as a copy")
}

// cloneStep is the size of one step of a copy where blocks are not shared, in bytes. Holes are looked for before each
// step.
const cloneStep = 1 << 20

// cloneMax bounds a copy where blocks are not shared, in bytes: package bounded gives a call 10 minutes.
const cloneMax = 32 << 30

var _ Cloner = (*writer)(nil)

// Clone implements [Cloner]. Where the filesystem shares no blocks it takes as long as a copy, in which no other call of the
// Writer is made.
func (w *writer) Clone(id hemera.PieceID, size int64) error {
	const op = "disk.Clone"
	w.io.Wait()
	defer w.io.Release()
	if err := w.usable(op); err != nil {
		return err
	}
	if w.base != nil || w.table.size != 0 {
		return errs.New(errs.Invalid, op, w.id.String(), "something was written to the piece")
	}
	base, err := w.disk.acquire(id)
	if err != nil {
		return w.disk.failed(err, op, id)
	}
	if size < 0 || size > base.stat.Size {
		err = errs.New(errs.Invalid, op, id.String(), "the piece is shorter")
	}
	if err == nil { // now, and not at the seal: another piece is read instead
		err = base.checkTable()
	}
	shared := false
	if err == nil {
		shared, err = cloning{w, base}.share()
	}
	if err == nil && !shared && size > cloneMax {
		err = errs.New(errs.Unsupported, op, id.String(), "the filesystem shares no blocks, and a copy would take too long")
	}
	if err != nil {
		w.disk.release(base)
		return w.disk.failed(err, op, id)
	}
	w.base = base
	w.table.base = &baseTable{base, blocks(base.stat.Size)}
	w.table.size, w.table.changed = base.stat.Size, nil
	if !shared { // a page that is cut is copied whole, to be verified
		err = cloning{w, base}.copyData(min(pages(size)*hemera.PageSize, base.stat.Size))
	}
	if _, bad := errors.AsType[*PageError](err); bad && w.uncopied() == nil {
		return w.disk.failed(err, op, id)
	}
	if err == nil {
		err = w.resize(size)
	}
	if err != nil {
		return w.fail(err, op)
	}
	w.cloned.Store(true)
	return nil
}

// cloning is a piece that is made as a copy of another.
type cloning struct {
	writer *writer // with io held alone
	from   *piece  // acquired
}

// share has the file begin with the blocks of the base, if the filesystem can do that. Table and footer of the base come with
// them, until the file gets its length.
func (c cloning) share() (bool, error) {
	to, ok := c.writer.file.(vfs.Cloner)
	if !ok {
		return false, nil
	}
	// No bytes are counted: none are written.
	start := c.writer.disk.gauge.start()
	err := to.Clone(c.from.file)
	c.writer.disk.gauge.waited(start)
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil
	}
	return err == nil, err
}

// copyData copies the first size bytes of the base to the file.
func (c cloning) copyData(size int64) error {
	sparse, _ := c.from.file.(vfs.Sparse)
	var buf []byte
	for off := int64(0); off < size; off += cloneStep {
		if sparse != nil { // a hole of the base is one of the copy
			if next, err := sparse.NextData(off); err == nil && next > off {
				off = next - next%hemera.PageSize
			}
		}
		n := min(cloneStep, size-off)
		if n <= 0 {
			break
		}
		// It may take minutes, and what removes the piece meanwhile does not wait.
		if err := c.writer.usable("disk.Clone"); err != nil {
			return err
		}
		if err := c.copyRange(off, n, &buf); err != nil {
			return err
		}
		// As with writes: the disk keeps its headroom, and the seal has little left to sync.
		if err := c.writer.leavesHeadroom(off, n); err != nil {
			return err
		}
		c.writer.startWriteback(off, n)
	}
	// A hole at the end was not written, and a page that is short ends where its data does.
	return c.writer.file.Truncate(size)
}

// copyRange copies n bytes at off of the base by way of buf. Each page is compared with its checksum: what a copy takes over
// wrongly would be wrong for ever once the base is gone.
func (c cloning) copyRange(off, n int64, buf *[]byte) error {
	if *buf == nil {
		*buf = make([]byte, cloneStep)
	}
	if _, err := readPages(c.from, (*buf)[:n], nil, off); err != nil && err != io.EOF {
		return err
	}
	start := c.writer.disk.gauge.start()
	_, err := c.writer.file.WriteAt((*buf)[:n], off)
	c.writer.disk.gauge.wrote(start, int(n))
	return err
}

// uncopied makes the Writer empty again, after a page of the base was found bad.
func (w *writer) uncopied() error {
	base := w.base
	w.base, w.table.base, w.table.size = nil, nil, 0
	w.disk.release(base)
	return w.file.Truncate(0)
}
