package mounting

import "hemera/words/tapeapi"

// choice is a queue that a drive can serve now, and the tape.
type choice struct {
	entry *entry
	tape  *tape
	from  tapeapi.PoolName // the supply pool that the tape comes from, "" if it is in the pool
	rule  Rule             // why it is worth it
}

// try returns how a drive can serve a queue, or the rule that keeps it from that. It says nothing about what the drive does now.
func (b *Board) try(e *entry, d *Drive) (c choice, kept Rule) {
	c.entry = e
	if e.Files <= 0 {
		return c, NoWork
	}
	if _, disabled := b.disabled[d.Library]; disabled {
		return c, LibraryDisabled
	}
	// Which tape, before limits: a rule about tapes says more than one about counts.
	if e.Writes() {
		c.tape, c.from, kept = b.stock.toWrite(e.Pool, d)
	} else {
		c.tape, kept = toRead(e, d)
	}
	if kept != NoRule {
		return c, kept
	}
	if b.atLimit(e) {
		return c, DriveLimit
	}
	if !b.hasRoom(e) {
		return c, BufferFull
	}
	// The mount is paid.
	if c.tape.drive == d {
		c.rule = Mounted
		return c, NoRule
	}
	if c.rule = b.worth(e); c.rule == NoRule {
		return c, TooLittle
	}
	return c, NoRule
}

// atLimit reports whether the organisation has as many drives for the direction as it may have.
func (b *Board) atLimit(e *entry) bool {
	l := e.load
	if !l.limited {
		return false
	}
	if e.Writes() {
		return l.writing >= l.limits.WriteDrives
	}
	return l.reading >= l.limits.ReadDrives
}

// needs returns the room that a session of a queue takes of the buffer at first, in bytes.
func (b *Board) needs(e *entry) int64 {
	if !fillsBuffer(e.Key) {
		return 0
	}
	return max(e.Largest, min(e.Bytes, b.buffer.Batch))
}

// hasRoom reports whether the buffer takes a session of the queue.
func (b *Board) hasRoom(e *entry) bool {
	return !fillsBuffer(e.Key) || e.Short == "" && b.room() >= b.needs(e)
}

// room returns the bytes of the buffer that are left for recalls. It may be below zero.
func (b *Board) room() int64 { return b.buffer.Free - b.buffer.Keep - b.reserved }

// worth returns which criterion makes a mount worth it, NoRule if none does.
func (b *Board) worth(e *entry) Rule {
	mounts := e.mounts
	if e.Writes() {
		mounts += e.holders
	}
	switch c := b.criteria; {
	case e.Files <= mounts: // each mount needs a file
		return NoRule
	case e.Bytes/(1+mounts) >= c.MinBytes:
		return EnoughBytes
	case e.Files/(1+mounts) >= c.MinFiles:
		return EnoughFiles
	case mounts == 0 && b.now.Sub(e.Oldest) >= e.MinAge:
		return OldEnough
	}
	return NoRule
}
