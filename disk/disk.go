package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"hemera/platform/contain"
	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Options are what a disk may be told. Zero values are good.
type Options struct {
	// Headroom is kept free, in bytes: below it the disk is full.
	Headroom int64
	Log      *slog.Logger
	Now      func() time.Time
	// Panics contains panics of the disk's own goroutines; it may be nil.
	Panics *contain.Panics
	// IdlePieces is how many pieces that nobody reads stay open, with what is known of them; 256 if 0.
	IdlePieces int // each has a descriptor
	// TableBlocks is how many blocks of page CRCs stay in memory, 4 KiB each for 4 MiB of data; 4096 if 0.
	TableBlocks int
	// PendingBlocks is the same for each piece being written; 256 if 0.
	PendingBlocks int
	// VerifiedBytes is how much verified data may stay mapped for sendfile; 2 GiB if 0, none if negative.
	VerifiedBytes int64
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.IdlePieces == 0 {
		o.IdlePieces = 256
	}
	if o.TableBlocks == 0 {
		o.TableBlocks = 4096
	}
	if o.PendingBlocks == 0 {
		o.PendingBlocks = 256
	}
	if o.VerifiedBytes == 0 {
		o.VerifiedBytes = 2 << 30
	}
	return o
}

// Disk is a Store on a directory that [Format] labelled.
//
// A pending piece lives in the directory "pending"; sealing moves it to its place. What must be
// durable for a seal are its content and its name in "pending", one directory for all, so that
// concurrent seals share its sync. The move itself need not be: after a crash [Open] finds sealed
// pieces that are still in "pending", checks every page, and moves them again. This needs of the
// filesystem that a rename is atomic across a crash, which ext4, XFS and btrfs promise.
type Disk struct {
	tree
	uuid string // of the label, when the disk was opened
	opt  Options
	// ahead is set if sequential readers keep a window of their own in flight.
	ahead bool

	// What follows are the parts of a disk; each says itself what it guards, and with what.
	pending   dirSync
	open      openPieces
	tables    tableCache
	windows   windowCache
	gauge     gauge
	condition condition
	sealed    sealedPieces
	bad       badPlaces
	scrubbed  scrubTime
	changes   changes

	// turns serialize what makes, moves and removes names: those of one piece change in its turn. A turn is held over
	// calls to the device, and begins before mu is locked.
	turns [64]turn

	mu      sync.Mutex
	writers map[hemera.PieceID]*writer // of pending pieces, one each
	closed  bool
}

// turn is the one in which the piece's files are made, moved and removed.
func (d *Disk) turn(id hemera.PieceID) turn {
	h := uint64(id.File)*31 + uint64(id.Gen)*7 + uint64(id.Index)
	return d.turns[h%uint64(len(d.turns))]
}

var _ Store = (*Disk)(nil)

// Open opens the disk at path. NotFound if there is no label. It finishes what a crash interrupted,
// which reads the pieces that were sealed in the last seconds before it.
func Open(fsys vfs.FS, path string, o Options) (*Disk, error) {
	const op = "disk.Open"
	label, err := readLabel(fsys, path)
	if err != nil {
		return nil, err
	}
	d := &Disk{tree: tree{fsys, path}, uuid: label.uuid, opt: o.withDefaults(), writers: map[hemera.PieceID]*writer{}}
	for i := range d.turns {
		d.turns[i] = newTurn()
	}
	d.ahead = kernelAhead(fsys, path+"/"+labelName) < aheadKernel
	d.pending.init(fsys, d.pendingDir())
	d.open.init(d.opt.IdlePieces)
	d.tables.init(d.opt.TableBlocks)
	d.windows.init(d.opt.VerifiedBytes)
	d.changes.init(label.changes, d.opt.Now())
	d.condition.init(&d.tree, d.uuid, d.opt, &d.gauge)
	d.sealed.init(&d.tree, d.opt.Log, d.opt.Panics)
	if err := (recovery{d}).run(); err != nil {
		return nil, errs.Wrap(err, op, path)
	}
	d.condition.look()
	d.sealed.start()
	return d, nil
}

