package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"hemera/platform/turn"
	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// writebackStep is the number of bytes after which the disk asks the kernel to begin writing them to the device: the sync
// at the seal then has little left to do, and memory does not fill with dirty pages.
const writebackStep = 8 << 20

// writer is a pending piece. Data is written at its final offset; page CRCs stay in memory (and a
// side file, for large pieces) until the seal.
type writer struct {
	disk *Disk
	id   hemera.PieceID
	opt  CreateOptions
	file vfs.File   // open from Create until the end
	hint vfs.Hinter // nil if the file takes none
	mark uint64     // of the pending directory's sync that covers the file's name
	side *sumSpill
	// synced are the checksums that syncs made durable; io alone guards it.
	synced syncedSums
	// found is the progress of the proof of a piece that an earlier process left; nil once it is through. io alone guards
	// it.
	found *proving
	// resumed says that an earlier process began the piece, leaves that the piece stays when the Writer ends.
	resumed, leaves bool

	// fenced is set when the piece is no longer this Writer's: it was removed, or begun again by another.
	fenced atomic.Bool

	// io is shared while data is written, and had alone while the data and the table must agree.
	io turn.Shared
	// syncing belongs to the one sync that is under way.
	syncing turn.Turn
	// tableTurn orders those that share io: the table may be read from its spill file. A call that has io alone needs no tableTurn.
	tableTurn turn.Turn
	table     *sumTable
	size      atomic.Int64 // the table's, for those that must not wait
	base      *piece       // that it began as; nil if it began empty
	cloned    atomic.Bool  // base is set, for those that do not have io

	mu      sync.Mutex // guards the rest
	failure error      // the first failed write or sync: the piece cannot be sealed any more
	done    bool       // guarded by io
	written int64      // since the last writeback
	begun   int64      // offset where the next writeback begins
	beyond  int64      // written beyond what was reserved, since the disk was asked for its room
}

// newWriter makes the pending file, over one that may be there. It is called in the piece's turn.
func newWriter(d *Disk, id hemera.PieceID, o CreateOptions) (*writer, error) {
	const flag = os.O_RDWR | os.O_CREATE | os.O_EXCL
	f, err := d.fs.Open(d.pendingPath(id), flag)
	if errors.Is(err, fs.ErrExist) { // of a Writer that was fenced, or of a crash
		if err := d.removePending(id); err != nil {
			return nil, err
		}
		f, err = d.fs.Open(d.pendingPath(id), flag)
	}
	if err != nil {
		return nil, err
	}
	w := writerOf(d, id, o, f)
	// Room for data, table and footer is reserved now: a write that was let in does not fail for want of room later.
	if !o.Sparse && o.SizeHint > hemera.PageSize && w.hint != nil {
		if err := w.hint.Preallocate(footerOff(o.SizeHint) + hemera.PageSize); err != nil {
			return nil, errors.Join(err, f.Close(), d.removePending(id))
		}
	}
	d.gauge.writeOpens.Add(1)
	return w, nil
}

// writerOf returns a Writer on an open pending file. It does not call the device.
func writerOf(d *Disk, id hemera.PieceID, o CreateOptions, f vfs.File) *writer {
	w := &writer{disk: d, id: id, opt: o, file: f, mark: d.pending.mark(), io: turn.NewShared(), syncing: turn.New(), tableTurn: turn.New()}
	w.side = &sumSpill{fs: d.fs, path: d.pendingPath(id) + sumsSuffix}
	w.synced = syncedSums{fs: d.fs, path: d.pendingPath(id) + syncedSuffix}
	w.table = newSumTable(d.opt.PendingBlocks, w.side)
	w.hint, _ = f.(vfs.Hinter)
	return w
}

// WritePages writes p at off. After a failure every later call fails too: what the kernel could not write it may report
// once, and to any call.
func (w *writer) WritePages(p []byte, sums []uint32, off int64) error {
	const op = "disk.Write"
	if off < 0 || off > hemera.FileSizeMax-int64(len(p)) {
		return errs.New(errs.TooLarge, op, w.id.String(), "offset out of range")
	}
	n := checksum.Fragments(off, len(p))
	if sums == nil { // a caller that has the bytes from a network has them already
		sums = make([]uint32, n)
		checksum.PageSums(p, off, sums)
	}
	if len(sums) < n {
		return errs.New(errs.Invalid, op, w.id.String(), "fewer checksums than page fragments")
	}
	if len(p) == 0 {
		return nil
	}
	if err := w.prove(op, off, int64(len(p))); err != nil {
		return err
	}
	w.io.WaitShare()
	defer w.io.ReleaseShare()
	if err := w.usable(op); err != nil {
		return err
	}
	start := w.disk.gauge.start()
	_, err := w.file.WriteAt(p, off)
	w.disk.gauge.wrote(start, len(p))
	// The table says what the file should hold: it changes after the file, and not if the file did not.
	if err == nil {
		err = w.record(off, len(p), sums)
	}
	if err == nil {
		err = w.leavesHeadroom(off, int64(len(p)))
	}
	if err != nil {
		return w.fail(err, op)
	}
	w.startWriteback(off, int64(len(p)))
	return nil
}

