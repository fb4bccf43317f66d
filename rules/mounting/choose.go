package mounting

// choice is a queue that a drive can serve now, and the tape.
type choice struct {
	entry *entry
	tape  *tape
	from  string // the supply pool that the tape comes from, "" if it is in the pool
	rule  Rule   // why it is worth it
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
	if e.Writes() {
		c.tape, c.from, kept = b.tapeToWrite(e, d)
	} else {
		c.tape, kept = b.tapeToRead(e, d)
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
	if c.tape.drive == d {
		c.rule = Mounted
		return c, NoRule
	}
	if c.rule = b.worth(e); c.rule == NoRule {
		return c, TooLittle
	}
	return c, NoRule
}

// tapeToRead checks the tape that a queue reads.
func (b *Board) tapeToRead(e *entry, d *Drive) (*tape, Rule) {
	t := e.tape
	switch {
	case t == nil:
		return nil, TapeUnknown
	case !t.Read:
		return nil, TapeState
	case t.Library != d.Library:
		return nil, OtherLibrary
	case !takes(d, t.Media, false):
		return nil, Media
	case t.drive != nil && t.drive != d:
		return nil, TapeInUse
	}
	return t, NoRule
}

// tapeToWrite chooses a tape: the mounted one; else the fullest that is partly full; else an empty one, of the pool and then of its supplies.
func (b *Board) tapeToWrite(e *entry, d *Drive) (chosen *tape, from string, kept Rule) {
	var mounted, partial, empty *tape
	var open int64 // tapes that are partly full, or will be
	for _, t := range b.shelves[e.Pool] {
		elsewhere := t.drive != nil && t.drive != d
		if t.Library != d.Library || !b.written(t) {
			continue
		}
		if t.Used > 0 || elsewhere {
			open++
		}
		switch {
		case elsewhere || !takes(d, t.Media, true):
		case t.drive == d:
			mounted = t
		case t.Used > 0:
			if partial == nil || t.Used > partial.Used || t.Used == partial.Used && t.VID < partial.VID {
				partial = t
			}
		case empty == nil || t.VID < empty.VID:
			empty = t
		}
	}
	pool := b.pools[e.Pool]
	another := open < max(1, pool.Partial)
	switch {
	case mounted != nil && (mounted.Used > 0 || another):
		return mounted, "", NoRule
	case partial != nil:
		return partial, "", NoRule
	case !another:
		return nil, "", PartialTapes
	case empty != nil:
		return empty, "", NoRule
	}
	for _, from := range pool.Supplies {
		if t := b.emptyOf(from, d); t != nil {
			return t, from, NoRule
		}
	}
	return nil, "", NoTape
}

// emptyOf returns the first empty tape of a supply pool that the drive can write.
func (b *Board) emptyOf(pool string, d *Drive) (first *tape) {
	for _, t := range b.shelves[pool] {
		if t.Used == 0 && t.drive == nil && t.Library == d.Library && takes(d, t.Media, true) && (first == nil || t.VID < first.VID) {
			first = t
		}
	}
	return first
}

// written reports whether a drive that is up, in the library of the tape, writes its media type.
func (b *Board) written(t *tape) bool {
	return b.writesAll[t.Library] || b.writes[t.Library][t.Media]
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

// needs is the room that a session of a queue takes of the buffer at first, in bytes.
func (b *Board) needs(e *entry) int64 {
	if !fillsBuffer(e.Key) {
		return 0
	}
	return max(e.Largest, min(e.Bytes, b.buffer.Batch))
}

// hasRoom reports whether the buffer takes a session of the queue.
func (b *Board) hasRoom(e *entry) bool {
	return !fillsBuffer(e.Key) || b.room() >= b.needs(e)
}

// room is what is left of the buffer for recalls. It may be below zero.
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
