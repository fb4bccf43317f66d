package disk

import (
	"fmt"
	"sync"

	"hemera/platform/turn"
	"hemera/words/errs"
	"hemera/words/hemera"
)

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

	// The parts of a disk follow; each says itself what it guards, and with what.
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
	turns [64]turn.Turn

	mu      sync.Mutex
	writers map[hemera.PieceID]*writer // of pending pieces, one each
	closed  bool
}

// turn returns the turn in which the piece's files are made, moved and removed.
func (d *Disk) turn(id hemera.PieceID) turn.Turn {
	h := uint64(id.File)*31 + uint64(id.Gen)*7 + uint64(id.Index)
	return d.turns[h%uint64(len(d.turns))]
}

var _ Store = (*Disk)(nil)

// UUID returns the disk's identity, from its label.
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

// SetIdlePieces changes the number of pieces without a reader that stay open.
func (d *Disk) SetIdlePieces(n int) { d.open.resize(n) }

// SetVerified changes how much verified data may stay mapped, in bytes.
func (d *Disk) SetVerified(bytes int64) { d.windows.resize(bytes) }

// fence takes the piece from the Writer that has it. It is called in the piece's turn.
func (d *Disk) fence(id hemera.PieceID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.writers[id]; w != nil {
		w.fenced.Store(true)
		delete(d.writers, id)
	}
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

// changed says that the disk has another piece, or one less: it makes the number grow, durably, when it is time. The piece does not depend on
// it, so a failure is only logged, and counted.
func (d *Disk) changed() {
	c, now := &d.changes, d.opt.Now()
	next := c.next.Load()
	if now.UnixNano() < next || !c.next.CompareAndSwap(next, now.Add(changesEvery).UnixNano()) { // another one does it
		return
	}
	if err := d.count(); err != nil {
		d.opt.Log.Error("that the disk changes is not in its label", "disk", d.path, "error", err)
	}
}

// count makes the number grow by one.
func (d *Disk) count() error {
	const op = "disk.Count"
	l, err := readLabel(d.fs, d.path)
	if err != nil {
		return errs.Wrap(err, op, d.path)
	}
	// The mount may have been exchanged under the process.
	if l.uuid != d.uuid || l.changes != d.changes.number.Load() {
		return errs.New(errs.Conflict, op, d.path, fmt.Sprintf("its label is another one: disk %s, changes %d", l.uuid, l.changes))
	}
	l.changes++
	if err := replaceLabel(d.fs, d.path, l); err != nil {
		return errs.Wrap(err, op, d.path)
	}
	d.changes.number.Store(l.changes)
	return nil
}