// record notes the checksums of what was written.
func (w *writer) record(off int64, n int, sums []uint32) error {
	w.tableTurn.Wait()
	defer w.tableTurn.Release()
	err := w.table.write(off, n, sums)
	w.size.Store(w.table.size)
	return err
}

// leavesHeadroom fails when a write that was not announced has used up the disk but for its headroom:
// others may need what is kept, such as a manager whose store is on the same filesystem.
func (w *writer) leavesHeadroom(off, n int64) error {
	if !w.opt.Sparse && off+n <= w.opt.SizeHint || !w.hasGrown(n) {
		return nil
	}
	if space, err := w.disk.fs.Space(w.disk.path); err != nil || space.Free > w.disk.condition.reserved() {
		return err
	}
	return errs.New(errs.NoSpace, "disk.Write", w.disk.path, "the disk is full but for its headroom")
}

// hasGrown reports whether so much was written that was not announced that the disk's room is to be looked at.
func (w *writer) hasGrown(n int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.beyond += n; w.beyond < writebackStep {
		return false
	}
	w.beyond = 0
	return true
}

// startWriteback begins the write-back that is due after a write.
func (w *writer) startWriteback(off, n int64) {
	if w.hint == nil {
		return
	}
	if from, to := w.writeback(off, n); from < to {
		w.hint.StartWriteback(from, to-from)
	}
}

// writeback returns the range that is to be written to the device now, if any.
func (w *writer) writeback(off, n int64) (from, to int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.written += n; w.written < writebackStep {
		return 0, 0
	}
	// From where the last one ended: in a stream that is all that was written since.
	from, to = min(w.begun, off), off+n
	w.begun, w.written = to, 0
	return from, to
}

// ReadPages reads back what was written. Writes wait meanwhile.
func (w *writer) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	const op = "disk.Read"
	w.io.Wait()
	defer w.io.Release()
	if err := w.usable(op); err != nil {
		return 0, err
	}
	// A page that does not match is a fault of the device, though no client was promised these bytes yet.
	n, err := readPages((*pendingSource)(w), p, sums, off)
	if err != nil && err != io.EOF {
		return n, w.disk.failed(err, op, w.id)
	}
	return n, err
}

// pendingSource is a writer whose io turn is had alone, as readPages reads it.
type pendingSource writer

// dataSize and the rest make a pageSource of it.
func (s *pendingSource) dataSize() int64 { return s.table.size }

func (s *pendingSource) readAt(p []byte, off int64) error {
	return (*writer)(s).readData(p, off)
}

func (s *pendingSource) forget(off, n int64) {} // not on the device yet: nothing to compare with

func (s *pendingSource) pageSums(first int64, dst []uint32) error {
	for len(dst) > 0 {
		index, from := first/blockSums, int(first%blockSums)
		n := min(len(dst), blockSums-from)
		if s.table.absent(index) { // a hole
			fillZeroPages(dst[:n])
			dst, first = dst[n:], first+int64(n)
			continue
		}
		if s.table.inherits(index) { // it stays where it is: a seal of a large piece goes through all of them
			var sums [blockSums]uint32
			if err := s.table.base.load(index, &sums); err != nil {
				return err
			}
			copy(dst[:n], sums[from:])
			dst, first = dst[n:], first+int64(n)
			continue
		}
		// Pages that were written over in part are read and summed now, under io alone.
		if err := s.table.clean(index, from, from+n, (*writer)(s).readData); err != nil {
			return err
		}
		b, err := s.table.block(index)
		if err != nil {
			return err
		}
		copy(dst, b.sums[from:from+n])
		dst, first = dst[n:], first+int64(n)
	}
	return nil
}

