package mounting

import (
	"fmt"
	"strconv"
	"time"
)

// library says why a library is not used.
func (b *Board) library(library string) string {
	return withReason("library "+library+" is disabled", b.disabled[library])
}

// sayDown says why a drive is not used.
func sayDown(d *Drive) string { return withReason("drive "+d.Name+" is down", d.Reason) }

// sayTape says why a tape is not read or written.
func sayTape(t *tape) string {
	// A full tape may be in any state; that it is full matters to writing alone.
	if t.Full && t.Read {
		return "tape " + string(t.VID) + " is full"
	}
	return withReason(fmt.Sprintf("tape %s is %s", t.VID, t.State), t.Reason)
}

// space says what is left of the buffer for recalls.
func (b *Board) space(needs int64) string {
	text := fmt.Sprintf("the disk buffer has room for %s of recalled files", size(max(0, b.room())))
	// Without a number the caller asks about a session that runs.
	if needs > 0 {
		text += fmt.Sprintf(", and %s are needed to begin", size(needs))
	}
	return text
}

// waiting says what waits in a queue.
func (b *Board) waiting(e *entry) string {
	return fmt.Sprintf("%s in %d %s, the oldest for %s", size(e.Bytes), e.Files, plural(e.Files, "file"), age(b.now.Sub(e.Oldest)))
}

// worthMount says why a queue is worth a mount.
func (b *Board) worthMount(c choice, d *Drive) string {
	e := c.entry
	text := fmt.Sprintf("%s: %s wait", e, b.waiting(e))
	// The criterion that was met first, in the order of worth.
	switch c.rule {
	case Mounted:
		return text + ", and tape " + string(c.tape.VID) + " is mounted already"
	case EnoughBytes:
		text += fmt.Sprintf(", %s are worth a mount", size(b.criteria.MinBytes))
	case EnoughFiles:
		text += fmt.Sprintf(", %d files are worth a mount", b.criteria.MinFiles)
	case OldEnough:
		text += fmt.Sprintf(", and the mount policy lets them wait for %s", age(e.MinAge))
	}
	if c.from != "" {
		text += fmt.Sprintf("; tape %s comes from supply pool %s", c.tape.VID, c.from)
	}
	// It is unmounted first.
	if d.VID != "" {
		text += "; tape " + string(d.VID) + " has no more urgent work"
	}
	return text
}

// idle says why a drive without a tape gets nothing.
func (b *Board) idle(d *Drive) (Rule, string) {
	// The first queue stands for all: it would be served first.
	for _, e := range b.order {
		if e.Files <= 0 {
			continue
		}
		_, kept := b.try(e, d)
		text := fmt.Sprintf("%s: %s", e, b.obstacle(e, d, kept))
		if more := len(b.order) - 1; more > 0 {
			text += fmt.Sprintf("; %d more %s", more, plural(int64(more), "queue"))
		}
		return kept, text
	}
	return NoWork, "nothing waits"
}

// obstacle says how a rule keeps a queue from a drive.
func (b *Board) obstacle(e *entry, d *Drive, kept Rule) string {
	switch kept {
	case NoRule, Queued:
		if d.Work == nil && d.Unloads {
			return b.doing(d) + ", and can begin then"
		}
		return "drive " + d.Name + " can begin"
	case NoWork:
		return "no job waits"
	case KeyMissing:
		return b.locked(e)
	case LibraryDisabled:
		return b.library(d.Library)
	case TapeUnknown:
		return "the catalogue has no tape " + string(e.VID)
	case TapeState:
		return sayTape(e.tape)
	case OtherLibrary:
		return fmt.Sprintf("tape %s is in library %s, drive %s in library %s", e.VID, e.tape.Library, d.Name, d.Library)
	case Media:
		return fmt.Sprintf("drive %s does not read %s", d.Name, e.tape.Media)
	case TapeInUse:
		return fmt.Sprintf("tape %s is in drive %s: %s", e.VID, e.tape.drive.Name, b.doing(e.tape.drive))
	case PartialTapes:
		return fmt.Sprintf("%d %s of pool %s can be written at a time, and all are in use",
			max(1, b.stock.pools[e.Pool].Partial), plural(max(1, b.stock.pools[e.Pool].Partial), "tape"), e.Pool)
	case NoTape:
		return fmt.Sprintf("pool %s and its supply pools have no tape in library %s that drive %s can write", e.Pool, d.Library, d.Name)
	case DriveLimit:
		return b.limit(e)
	case BufferFull:
		if e.Short != "" {
			return e.Short
		}
		return b.space(b.needs(e))
	case TooLittle:
		return b.tooLittle(e)
	case DriveDown:
		return sayDown(d)
	case DriveBusy, Working:
		return b.doing(d)
	}
	return string(kept)
}

