package transfer

import (
	"context"
	"fmt"
	"io"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/rules/checksum"
	"hemera/rules/layout"
)

// Writer is the head of one pending write: it sends every page to all pieces at once, and at close
// seals them and commits. It begins without any piece, so that an empty file costs no disk anything:
// a short content waits in memory, until it is synced, grows or is closed; any other makes them with its
// first byte. An update begins as a view of its base, which is copied when something changes.
//
// Methods may be called concurrently; they run one after the other, so that overlapping writes
// reach every piece in the same order.
type Writer struct {
	host   *Host
	cap    *hemera.Capability // of the first permit
	ctx    context.Context    // ends with Abort
	cancel context.CancelFunc
	opened time.Time
	usage  usage

	inPlace inPlace
	seen    seen

	mu      sync.Mutex     // guards all below
	permit  *hemera.Permit // as granted last: Replace renews it
	pieces  []*piece       // nil until the first byte
	ledger  ledger
	sums    *streamSums
	size    int64
	small   *small  // the content, while it is in memory and there are no pieces
	base    *Reader // what an update begins from, until pieces hold the content
	changed bool
	least   int64 // a close below this size fails: what was announced, or the client's last truncation
	xattrs  map[string][]byte
	scratch []uint32

	request *hemera.CommitRequest // all is sealed; only the manager's answer is missing
	asked   time.Time             // when the manager was asked first
	unsure  bool                  // the manager may have committed without our hearing of it
	done    bool
	result  error // of Close, once done
	broken  error // the write cannot succeed any more
}

// OpenWriter begins the write that the capability permits. It touches no disk but to open the base
// of an update.
func (h *Host) OpenWriter(ctx context.Context, permit *hemera.Permit) (*Writer, error) {
	c := &permit.Capability
	if c.Access != hemera.AccessCreate && c.Access != hemera.AccessUpdate {
		return nil, errs.New(errs.Denied, "transfer.OpenWriter", subject(c), "the capability is for reading")
	}
	if len(c.Targets) == 0 || len(c.Targets) > hemera.PiecesMax {
		return nil, errs.New(errs.Invalid, "transfer.OpenWriter", subject(c), "the capability names no usable targets")
	}
	sums, err := newStreamSums(c.Checksums)
	if err != nil {
		return nil, errs.As(err, errs.Invalid, "transfer.OpenWriter", subject(c))
	}
	w := &Writer{host: h, cap: c, permit: permit, sums: sums, opened: time.Now(), least: c.Size, ledger: newLedger(len(c.Targets), layout.Required(c.Layout, c.PiecesMin))}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if c.Access == hemera.AccessUpdate && c.Base != nil && c.Base.Size > 0 {
		w.base = h.baseReader(permit)
		w.size = c.Base.Size
		w.seen.size.Store(w.size)
	}
	h.uses.begin(&w.usage, c, w.opened)
	return w, nil
}

// baseReader reads the content an update begins from. It opens nothing before the first read.
func (h *Host) baseReader(c *hemera.Permit) *Reader {
	base := c.Capability
	base.Gen, base.Size = c.Base.Gen, c.Base.Size
	base.Targets = c.Base.Pieces
	r := h.newReader(&base, c)
	r.base = true
	return r
}

// Info describes the pending content, or what was committed; of a write that hangs, what was announced.
func (w *Writer) Info() hemera.FileInfo {
	if w.enter() != nil {
		return written(w.cap, w.cap.Size, w.opened)
	}
	defer w.mu.Unlock()
	mtime := time.Now()
	if w.request != nil {
		mtime = w.request.Mtime
	}
	return written(w.cap, w.size, mtime)
}

// written describes a content that a capability permitted to write.
func written(c *hemera.Capability, size int64, mtime time.Time) hemera.FileInfo {
	return hemera.FileInfo{
		ID: c.File, Gen: c.Gen, Path: c.Path, Size: size, Mtime: mtime,
		Mode: c.Mode, UID: c.Who.UID, GID: c.Who.GID, Writable: true,
	}
}