// readData fills p with data that was written, not verified.
func (w *writer) readData(p []byte, off int64) error {
	start := w.disk.gauge.start()
	n, err := w.file.ReadAt(p, off)
	w.disk.gauge.read(start, n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Truncate cuts the data, or extends it with zeros.
func (w *writer) Truncate(size int64) error {
	const op = "disk.Truncate"
	if size < 0 || size > hemera.FileSizeMax {
		return errs.New(errs.TooLarge, op, w.id.String(), "size out of range")
	}
	w.io.Wait()
	defer w.io.Release()
	if err := w.usable(op); err != nil {
		return err
	}
	// The file grows by nothing but its size; its table must fit all the same when it is sealed.
	if table := footerOff(size) - tableOff(size); table > w.disk.condition.free() {
		return errs.New(errs.NoSpace, op, w.id.String(), "not even the checksums of so many pages would fit")
	}
	if err := w.resize(size); err != nil {
		return w.fail(err, op)
	}
	return nil
}

// resize cuts or extends file and table. It is called with io held alone.
func (w *writer) resize(size int64) error {
	var err error
	if page := min(size, w.table.size) / hemera.PageSize; w.base != nil && size != w.table.size && cuts(w.table.size, page, size, w.table.size) {
		err = w.provePage(page) // its checksum is made again without what is cut, or with the zeros that come
	}
	if err == nil {
		err = w.file.Truncate(size)
	}
	if err == nil {
		err = w.table.truncate(size)
		w.size.Store(w.table.size)
	}
	return err
}

// Size returns the size of the data. It does not wait for the device.
func (w *writer) Size() int64 { return w.size.Load() }

// Abort removes the piece.
func (w *writer) Abort() error {
	return w.end("disk.Abort", func() error { return w.disk.removePending(w.id) })
}

// end closes the Writer; last runs while the piece still is this Writer's, if it is.
func (w *writer) end(op string, last func() error) error {
	w.io.Wait()
	defer w.io.Release()
	if w.done {
		return errs.New(errs.BadHandle, op, w.id.String(), "the writer is closed")
	}
	return w.disk.failed(w.close(last), op, w.id)
}

// close ends the Writer, and makes the last step in the piece's turn if the piece still is this Writer's. It is called
// with io had alone.
func (w *writer) close(last func() error) error {
	w.done = true
	d := w.disk
	names := d.turn(w.id)
	names.Wait()
	d.mu.Lock()
	mine := d.writers[w.id] == w
	if mine {
		delete(d.writers, w.id)
	}
	d.mu.Unlock()
	var err error
	if mine { // else another Writer, or a removal, has seen to the file
		err = last()
	}
	names.Release()
	if w.base != nil {
		d.release(w.base)
	}
	d.gauge.writeOpens.Add(-1)
	return errors.Join(err, w.file.Close(), w.side.close(), w.synced.close(mine && !w.leaves))
}

// usable returns the reason for which the Writer refuses calls. The caller has io, alone or shared.
func (w *writer) usable(op string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.done:
		return errs.New(errs.BadHandle, op, w.id.String(), "the writer is closed")
	case w.fenced.Load():
		return errs.New(errs.Conflict, op, w.id.String(), "the piece was removed or started over meanwhile")
	case w.found != nil && op != opProve:
		return errs.New(errs.BadHandle, op, w.id.String(), "the piece is not proved yet")
	}
	return w.failure
}

// fail remembers a failure that the piece cannot be sealed after.
func (w *writer) fail(err error, op string) error {
	err = w.disk.failed(err, op, w.id)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == nil {
		w.failure = err
	}
	return err
}

// NextData returns the same as for readers. Ranges that were never written are known by whole blocks of the table.
func (w *writer) NextData(off int64) (int64, error) {
	const op = "disk.Read"
	w.io.Wait()
	defer w.io.Release()
	if err := w.usable(op); err != nil {
		return 0, err
	}
	const reach = blockSums * hemera.PageSize // what one block of the table covers, in bytes
	if off >= 0 && off < w.table.size && w.table.inherits(off/reach) {
		return w.table.nextInherited(off), nil
	}
	if off < 0 || off >= w.table.size || !w.table.absent(off/reach) {
		return off, nil
	}
	// The block of off is absent. Those behind it are too, up to the first that was written to, or as far as a look goes.
	index := off/reach + 1
	for end := min(index+holeBlocks, blocks(w.table.size)); index < end && w.table.absent(index); {
		index++
	}
	return min(index*reach, w.table.size), nil
}

// proving is a proof under way.
type proving struct {
	block    int64     // that comes next
	table    *sumTable // made so far
	unproved int64
}
