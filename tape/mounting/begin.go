package mounting

import (
	"hemera/words/tapeapi"
)

// Begin notes that a drive does what was decided for it, for the decisions that follow on the same board.
func (b *Board) Begin(drive string, what Decision) {
	d := b.drives[drive]
	if d == nil || d.Work != nil || what.Do == tapeapi.MountNothing {
		return
	}
	// What the drive held is free, or stays in it.
	b.hold(d, -1)
	if t := b.stock.tapes[d.VID]; t != nil && d.VID != what.VID || what.Do == tapeapi.MountUnload {
		b.release(d)
	}
	// A queue that is not in the picture has no organisation to count for.
	e := b.queues[what.Queue]
	if what.Do != tapeapi.MountWork || e == nil {
		return
	}
	if d.VID != what.VID {
		d.VID, d.Mounted = what.VID, b.now
	}
	if d.Last != what.Queue {
		d.Last, d.Begun = what.Queue, b.now
	}
	if t := b.stock.tapes[what.VID]; t != nil {
		t.drive = d
		if what.Supply != "" {
			b.stock.move(t, what.Queue.Pool)
		}
	}
	d.Work = &Work{Queue: what.Queue, Organisation: e.Organisation, Priority: e.Priority, Left: e.Bytes / (1 + e.mounts), Reserved: what.Reserve}
	b.count(d.Work, 1)
}

// release takes the tape out of a drive.
func (b *Board) release(d *Drive) {
	if t := b.stock.tapes[d.VID]; t != nil && t.drive == d {
		t.drive = nil
	}
	d.VID = ""
}

// Continue reports whether the session of a drive gets more jobs, and if not, why it is to end. A session that ends this way leaves its queue as
// it is: the next decision may be for the same tape.
func (b *Board) Continue(drive string) (more bool, rule Rule, reason string) {
	d := b.drives[drive]
	if d == nil || d.Work == nil {
		return false, NoWork, "the drive does nothing"
	}
	// What a decision would not choose any more is not continued either.
	t := b.stock.tapes[d.VID]
	writes := d.Work.Queue.Writes()
	switch {
	case !d.Up:
		return false, DriveDown, sayDown(d)
	case b.isDisabled(d.Library):
		return false, LibraryDisabled, b.library(d.Library)
	case t == nil:
		return false, TapeUnknown, "the catalogue has no tape " + string(d.VID)
	case writes && (!t.Write || t.Full) || !writes && !t.Read:
		return false, TapeState, sayTape(t)
	case fillsBuffer(d.Work.Queue) && b.room()+d.Work.Reserved <= 0:
		return false, BufferFull, b.space(0)
	case !b.over(d.Mounted) && !b.over(d.Begun):
		return true, NoRule, ""
	}
	if e := b.waitsFor(d); e != nil {
		return false, TurnOver, "the drive has done this for long enough, and others wait: " + e.String()
	}
	return true, NoRule, ""
}

// fillsBuffer reports whether jobs of a queue need room on disks: those that read, but for verification.
func fillsBuffer(k Key) bool { return !k.Writes() && k.Kind != tapeapi.Verify }

// waitsFor returns the first queue of the same priority or a higher one that could be served if the drive were free, nil if none is, or if
// another drive is idle for it.
func (b *Board) waitsFor(d *Drive) *entry {
	// As if the drive were idle: its organisation has one drive less.
	w := d.Work
	d.Work = nil
	b.count(w, -1)
	defer func() {
		d.Work = w
		b.count(w, 1)
	}()
	for _, e := range b.order {
		if e.Priority < w.Priority {
			return nil // the rest is of lower priority too
		}
		if e.Key == w.Queue {
			continue
		}
		c, kept := b.try(e, d)
		if kept != NoRule || b.idleTakes(e, d) {
			continue
		}
		// Queues of the same tape take turns among themselves, and tapes in the drive.
		if same := c.tape.drive == d; same && b.over(d.Begun) || !same && b.over(d.Mounted) {
			return e
		}
	}
	return nil
}

// idleTakes reports whether another drive that is idle can serve a queue, with a tape in it or without.
func (b *Board) idleTakes(e *entry, d *Drive) bool {
	for _, name := range b.names {
		o := b.drives[name]
		if o == d || !o.Up || o.Work != nil {
			continue
		}
		if _, kept := b.try(e, o); kept == NoRule {
			return true
		}
	}
	return false
}