// locked says which key is missing.
func (b *Board) locked(e *entry) string {
	if e.Writes() {
		l := b.stock.pools[e.Pool].Lock
		return withReason(fmt.Sprintf("new tapes of pool %s are encrypted with key %s, which cannot be used", e.Pool, l.Key), l.Why)
	}
	return withReason(fmt.Sprintf("tape %s is encrypted with key %s, which cannot be used", e.VID, e.tape.Lock.Key), e.tape.Lock.Why)
}

// limit says which limit of drives is reached.
func (b *Board) limit(e *entry) string {
	if l := e.load; e.Writes() {
		return fmt.Sprintf("organisation %s writes with %d of %d drives", e.Organisation, l.writing, l.limits.WriteDrives)
	}
	return fmt.Sprintf("organisation %s reads with %d of %d drives", e.Organisation, e.load.reading, e.load.limits.ReadDrives)
}

// tooLittle says what is missing for a mount.
func (b *Board) tooLittle(e *entry) string {
	text := fmt.Sprintf("%s wait; a mount is worth %s, %d files, ", b.waiting(e), size(b.criteria.MinBytes), b.criteria.MinFiles)
	// Age counts for the first mount only.
	mounts := e.mounts
	if e.Writes() {
		mounts += e.holders
	}
	if mounts > 0 {
		return text + fmt.Sprintf("each beside %d that %s there", mounts, verb(mounts))
	}
	return text + "or an age of " + age(e.MinAge)
}

// withReason adds a reason, if there is one.
func withReason(text, reason string) string {
	if reason != "" {
		return text + ": " + reason
	}
	return text
}

// plural returns a noun after a number.
func plural(n int64, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// verb returns "is" or "are" after a number.
func verb(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// size shows bytes with three digits at most, in powers of 1000.
func size(n int64) string {
	// Two digits for small numbers, so that 1.5 TB is not 2 TB.
	units, f, i := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}, float64(n), 0
	for f >= 999.5 && i < len(units)-1 {
		f, i = f/1000, i+1
	}
	digits := 0
	if i > 0 && f < 9.95 {
		digits = 1
	}
	return strconv.FormatFloat(f, 'f', digits, 64) + " " + units[i]
}

// age shows a duration in whole seconds, minutes or hours.
func age(d time.Duration) string {
	// From two of a unit on, so that there is no 1 min for 90 s.
	switch {
	case d < 2*time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 0, 64) + " s"
	case d < 2*time.Hour:
		return strconv.FormatFloat(d.Minutes(), 'f', 0, 64) + " min"
	case d < 48*time.Hour:
		return strconv.FormatFloat(d.Hours(), 'f', 0, 64) + " h"
	}
	return strconv.FormatFloat(d.Hours()/24, 'f', 0, 64) + " days"
}

// butDown says of a drive that works why it gets nothing more: it may hang, or was put down and finishes. "" of one that is well.
func butDown(d *Drive) string {
	if d.Up || d.Reason == "" {
		return ""
	}
	return "; it gets nothing more: " + d.Reason
}

// doing says what a drive does.
func (b *Board) doing(d *Drive) string {
	switch {
	case d.Work != nil:
		return fmt.Sprintf("drive %s works: %s, %s left of what it was given%s", d.Name, d.Work.Queue, size(d.Work.Left), butDown(d))
	case !d.Up:
		return sayDown(d)
	case d.Unloads:
		return fmt.Sprintf("drive %s gives its tape %s back", d.Name, d.VID)
	case d.VID != "":
		return fmt.Sprintf("drive %s is idle for %s with tape %s in it", d.Name, age(b.now.Sub(d.Idle)), d.VID)
	}
	return "drive " + d.Name + " is idle"
}