// UUID is the disk's identity, from its label.
func (d *Disk) UUID() string { return d.uuid }

// Status looks at the disk, as long as its device takes, and reports. Rates are averages since the report before.
func (d *Disk) Status() Status {
	d.condition.look()
	s := d.condition.status()
	s.Pieces, s.LastScrub, s.Changes = d.sealed.now(), d.scrubbed.time(), d.changes.number.Load()
	return s
}

// Progress changes whenever a call to the device has returned, also within calls that take many steps, and says
// whether calls wait for the device now.
func (d *Disk) Progress() (returned uint64, waiting bool) { return d.gauge.progress(), !d.gauge.idle() }

// SetHeadroom changes how many bytes are kept free. It does not call the device.
func (d *Disk) SetHeadroom(n int64) {
	d.condition.setHeadroom(n)
}

// SetIdlePieces changes how many pieces that nobody reads stay open.
func (d *Disk) SetIdlePieces(n int) { d.open.resize(n) }

// SetVerified changes how much verified data may stay mapped, in bytes.
func (d *Disk) SetVerified(bytes int64) { d.windows.resize(bytes) }

// Create begins a pending piece. Besides what [Store] says it fails with ReadOnly, NoSpace or
// Unavailable while the disk's health forbids writing. A Writer that is still open for the same
// piece fails with Conflict from now on.
func (d *Disk) Create(id hemera.PieceID, o CreateOptions) (Writer, error) {
	const op = "disk.Create"
	if err := d.admit(op, id, o); err != nil {
		return nil, err
	}
	// This is only to say Exists early: the seal looks again, in one step with the rename.
	if !o.Replace {
		if err := d.refuseSealed(op, id); err != nil {
			return nil, err
		}
	}
	w, err := d.begin(op, id, o)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// admit refuses what the disk cannot take.
func (d *Disk) admit(op string, id hemera.PieceID, o CreateOptions) error {
	// What the footer could not hold is refused now, and not at the seal.
	if len(o.Path) > hemera.PathMax || o.SizeHint < 0 || o.SizeHint > hemera.FileSizeMax {
		return errs.New(errs.Invalid, op, id.String(), "path too long, or size out of range")
	}
	return d.condition.admit(op, o.SizeHint)
}

// begin makes the file of a pending piece, and its Writer the only one.
func (d *Disk) begin(op string, id hemera.PieceID, o CreateOptions) (*writer, error) {
	turn := d.turn(id)
	turn.begin()
	defer turn.end()
	d.fence(id)
	w, err := newWriter(d, id, o)
	if err != nil {
		return nil, d.failed(err, op, id)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed { // meanwhile: the file expires after the next open
		_ = w.file.Close()
		d.gauge.writeOpens.Add(-1)
		return nil, errs.New(errs.Unavailable, op, d.path, "the disk is closed")
	}
	d.writers[id] = w
	return w, nil
}

// fence takes the piece from the Writer that has it. It is called in the piece's turn.
func (d *Disk) fence(id hemera.PieceID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.writers[id]; w != nil {
		w.fenced.Store(true)
		delete(d.writers, id)
	}
}

// refuseSealed is Exists if the piece is sealed. What has a sealed piece's name and no valid footer
// (written without sync, before a crash) is removed.
func (d *Disk) refuseSealed(op string, id hemera.PieceID) error {
	if _, err := d.fs.Stat(d.sealedPath(id)); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return d.failed(err, op, id)
	}
	// Something is there. Only its footer says whether that is a piece.
	p, err := d.acquire(id)
	if err == nil {
		d.release(p)
		return errs.New(errs.Exists, op, id.String(), "the piece is sealed")
	}
	if !errors.Is(err, errs.Corrupt) {
		return d.failed(err, op, id)
	}
	d.opt.Log.Warn("piece without a valid footer is replaced", "disk", d.path, "piece", id.String(), "error", err)
	return d.failed(d.removeInvalid(id), op, id)
}

// removeInvalid removes a sealed piece that has no valid footer. It looks again where no Writer can seal the
// piece: one may have been sealed in its place meanwhile.
func (d *Disk) removeInvalid(id hemera.PieceID) error {
	turn := d.turn(id)
	turn.begin()
	defer turn.end()
	p, err := d.acquire(id)
	if err == nil {
		d.release(p)
		return errs.New(errs.Exists, "disk.Create", id.String(), "the piece is sealed")
	}
	if !errors.Is(err, errs.Corrupt) {
		return ignoreMissing(err)
	}
	err = d.sealed.remove(id)
	d.bad.replaced(id)
	return err
}

// Open opens a sealed piece.
func (d *Disk) Open(id hemera.PieceID) (Reader, error) {
	p, err := d.acquire(id)
	if err != nil {
		return nil, d.failed(err, "disk.Open", id)
	}
	d.gauge.readOpens.Add(1)
	return &reader{piece: p}, nil
}

// OpenHeld implements [MemoryStore].
func (d *Disk) OpenHeld(id hemera.PieceID) (Reader, bool) {
	p, _ := d.open.take(id)
	if p == nil {
		return nil, false
	}
	d.gauge.readOpens.Add(1)
	return &reader{piece: p}, true
}

// acquire returns the sealed piece, to be given back with release.
func (d *Disk) acquire(id hemera.PieceID) (*piece, error) {
	p, forgets := d.open.take(id)
	if p != nil {
		return p, nil
	}
	p, err := loadPiece(d, d.sealedPath(id))
	if err != nil {
		return nil, err
	}
	if p.stat.ID != id { // a filesystem that was repaired may have mixed up its files
		p.close()
		return nil, errs.New(errs.Corrupt, "disk.Open", id.String(), fmt.Sprintf("the footer is that of piece %s", p.stat.ID))
	}
	return d.open.put(id, p, forgets), nil
}

func (d *Disk) release(p *piece) {
	if unused := d.open.giveBack(p); unused != nil {
		unused.close()
	}
}

// Reopen has the next open of the piece read its footer and table again; Readers keep theirs.
func (d *Disk) Reopen(id hemera.PieceID) { d.open.forget(id) }

// Remove removes a piece, sealed or pending. It is not durable: after a crash the piece may be
// there again.
func (d *Disk) Remove(id hemera.PieceID) error {
	const op = "disk.Remove"
	turn := d.turn(id)
	turn.begin()
	d.fence(id)
	err := d.removePending(id)
	turn.end()
	if err != nil {
		return d.failed(err, op, id)
	}
	err = d.sealed.remove(id)
	d.open.forget(id)
	d.bad.replaced(id)
	d.changed()
	return d.failed(err, op, id)
}

// Close closes what is open. Writers that are still there lose their pieces' files, which expire;
// Readers go on.
func (d *Disk) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true // from now on begin makes no Writer
	writers := d.writers
	d.writers = map[hemera.PieceID]*writer{}
	d.mu.Unlock()
	for _, w := range writers { // their files stay open until they end
		w.fenced.Store(true)
	}
	d.sealed.stop()
	d.open.closeIdle()
	return nil
}

// failed gives an error of the operation its place and counts it against the disk's health, but one place
// that does not match its checksum only once.
func (d *Disk) failed(err error, op string, id hemera.PieceID) error {
	if err == nil {
		return nil
	}
	// A bad page that is read again and again is one fault of the disk.
	kind := errs.KindOf(err)
	if kind != errs.Corrupt || d.bad.first(placeOf(err, id)) {
		d.condition.blame(kind)
	}
	return errs.Wrap(err, op, id.String()+" on "+d.path)
}
