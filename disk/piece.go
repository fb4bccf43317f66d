package disk

import (
	"container/list"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// piece is a sealed piece that is open, shared by its Readers. Its footer was checked; its table is
// read block by block, when first needed.
type piece struct {
	disk   *Disk
	file   vfs.File
	hint   vfs.Hinter // nil if the file takes none
	stat   hemera.PieceStat
	tables []atomic.Pointer[tableBlock]

	windows pieceWindows

	refs int           // Readers and other users; guarded by openPieces.mu
	idle *list.Element // guarded by openPieces.mu; set while refs is 0 and it is kept
	gone bool          // guarded by openPieces.mu; not to be kept
}

// loadPiece opens the file and checks its footer. It is Corrupt if that is missing, broken, or of
// another piece.
func loadPiece(d *Disk, name string) (*piece, error) {
	f, err := d.fs.Open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	p, err := parsePiece(d, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// tails are the buffers for the ends of pieces.
var tails = sync.Pool{New: func() any { return new([footerMax]byte) }}

// parsePiece checks the footer of an open file. One read gets the longest footer, and with it the whole of a small
// piece's table.
func parsePiece(d *Disk, f vfs.File) (*piece, error) {
	fileSize, err := f.Size()
	if err != nil {
		return nil, err
	}
	whole := tails.Get().(*[footerMax]byte)
	defer tails.Put(whole)
	tail := whole[:min(fileSize, footerMax)]
	start := d.gauge.start()
	n, err := f.ReadAt(tail, fileSize-int64(len(tail)))
	d.gauge.read(start, n)
	if err != nil && err != io.EOF {
		return nil, err
	}
	stat, err := parseFooter(tail[:n], fileSize)
	if err != nil {
		return nil, errs.As(err, errs.Corrupt, "disk.Open", "footer")
	}
	p := &piece{disk: d, file: f, stat: stat, tables: make([]atomic.Pointer[tableBlock], blocks(stat.Size))}
	p.hint, _ = f.(vfs.Hinter)
	p.windows.init(p)
	// One block covers 4 MiB of data, which most files fit in.
	if len(p.tables) == 1 { // small: the table was read with the footer
		from := tableOff(stat.Size) - (fileSize - int64(len(tail)))
		if from >= 0 {
			p.keepBlock(0, tail[from:footerOff(stat.Size)-(fileSize-int64(len(tail)))])
		}
	}
	return p, nil
}

// close closes the file of a piece that has no user any more.
func (p *piece) close() {
	p.windows.close()
	p.disk.tables.drop(p)
	_ = p.file.Close()
}

// piece is a pageSource; its table has the checksums.
func (p *piece) dataSize() int64 { return p.stat.Size }

// readAt fills b from the file. A file that ends before that was cut: the footer said how long it is.
func (p *piece) readAt(b []byte, off int64) error {
	start := p.disk.gauge.start()
	n, err := p.file.ReadAt(b, off)
	p.disk.gauge.read(start, n)
	if err == io.EOF && n == len(b) {
		err = nil
	}
	if err == io.EOF {
		err = errs.New(errs.Corrupt, "disk.Read", p.stat.ID.String(), "the piece was cut: its file is shorter than its footer said")
	}
	return err
}

// forget has the next read of the range come from the device.
func (p *piece) forget(off, n int64) {
	p.windows.drop(off, n) // mapped pages are not forgotten
	if p.hint != nil {
		p.hint.Forget(off, n)
	}
}

// openPieces are the pieces that are open: those with Readers, and of the others the most recently
// used.
type openPieces struct {
	mu      sync.Mutex
	byID    map[hemera.PieceID]*piece
	idle    list.List // of *piece, the longest unused first
	idleMax int
	ended   bool   // the disk is closed: nothing is kept any more
	forgets uint64 // how often a piece was forgotten; a file opened before the last time may be another's
}

// init begins with none.
func (o *openPieces) init(idleMax int) {
	o.byID, o.idleMax = map[hemera.PieceID]*piece{}, idleMax
}

// take returns the piece if it is open, and what put wants to know of the time before it was opened.
func (o *openPieces) take(id hemera.PieceID) (p *piece, forgets uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p = o.byID[id]
	if p == nil {
		return nil, o.forgets
	}
	p.refs++
	if p.idle != nil {
		o.idle.Remove(p.idle)
		p.idle = nil
	}
	return p, o.forgets
}

// put adds a piece that was opened after take. If another caller was faster, put returns that caller's.
func (o *openPieces) put(id hemera.PieceID, p *piece, forgets uint64) *piece {
	if other, _ := o.take(id); other != nil { // side by side, without a lock: one of both is enough
		p.close()
		return other
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, taken := o.byID[id]; taken || o.forgets != forgets {
		p.gone = true // another was made since, or the file may be one that was removed: do not share
	} else {
		o.byID[id] = p
	}
	p.refs = 1
	return p
}

// giveBack ends one use of a piece. It returns a piece that is not needed any more, for the caller to close.
func (o *openPieces) giveBack(p *piece) (out *piece) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p.refs--
	switch {
	case p.refs > 0: // others have it
	case p.gone: // it is not opened by its name any more
		out = p
		if o.byID[p.stat.ID] == p {
			delete(o.byID, p.stat.ID)
		}
	default: // it is kept, and perhaps another is not any more
		p.idle = o.idle.PushBack(p)
		if o.idle.Len() > o.idleMax {
			out = o.idle.Front().Value.(*piece)
			o.drop(out)
		}
	}
	return out
}

// drop takes a piece that is idle out. It is called with mu held.
func (o *openPieces) drop(p *piece) {
	o.idle.Remove(p.idle)
	p.idle = nil
	delete(o.byID, p.stat.ID)
}

// forget makes the piece unknown to later opens; its Readers keep it.
func (o *openPieces) forget(id hemera.PieceID) {
	o.mu.Lock()
	o.forgets++
	p := o.byID[id]
	if p == nil {
		o.mu.Unlock()
		return
	}
	p.gone = true
	unused := p.idle != nil
	if unused {
		o.drop(p)
	}
	delete(o.byID, id)
	o.mu.Unlock()
	if unused {
		p.close()
	}
}

// resize changes how many are kept, unless nothing is kept any more.
func (o *openPieces) resize(idleMax int) {
	o.mu.Lock()
	if o.ended {
		idleMax = 0
	}
	o.idleMax = idleMax
	var out []*piece
	// They are closed below, without the lock.
	for o.idle.Len() > max(idleMax, 0) {
		p := o.idle.Front().Value.(*piece)
		o.drop(p)
		out = append(out, p)
	}
	o.mu.Unlock()
	for _, p := range out {
		p.close()
	}
}

// closeIdle closes the pieces without a reader, and keeps none from now on.
func (o *openPieces) closeIdle() {
	o.mu.Lock()
	o.ended = true
	for _, p := range o.byID {
		p.gone = true
	}
	o.mu.Unlock()
	o.resize(0)
}
