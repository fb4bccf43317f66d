package disk

import (
	"errors"
	"io"
	"slices"

	"hemera/platform/vfs"
	"hemera/rules/checksum"
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

// Clone is [Cloner] for any Writer; Unsupported, and nothing has changed, if it is none.
func Clone(w Writer, base hemera.PieceID, size int64) error {
	if c, ok := w.(Cloner); ok {
		return c.Clone(base, size)
	}
	return errs.New(errs.Unsupported, "disk.Clone", base.String(), "the disk cannot begin a piece as a copy")
}

// cloneStep is how much is copied at once where blocks are not shared, in bytes. Holes are looked for before each step.
const cloneStep = 1 << 20

// cloneMax is how much is copied at most where blocks are not shared, in bytes: package bounded gives a call 10 minutes.
const cloneMax = 32 << 30

var _ Cloner = (*writer)(nil)

// Clone implements [Cloner]. Where the filesystem shares no blocks it takes as long as a copy, in which no other call of the
// Writer is made.
func (w *writer) Clone(id hemera.PieceID, size int64) error {
	const op = "disk.Clone"
	w.io.begin()
	defer w.io.end()
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
	*writer        // with io held alone
	from    *piece // acquired
}

// share has the file begin with the blocks of the base, if the filesystem can do that. Table and footer of the base come with
// them, until the file gets its length.
func (c cloning) share() (bool, error) {
	to, ok := c.file.(vfs.Cloner)
	if !ok {
		return false, nil
	}
	// No bytes are counted: none are written.
	start := c.disk.gauge.start()
	err := to.Clone(c.from.file)
	c.disk.gauge.waited(start)
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
		if err := c.usable("disk.Clone"); err != nil {
			return err
		}
		if err := c.copyRange(off, n, &buf); err != nil {
			return err
		}
		// As with writes: the disk keeps its headroom, and the seal has little left to sync.
		if err := c.leavesHeadroom(off, n); err != nil {
			return err
		}
		c.startWriteback(off, n)
	}
	// A hole at the end was not written, and a page that is short ends where its data does.
	return c.file.Truncate(size)
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
	start := c.disk.gauge.start()
	_, err := c.file.WriteAt((*buf)[:n], off)
	c.disk.gauge.wrote(start, int(n))
	return err
}

// uncopied makes the Writer empty again, after a page of the base was found bad.
func (w *writer) uncopied() error {
	base := w.base
	w.base, w.table.base, w.table.size = nil, nil, 0
	w.disk.release(base)
	return w.file.Truncate(0)
}

// prove verifies the pages that a write of n bytes at off changes in part, in a piece that began as a copy. It fails, and the
// piece is lost, if one of them is bad.
func (w *writer) prove(op string, off, n int64) error {
	if !w.cloned.Load() || n == 0 {
		return nil
	}
	size := w.size.Load()
	// Only the first and the last page can be changed in part, and the last there was, which grows if the write begins behind
	// it. Mostly none is: clients write whole pages.
	pages := [...]int64{off / hemera.PageSize, (off + n - 1) / hemera.PageSize, min(off, size) / hemera.PageSize}
	cut := func(page int64) bool { return cuts(size, page, off, n) }
	if !slices.ContainsFunc(pages[:], cut) {
		return nil
	}
	// Alone: a page must not change between its bytes and its checksum.
	w.io.begin()
	defer w.io.end()
	if err := w.usable(op); err != nil {
		return err
	}
	size = w.table.size
	for i, page := range pages {
		if !cut(page) || slices.Contains(pages[:i], page) {
			continue
		}
		if err := w.provePage(page); err != nil {
			return w.fail(err, op)
		}
	}
	return nil
}

// cuts reports whether n bytes at off, in the page or behind it, leave some of what the page has in data of the size.
func cuts(size, page, off, n int64) bool {
	from := page * hemera.PageSize
	end := from + int64(pageLen(size, page))
	return from < end && (off > from || off+n < end)
}

// provePage compares a page with its checksum, which is taken from the data from now on. It is called with io held alone.
func (w *writer) provePage(page int64) error {
	b, err := w.table.block(page / blockSums)
	i := int(page % blockSums)
	// A dirty one was verified before, or written by this Writer.
	if err != nil || b.isDirty(i) {
		return err
	}
	buf := onePage.Get().(*[hemera.PageSize]byte)
	defer onePage.Put(buf)
	p := buf[:pageLen(w.table.size, page)]
	if err := w.readData(p, page*hemera.PageSize); err != nil {
		return err
	}
	if checksum.CRC32C(p) != b.sums[i] {
		return &PageError{Page: page * hemera.PageSize, What: "page"}
	}
	b.setDirty(i, true) // its sum stays the same until it is written to
	return nil
}

// baseTable is the table of the piece that a pending one began as. Blocks of it that did not change are read from there.
type baseTable struct {
	piece  *piece
	blocks int64 // those from here on were cut off, or never there
}

// inherits reports whether the block is that of the base still.
func (t *sumTable) inherits(index int64) bool {
	return t.base != nil && index < t.base.blocks && t.blocks[index] == nil && !t.side.has(index)
}

// load fills in a block of the base. Pages behind its last are zeros.
func (b *baseTable) load(index int64, sums *[blockSums]uint32) error {
	// The last block of the base is shorter than one of a piece that grew.
	n := blockLen(b.piece.stat.Size, index)
	fillZeroPages(sums[n:])
	return b.piece.readBlock(index, sums[:n])
}

// readBlock reads one block of the table, and keeps nothing.
func (p *piece) readBlock(index int64, sums []uint32) error {
	var buf [blockSize]byte
	raw, off := buf[:4*(len(sums)+1)], tableOff(p.stat.Size)+index*blockSize
	for range 2 { // the second time from the device
		if err := p.readAt(raw, off); err != nil {
			return err
		}
		if parseBlock(raw, sums) {
			return nil
		}
		p.forget(off, int64(len(raw)))
	}
	return badTable(index)
}

// nextInherited is where data may begin at or after off, which is in a block of the base: where the base says, but not
// beyond the first block that was changed.
func (t *sumTable) nextInherited(off int64) int64 {
	const reach = blockSums * hemera.PageSize // what one block of the table covers, in bytes
	next := min(t.base.piece.nextData(off), t.size)
	for index := off/reach + 1; index*reach < next; index++ {
		if !t.inherits(index) {
			return index * reach
		}
	}
	return next
}
