package mounting

import "time"

// forecast returns when the next mount for a queue transfers its first file, and when all that waits is done; zero if the rule that is nearest
// to a start does not end by itself.
//
// It serves the queues ahead in their order, each by the drive of its kind that is free first. New requests, faults and other queues' age are not
// in it: it is a forecast for people.
func (b *Board) forecast(e *entry, rule Rule) (begins, ends time.Time) {
	ready := b.now
	switch rule {
	case Working:
		return b.now, b.now.Add(b.lasts(e) / time.Duration(1+e.mounts))
	case TooLittle:
		// Bytes and files may be enough sooner, and nobody knows.
		ready = e.Oldest.Add(e.MinAge)
	case DriveLimit:
		// A limit of no drives is lifted by a person.
		if b.barred(e) {
			return begins, ends
		}
	case TapeInUse, PartialTapes, DriveBusy, Queued:
	default:
		return begins, ends
	}
	// Drives that are down or of another library do not count, nor do those that cannot take the media.
	free := map[string]time.Time{} // when each drive is, that could serve the queue
	for _, name := range b.names {
		if d := b.drives[name]; b.compatible(e, d) {
			free[name] = b.freeAt(d)
		}
	}
	for _, ahead := range b.order {
		if ahead == e {
			break
		}
		// What is not worth a mount yet does not stand in the way.
		if ahead.Files <= 0 || ahead.mounts > 0 || b.worth(ahead) == NoRule || b.held(ahead) {
			continue
		}
		if name := b.firstFree(free, ahead); name != "" {
			free[name] = free[name].Add(b.rates.Mount + b.turn(ahead) + b.rates.Unmount)
		}
	}
	// All drives that could serve it are gone, or its pool has no tape.
	name := b.firstFree(free, e)
	if name == "" {
		return begins, ends
	}
	begins = later(ready, free[name]).Add(b.rates.Mount)
	if d := e.tape; d != nil && d.drive == b.drives[name] {
		begins = later(ready, free[name]) // it is mounted there
	}
	// The tape must come out of the other drive first.
	if rule == TapeInUse && e.tape.drive != b.drives[name] {
		begins = later(begins, b.freeAt(e.tape.drive).Add(b.rates.Mount))
	}
	return begins, begins.Add(b.lasts(e))
}

// held reports whether a queue waits for something that does not end by itself, and that no drive shows.
func (b *Board) held(e *entry) bool {
	return e.tape != nil && (!e.tape.Read || e.tape.Lock.closed()) || !b.hasRoom(e) || b.barred(e)
}

// barred reports whether the organisation of a queue may have no drive at all for it.
func (b *Board) barred(e *entry) bool {
	most := e.load.limits.ReadDrives
	if e.Writes() {
		most = e.load.limits.WriteDrives
	}
	return e.load.limited && most <= 0
}

// compatible reports whether a drive could serve a queue if both were free.
func (b *Board) compatible(e *entry, d *Drive) bool {
	if !d.Up || b.isDisabled(d.Library) {
		return false
	}
	if !e.Writes() {
		return e.tape != nil && e.tape.Library == d.Library && takes(d, e.tape.Media, false)
	}
	// A pool whose tapes are in use gets one back.
	_, _, kept := b.stock.toWrite(e.Pool, d)
	return kept == NoRule || kept == PartialTapes
}

// firstFree returns the drive that is free first and could serve a queue, "" if there is none.
func (b *Board) firstFree(free map[string]time.Time, e *entry) (first string) {
	for _, name := range b.names {
		at, is := free[name]
		if is && (first == "" || at.Before(free[first])) && b.compatible(e, b.drives[name]) {
			first = name
		}
	}
	return first
}

// freeAt forecasts when a drive has done what it was given, its tape carried back.
func (b *Board) freeAt(d *Drive) time.Time {
	at := b.now
	if d.Work != nil {
		at = at.Add(transfer(d.Work.Left, b.rate(d.Work.Queue)))
	}
	// An idle drive may hold a tape too.
	if d.VID != "" {
		at = at.Add(b.rates.Unmount)
	}
	return at
}

// turn returns the time for which a queue keeps a drive while others wait.
func (b *Board) turn(e *entry) time.Duration { return min(b.lasts(e), b.criteria.Turn) }

// lasts returns the time that one drive needs for all that waits in a queue.
func (b *Board) lasts(e *entry) time.Duration {
	d := transfer(e.Bytes, b.rate(e.Key))
	if !e.Writes() {
		d += time.Duration(min(e.Files, locatesMax)) * b.rates.Locate
	}
	return d
}

// locatesMax bounds the files that are counted, so that a duration does not overflow: 100 million of them take years.
const locatesMax = 100_000_000

// rate returns the bytes per second of a queue's transfers.
func (b *Board) rate(k Key) int64 {
	if k.Writes() {
		return b.rates.Archive
	}
	return b.rates.Recall
}

// transfer returns the time that bytes take at a rate; a day at most, since a forecast for longer says nothing.
func transfer(bytes, rate int64) time.Duration {
	const most = 24 * time.Hour
	// Rates of zero are those of a picture without any: nothing is forecast from them.
	if rate <= 0 || bytes <= 0 {
		return 0
	}
	if bytes/rate >= int64(most/time.Second) {
		return most
	}
	return time.Duration(float64(bytes) / float64(rate) * float64(time.Second))
}

// later returns the later of two times.
func later(x, y time.Time) time.Time {
	if y.After(x) {
		return y
	}
	return x
}
