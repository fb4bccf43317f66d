package disk

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"sync"

	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// tailBuffer is the size of one write of the table.
const tailBuffer = 1 << 20

// Seal writes checksums and footer, makes the piece durable if asked to, and moves it to its place.
func (w *writer) Seal(s hemera.SealInfo) (hemera.PieceStat, error) {
	const op = "disk.Seal"
	w.io.Wait()
	defer w.io.Release()
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
		err = w.sync(noSums) // its footer has them
	}
	if w.done { // it was sealed or aborted before: there is nothing to remove
		return hemera.PieceStat{}, err
	}
	if err != nil {
		w.leaves = w.resumed // another process of the node may have more luck
		_ = w.close(func() error {
			if w.leaves {
				return nil
			}
			return w.disk.removePending(w.id)
		})
		if other, ok := errors.AsType[otherBytes](err); ok { // says nothing of the device
			return hemera.PieceStat{}, other.error
		}
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
	w.disk.changed()
	return stat, nil
}

// stat returns the contents of the footer.
func (w *writer) stat(size int64, s hemera.SealInfo) hemera.PieceStat {
	return hemera.PieceStat{
		ID: w.id, Size: size, FileSize: s.FileSize, Layout: w.opt.Layout,
		Checksums: s.Checksums, Path: w.opt.Path, Sealed: w.disk.opt.Now(), Owner: w.opt.Owner, Kept: s.Kept,
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
	var whole checksum.Appender
	for i := range blocks(size) {
		if w.table.absent(i) {
			tail = appendZeroBlock(tail, blockLen(size, i)) // a page that is not whole makes a block
			n := min(blockSums*hemera.PageSize, size-i*blockSums*hemera.PageSize)
			whole.Append(checksum.ZerosCRC32C(n), n)
		} else {
			var sums [blockSums]uint32
			n := blockLen(size, i)
			if err := src.pageSums(i*blockSums, sums[:n]); err != nil {
				return stat, err
			}
			tail = appendBlock(tail, sums[:n])
			appendPages(&whole, sums[:n], size-i*blockSums*hemera.PageSize)
		}
		if len(tail) >= tailBuffer {
			if err := w.writeAt(tail, off); err != nil {
				return stat, err
			}
			off, tail = off+int64(len(tail)), tail[:0]
		}
	}
	if err := w.isWhole(whole.Sum(), s); err != nil {
		return stat, err
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

// appendPages adds the checksums of pages that have left bytes at most.
func appendPages(whole *checksum.Appender, sums []uint32, left int64) {
	for _, sum := range sums {
		whole.Append(sum, min(hemera.PageSize, left))
		left -= hemera.PageSize
	}
}

// isWhole compares the CRC32C of the piece's bytes, put together from those of its pages, with what the seal says of the piece,
// or of the file if the piece is a copy of that: a footer never vouches for what is not there.
func (w *writer) isWhole(crc uint32, s hemera.SealInfo) error {
	want, ok := s.Piece, s.Piece.Kind == hemera.CRC32C
	if !ok && !w.opt.Layout.Coded() {
		want, ok = hemera.FindChecksum(s.Checksums, hemera.CRC32C)
	}
	got := hemera.Checksum{Kind: hemera.CRC32C}
	binary.BigEndian.PutUint32(got.Value[:], crc)
	if !ok || got == want {
		return nil
	}
	return otherBytes{errs.New(errs.Corrupt, "disk.Seal", w.id.String(), "the bytes have "+got.String()+", their writer sent "+want.String())}
}

// otherBytes is the failure of a seal of a piece with other bytes than its writer sent.
type otherBytes struct{ error }

// writeAt writes to the file, beyond the data.
func (w *writer) writeAt(p []byte, off int64) error {
	start := w.disk.gauge.start()
	_, err := w.file.WriteAt(p, off)
	w.disk.gauge.wrote(start, len(p))
	return err
}

// Marker is a Store that changes what a footer says of the commit. It blocks for the device.
type Marker interface {
	// Mark has the footer of a sealed piece say whether the piece is kept, and not committed. That is durable when Mark returns; a crash
	// leaves the one or the other. NotFound if there is no such piece.
	Mark(id hemera.PieceID, kept bool) error
}

var _ Marker = (*Disk)(nil)

// Mark calls [Marker] of any Store. It fails with Unsupported if the Store is not a Marker.
func Mark(s Store, id hemera.PieceID, kept bool) error {
	if m, ok := s.(Marker); ok {
		return m.Mark(id, kept)
	}
	return errs.New(errs.Unsupported, "disk.Mark", id.String(), "the disk does not change footers")
}

// Mark implements [Marker]. It writes one byte.
func (d *Disk) Mark(id hemera.PieceID, kept bool) error {
	const op = "disk.Mark"
	p, err := d.acquire(id)
	if err != nil {
		return d.failed(err, op, id)
	}
	defer d.release(p)
	if p.stat.Kept == kept {
		return nil
	}
	f, err := d.fs.Open(d.sealedPath(id), os.O_RDWR)
	if err != nil {
		return d.failed(err, op, id)
	}
	end, err := f.Size()
	if err == nil {
		magic := magicOf(kept)
		_, err = f.WriteAt([]byte{magic[len(magic)-1]}, end-1)
	}
	if err == nil {
		err = f.Sync()
	}
	d.open.forget(id) // the next one to open it reads the footer again
	if err = errors.Join(err, f.Close()); err != nil {
		return d.failed(err, op, id)
	}
	return nil
}

// Content is all that a piece holds: its bytes and the CRC32C of each page of them.
type Content struct {
	Data []byte
	Sums []uint32
}

// Putter is a Store that makes a sealed piece at once.
type Putter interface {
	// Put does what Create, WritePages and Seal do one after the other, in fewer calls to the device. It blocks for the device, and fails where
	// one of them would: Exists, NoSpace, ReadOnly, IO. With s.Sync the piece is durable when it returns. On error nothing is left of the piece.
	// It keeps nothing of c.
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

// wholePieces are the buffers in which pieces are put together.
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
	// The place is not looked at before: the rename fails if the name is taken.
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

// put makes one attempt. It fails with fs.ErrExist if something is in the piece's place.
func (d *Disk) put(op string, id hemera.PieceID, o CreateOptions, c Content, s hemera.SealInfo) (hemera.PieceStat, error) {
	w, err := d.begin(op, id, o)
	if err != nil {
		return hemera.PieceStat{}, err
	}
	w.io.Wait()
	defer w.io.Release()
	stat := w.stat(int64(len(c.Data)), s)
	err = w.usable(op)
	if err == nil {
		var whole checksum.Appender
		appendPages(&whole, c.Sums, stat.Size)
		err = w.isWhole(whole.Sum(), s)
	}
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
