package mounting

import (
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Decision is the next action of a drive.
type Decision struct {
	// Do is MountWork (with VID, which is mounted unless it is in the drive), MountUnload or MountNothing.
	Do    tapeapi.MountKind
	Queue Key        // whose jobs the mount gets
	VID   hemera.VID // of the tape
	// Supply is the pool that the tape was in. The caller moves it to the pool of the queue first.
	Supply  tapeapi.PoolName
	Reserve int64     // of the buffer, in bytes, for as long as the mount lasts or has not filled it
	Again   time.Time // when a decision may be another one without any event; zero: none is known
	Rule    Rule
	Reason  string // in words
}

// Decide answers for one drive of a picture. For several drives make a board: see [New].
func Decide(p Picture, drive string) Decision { return New(p).Decide(drive) }

// Decide returns what a drive is to do now. It changes nothing: see [Board.Begin].
func (b *Board) Decide(drive string) Decision {
	d := b.drives[drive]
	switch {
	case d == nil:
		return Decision{Rule: DriveDown, Reason: "there is no drive " + drive}
	case d.Work != nil:
		return Decision{Rule: DriveBusy, Reason: "the drive works: " + d.Work.Queue.String() + butDown(d)}
	case b.isDisabled(d.Library):
		return Decision{Rule: LibraryDisabled, Reason: b.library(d.Library)}
	case !d.Up && d.VID != "":
		return Decision{Do: tapeapi.MountUnload, VID: d.VID, Rule: DriveDown, Reason: sayDown(d) + ", so its tape is freed for others"}
	case !d.Up:
		return Decision{Rule: DriveDown, Reason: sayDown(d)}
	}
	// What the mounted tape can do, and what any other tape can.
	kept, other := b.bestMounted(d), b.bestOther(d)
	switch {
	case kept != nil && (other == nil || !b.outranks(other.entry, kept.entry.Priority, d)):
		return b.mount(*kept, d)
	case other != nil:
		return b.mount(*other, d)
	case d.VID == "":
		rule, text := b.idle(d)
		return Decision{Rule: rule, Reason: text, Again: b.nextAge()}
	}
	// Until then a request for this tape needs no mount.
	if over := d.Idle.Add(b.criteria.Linger); over.After(b.now) {
		return Decision{Rule: Lingering, VID: d.VID, Again: earlier(over, b.nextAge()), Reason: "nothing waits for tape " + string(d.VID) + ", which stays in the drive for a while"}
	}
	return Decision{Do: tapeapi.MountUnload, VID: d.VID, Rule: LingerOver, Reason: "nothing waits for tape " + string(d.VID)}
}

// isDisabled reports whether a library is not to be used.
func (b *Board) isDisabled(library string) bool {
	_, disabled := b.disabled[library]
	return disabled
}

// mount returns the decision for a choice.
func (b *Board) mount(c choice, d *Drive) Decision {
	return Decision{
		Do: tapeapi.MountWork, Queue: c.entry.Key, VID: c.tape.VID, Supply: c.from, Reserve: b.needs(c.entry),
		Rule: c.rule, Reason: b.worthMount(c, d),
	}
}

// bestMounted returns the first queue that the tape in the drive serves, nil if none waits.
func (b *Board) bestMounted(d *Drive) (best *choice) {
	// Eight queues at most can have to do with one tape.
	t := b.stock.tapes[d.VID]
	if t == nil {
		return nil
	}
	for _, kind := range []tapeapi.JobKind{tapeapi.Archive, tapeapi.Recall, tapeapi.Repack, tapeapi.Verify} {
		for _, key := range []Key{{Kind: kind, Pool: t.Pool}, {Kind: kind, VID: t.VID}} {
			e := b.queues[key]
			if e == nil || best != nil && b.beforeMounted(best.entry, e, d) < 0 {
				continue
			}
			if c, kept := b.try(e, d); kept == NoRule && c.tape == t {
				best = &c
			}
		}
	}
	return best
}

// beforeMounted orders queues that the tape in a drive serves: of equal priority, one that has had its turn goes last.
func (b *Board) beforeMounted(x, y *entry, d *Drive) int {
	if x.Priority == y.Priority && b.over(d.Begun) && (x.Key == d.Last) != (y.Key == d.Last) {
		if y.Key == d.Last {
			return -1
		}
		return 1
	}
	return before(x, y)
}

// bestOther returns the first queue that the drive serves with another tape than the one in it, nil if none is worth it. While a tape is in the
// drive, queues are left to idle drives that are empty: they have nothing to unmount.
func (b *Board) bestOther(d *Drive) *choice {
	lingers := d.VID != "" && b.now.Sub(d.Idle) < b.criteria.Linger
	for _, e := range b.order {
		c, kept := b.try(e, d)
		if kept != NoRule || c.tape.drive == d || lingers && b.anotherTakes(e, d) {
			continue
		}
		return &c
	}
	return nil
}

// anotherTakes reports whether an idle drive without a tape can serve a queue.
func (b *Board) anotherTakes(e *entry, d *Drive) bool {
	for _, name := range b.names {
		o := b.drives[name]
		if o == d || !o.Up || o.Work != nil || o.VID != "" {
			continue
		}
		if _, kept := b.try(e, o); kept == NoRule {
			return true
		}
	}
	return false
}

// outranks reports whether a drive leaves its tape, which has work of the priority, for another queue.
func (b *Board) outranks(other *entry, priority int64, d *Drive) bool {
	return other.Priority > priority || other.Priority == priority && b.over(d.Mounted)
}

// over reports whether a turn that began then is over.
func (b *Board) over(begun time.Time) bool { return b.now.Sub(begun) >= b.criteria.Turn }

// nextAge returns the time at which the next queue becomes old enough for a mount; zero if none will.
func (b *Board) nextAge() (next time.Time) {
	for _, e := range b.order {
		if at := e.Oldest.Add(e.MinAge); e.Files > 0 && at.After(b.now) {
			next = earlier(next, at)
		}
	}
	return next
}

// earlier returns the earlier of two times that are known.
func earlier(x, y time.Time) time.Time {
	if x.IsZero() || !y.IsZero() && y.Before(x) {
		return y
	}
	return x
}