// WritePages writes p at off to every live piece. sums, if not nil, are the verified CRC32Cs of
// p's page fragments. A piece that fails is left behind; only when none is left does it fail.
func (w *Writer) WritePages(p []byte, sums []uint32, off int64) error {
	if err := w.enter(); err != nil {
		return err
	}
	defer w.mu.Unlock()
	if err := w.usable("transfer.Write"); err != nil {
		return err
	}
	if err := checkRange("transfer.Write", subject(w.cap), off, len(p)); err != nil {
		return err
	}
	if len(p) == 0 {
		return nil
	}
	end := off + int64(len(p))
	if err := w.within(end); err != nil {
		return err
	}
	if w.fits(max(end, w.size)) {
		sums = w.pageSums(p, sums, off)
		w.sums.wrote(p, sums, off)
		w.small.write(p, sums, off)
		w.changed = true
		w.wrote(p, off)
		return nil
	}
	if err := w.begin(w.size); err != nil {
		return err
	}
	return w.write(p, sums, off)
}

// write sends pages to the pieces; the whole-file checksums are computed meanwhile.
func (w *Writer) write(p []byte, sums []uint32, off int64) error {
	sums = w.pageSums(p, sums, off)
	var err error
	if i := w.ledger.only(); i >= 0 {
		err = w.writeOne(i, p, sums, off)
	} else {
		err = w.send(p, sums, off, func() { w.sums.wrote(p, sums, off) })
	}
	if err != nil {
		return err
	}
	w.wrote(p, off)
	return nil
}

// seen is what others may know of a write without its lock, which a disk that hangs may hold.
type seen struct{ size, at atomic.Int64 } // at is in nanoseconds since the write was opened

func (w *Writer) note() {
	w.seen.size.Store(w.size)
	w.seen.at.Store(int64(time.Since(w.opened)))
}

// wrote takes note of pages that were accepted.
func (w *Writer) wrote(p []byte, off int64) {
	w.size = max(w.size, off+int64(len(p)))
	w.note()
	w.host.Counters.WriteBytes.Add(int64(len(p)))
	w.usage.bytes.Add(int64(len(p)))
}

// pageSums are the sums of p's page fragments, taken if there are none.
func (w *Writer) pageSums(p []byte, sums []uint32, off int64) []uint32 {
	if sums != nil {
		return sums
	}
	n := checksum.Fragments(off, len(p))
	if cap(w.scratch) < n {
		w.scratch = make([]uint32, n)
	}
	sums = w.scratch[:n]
	checksum.PageSums(p, off, sums)
	return sums
}

// send sends pages to every live piece and runs meanwhile beside that, if there is anything to run.
func (w *Writer) send(p []byte, sums []uint32, off int64, meanwhile func()) error {
	return w.fanOut(diskPatience, func(out PeerWriter) error { return out.WritePages(p, sums, off) }, meanwhile)
}

// writeOne sends pages to the only live piece. A disk is written to on this goroutine, as another costs
// more than there is to gain with no piece to go on with; who waits for it looks at Stalled.
func (w *Writer) writeOne(i int, p []byte, sums []uint32, off int64) error {
	w.sums.wrote(p, sums, off)
	pc := w.pieces[i]
	var err error
	if pc.local != nil {
		out := pc.local.diskPiece
		err = w.inPlace.do(pc.target.Disk, w.opened, func() error { return out.WritePages(p, sums, off) })
	} else {
		err = pc.out.WritePages(p, sums, off)
	}
	if err != nil {
		w.lose(i, err)
		return w.fail("transfer.Write", everyPieceFailed)
	}
	return nil
}

// Truncate sets the size of the pending content, and so the least size that [Writer.Close] takes: a
// client may announce more than it comes to write, but then has to say so.
func (w *Writer) Truncate(size int64) error { return w.resize(size, size) }

// restart empties the content for a client that begins anew. What it announced holds again.
func (w *Writer) restart() error { return w.resize(0, w.cap.Size) }

