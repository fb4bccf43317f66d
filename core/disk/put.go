package disk

import (
	"errors"
	"io/fs"
	"sync"

	"hemera"
	"hemera/errs"
)

// Content is all that a piece holds: its bytes and the CRC32C of each page of them.
type Content struct {
	Data []byte
	Sums []uint32
}

// Putter is a Store that makes a sealed piece at once.
type Putter interface {
	// Put does what Create, WritePages and Seal do one after the other, in fewer calls to the device. On
	// error nothing is left of the piece. It keeps nothing of c.
	Put(id hemera.PieceID, o CreateOptions, c Content, s hemera.SealInfo) (hemera.PieceStat, error)
}

var _ Putter = (*Disk)(nil)

// Put makes a sealed piece of a content that is there whole, step by step where the store cannot do so at
// once. Errors are those of the steps.
func Put(store Store, id hemera.PieceID, o CreateOptions, c Content, s hemera.SealInfo) (hemera.PieceStat, error) {
	if p, ok := store.(Putter); ok {
		return p.Put(id, o, c, s)
	}
	w, err := store.Create(id, o)
	if err != nil {
		return hemera.PieceStat{}, err
	}
	if err := w.WritePages(c.Data, c.Sums, 0); err != nil {
		_ = w.Abort()
		return hemera.PieceStat{}, err
	}
	return w.Seal(s)
}

// wholePieces are where pieces are put together.
var wholePieces = sync.Pool{New: func() any { return new([]byte) }}

// keptPiece bounds the memory that waits for the next piece, in bytes.
const keptPiece = 128 << 10

// Put implements [Putter]: data, table and footer reach the file in one write.
func (d *Disk) Put(id hemera.PieceID, o CreateOptions, c Content, s hemera.SealInfo) (hemera.PieceStat, error) {
	const op = "disk.Put"
	size := int64(len(c.Data))
	if int64(len(c.Sums)) != pages(size) {
		return hemera.PieceStat{}, errs.New(errs.Invalid, op, id.String(), "not one checksum for each page")
	}
	o.SizeHint = size
	if err := d.admit(op, id, o); err != nil {
		return hemera.PieceStat{}, err
	}
	o.SizeHint = 0 // nothing to reserve: all of it is written now
	// Nobody looks at the place before: the rename takes no name that is taken, and says so.
	stat, err := d.put(op, id, o, c, s)
	if !errors.Is(err, fs.ErrExist) {
		return stat, err
	}
	// The place is taken: by a piece, or by what a crash left, which is removed now.
	if err := d.refuseSealed(op, id); err != nil {
		return hemera.PieceStat{}, err
	}
	return d.put(op, id, o, c, s)
}

// put is one attempt; fs.ErrExist if something is in the piece's place.
func (d *Disk) put(op string, id hemera.PieceID, o CreateOptions, c Content, s hemera.SealInfo) (hemera.PieceStat, error) {
	w, err := d.begin(op, id, o)
	if err != nil {
		return hemera.PieceStat{}, err
	}
	w.io.begin()
	defer w.io.end()
	stat := w.stat(int64(len(c.Data)), s)
	err = w.usable(op)
	if err == nil {
		err = w.writeWhole(c, stat)
	}
	return w.finish(op, stat, s.Sync, err)
}

// writeWhole writes the file of a piece: data, the rest of its last page, table and footer, in one call to the device.
func (w *writer) writeWhole(c Content, stat hemera.PieceStat) error {
	kept := wholePieces.Get().(*[]byte)
	b := append((*kept)[:0], c.Data...)
	defer func() { // the memory of a large piece is not kept
		if cap(b) <= keptPiece {
			*kept = b
			wholePieces.Put(kept)
		}
	}()
	b = append(b, zeros[:tableOff(stat.Size)-stat.Size]...)
	for i := range blocks(stat.Size) {
		from := i * blockSums
		b = appendBlock(b, c.Sums[from:from+int64(blockLen(stat.Size, i))])
	}
	b, err := appendFooter(b, stat)
	if err != nil {
		return errs.As(err, errs.Invalid, "disk.Put", w.id.String())
	}
	return w.writeAt(b, 0)
}