func (w *Writer) resize(size, least int64) error {
	if err := w.enter(); err != nil {
		return err
	}
	defer w.mu.Unlock()
	if err := w.usable("transfer.Truncate"); err != nil {
		return err
	}
	if err := checkRange("transfer.Truncate", subject(w.cap), size, 0); err != nil {
		return err
	}
	if err := w.within(size); err != nil {
		return err
	}
	if err := w.truncate(size); err != nil {
		return err
	}
	w.least = least
	w.note()
	return nil
}

// within refuses what would make the content larger than a quota lets it become. What is there already stays.
func (w *Writer) within(end int64) error {
	if w.cap.SizeMax <= 0 || end <= max(w.cap.SizeMax, w.size) {
		return nil
	}
	return errs.New(errs.OverQuota, "transfer.Write", subject(w.cap), fmt.Sprintf("a quota lets the file have %d bytes", w.cap.SizeMax)).
		WithRemedy("remove files, or ask for a larger quota; `xrdfs query space` shows what is left")
}

func (w *Writer) truncate(size int64) error {
	if size == w.size {
		return nil
	}
	if size == 0 && w.pieces == nil {
		w.dropBase()
		w.dropSmall()
		w.sums.truncated(0)
		w.changed, w.size = true, 0
		return nil
	}
	if w.fits(size) {
		w.small.truncate(size)
		w.sums.truncated(size)
		w.changed, w.size = true, size
		return nil
	}
	if err := w.begin(min(w.size, size)); err != nil {
		return err
	}
	w.sums.truncated(size)
	if err := w.fanOut(diskPatience, func(out PeerWriter) error { return out.Truncate(size) }, nil); err != nil {
		return err
	}
	w.size = size
	return nil
}

// ReadPages reads the pending content back.
func (w *Writer) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	if err := w.enter(); err != nil {
		return 0, err
	}
	defer w.mu.Unlock()
	if err := w.usable("transfer.Read"); err != nil {
		return 0, err
	}
	if err := checkRange("transfer.Read", subject(w.cap), off, 0); err != nil {
		return 0, err
	}
	if off >= w.size {
		return 0, io.EOF
	}
	short := int64(len(p)) > w.size-off
	if short {
		p = p[:w.size-off]
	}
	n, err := w.readBack(p, sums, off)
	if err == nil && short {
		err = io.EOF
	}
	return n, err
}

// Sync makes everything accepted durable on every live piece.
func (w *Writer) Sync(ctx context.Context) error {
	if err := w.enter(); err != nil {
		return err
	}
	defer w.mu.Unlock()
	if err := w.usable("transfer.Sync"); err != nil {
		return err
	}
	if w.small != nil {
		if err := w.begin(w.size); err != nil {
			return err
		}
	}
	if w.pieces == nil {
		return nil
	}
	return w.fanOut(2*diskPatience, func(out PeerWriter) error { return out.Sync(ctx) }, nil)
}

// SetXattr keeps an attribute for the commit; nil removes it.
func (w *Writer) SetXattr(name string, value []byte) {
	if w.enter() != nil {
		return // it will not be committed
	}
	defer w.mu.Unlock()
	if w.xattrs == nil {
		w.xattrs = map[string][]byte{}
	}
	w.xattrs[name] = value
}

// Xattrs is a copy of the changes kept so far; nil is a removal.
func (w *Writer) Xattrs() map[string][]byte {
	if w.enter() != nil {
		return nil
	}
	defer w.mu.Unlock()
	return maps.Clone(w.xattrs)
}

// changedXattrs are the attributes that the commit sets, and those that it removes.
func (w *Writer) changedXattrs() (set map[string][]byte, gone []string) {
	for name, value := range w.xattrs {
		if value == nil {
			gone = append(gone, name)
			continue
		}
		if set == nil {
			set = map[string][]byte{}
		}
		set[name] = value
	}
	return set, gone
}

// usable refuses use after the end of the write.
func (w *Writer) usable(op string) error {
	switch {
	case w.broken != nil:
		return w.broken
	case w.done, w.request != nil:
		return badHandle(op, subject(w.cap))
	}
	return nil
}

func (w *Writer) dropBase() {
	if w.base != nil {
		w.base.Close()
		w.base = nil
	}
}
