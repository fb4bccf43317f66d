package tier

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"hemera/tape/catalogue"
	"hemera/tape/mounting"
	"hemera/tape/tapeconfig"
	"hemera/words/hemera"
)

// Decisions are made by tape/mounting, which sees one picture and does
// no I/O. Here the picture is put together from two sources: what the
// namespace stores (tapes and the sums of queues, read without a lock)
// and what is in memory (libraries, drives and mounts, under the lock).
// The two are not of one moment. That is safe: a decision that is made
// from an older sum gives a drive a queue that has become empty, and its
// session ends at once.
//
// A picture costs a record for each tape, and for each user of a queue one
// and one more for each mount policy, whatever the number of files. So it is made again for each
// decision.

// facts are what decisions are made from, besides what is in memory.
type facts struct {
	tapes  []hemera.Tape
	queues []catalogue.Queue
	keys   keyring
	paused []pausedQueue   // for people: decisions pass them over
	back   hemera.WentBack // the same
}

// pausedQueue is a user's queue of files that wait for a later attempt, and
// the first of them.
type pausedQueue struct {
	catalogue.Queue
	first hemera.TapeJob
}

// facts reads tapes and queues. Both are short: a record for each tape,
// and few for each user of a queue.
func (t *parts) facts(ctx context.Context) (f facts, err error) {
	if f.tapes, err = t.tapes(ctx); err == nil {
		f.queues, err = t.catalogue.Queues(ctx)
	}
	// Looked up here, where no lock is held: it reads files of the machine.
	f.keys = readKeys(t.Secrets, t.settings().Keys)
	return f, err
}

// picture puts the facts and the memory together. The lock is held.
func (t *parts) picture(f facts) mounting.Picture {
	criteria := t.settings().MountCriteria()
	p := mounting.Picture{Now: t.Now(), Pools: map[string]mounting.Pool{}, Organisations: map[string]mounting.Organisation{}, Libraries: map[string]string{},
		Rates: mounting.DefaultRates().Faster(slowest(t.libraries)), Buffer: t.room.room(int64(criteria.Batch))}
	p.Criteria = mounting.Criteria{MinBytes: int64(criteria.MinBytes), MinFiles: criteria.MinFiles, Linger: criteria.Linger.Duration(), Turn: criteria.Turn.Duration()}
	for name, pool := range t.settings().Pools {
		p.Pools[name] = mounting.Pool{Partial: pool.PartialTapes, Supplies: pool.Supplies(), Lock: f.keys.lock(pool.Key)}
	}
	for name, o := range t.settings().Organisations {
		p.Organisations[name] = mounting.Organisation{ReadDrives: o.ReadDrives, WriteDrives: o.WriteDrives}
	}
	// Libraries without an object are enabled.
	for name, l := range t.settings().Libraries {
		if l.Disabled {
			p.Libraries[name] = l.Reason
		}
	}
	pools := map[string]string{} // of tapes
	for _, tape := range f.tapes {
		pools[tape.VID] = tape.Pool
		p.Tapes = append(p.Tapes, t.tapeIn(tape, f.keys))
	}
	p.Queues = t.queuesIn(f, pools)
	for _, node := range slices.Sorted(maps.Keys(t.libraries)) {
		l := t.libraries[node]
		if l.clash != "" {
			continue // its drives may have the names of others, by which decisions are made
		}
		for _, state := range l.state.Drives {
			p.Drives = append(p.Drives, t.driveIn(l, state))
		}
	}
	return p
}

// slowest is the speed of the slowest library, as emulated ones have it:
// real ones beside them take the time of real ones. The lock is held.
func slowest(libraries map[hemera.NodeID]*library) (speed int) {
	for _, l := range libraries {
		if is := max(1, l.state.Speed); speed == 0 || is < speed {
			speed = is
		}
	}
	return speed
}

// tapeIn is a tape as decisions see it. Where it is, its library says;
// the catalogue where it was.
func (t *parts) tapeIn(tape hemera.Tape, keys keyring) mounting.Tape {
	may, library := tapeconfig.Permits(tape.State), tape.Library
	if l := t.libraryOf(tape.VID); l != nil {
		library = l.state.Name
	}
	return mounting.Tape{VID: tape.VID, Pool: tape.Pool, Library: library, Media: tape.MediaType, State: tape.State, Reason: tape.Reason,
		Read: may.Recall && may.Mount, Write: may.Write && may.Mount && tape.Unscanned == "" && !inClear(tape, t.settings().Pools[tape.Pool]),
		Full: tape.Full, Used: tape.Occupancy, Capacity: tape.Capacity, Lock: keys.lock(tape.Key)}
}

// queuesIn adds up what users have in each queue. Jobs that a mount was
// given count no more.
func (t *parts) queuesIn(f facts, pools map[string]string) []mounting.Queue {
	sums := map[mounting.Key]*mounting.Queue{}
	for _, q := range f.queues {
		if q.Failed || q.Oldest.After(t.Now()) {
			continue // failed for good, or the first of them waits for its next attempt
		}
		key := keyOf(q.Kind, q.Name)
		pool := q.Name
		if key.VID != "" {
			pool = pools[q.Name]
		}
		priority, age := policies{t}.ofQueue(q)
		s := sums[key]
		if s == nil {
			s = &mounting.Queue{Key: key, Organisation: t.settings().Pools[pool].Organisation, Oldest: q.Oldest, MinAge: age, Priority: priority, Short: t.room.lacks(key)}
			sums[key] = s
		}
		s.Files, s.Bytes = s.Files+q.Files, s.Bytes+q.Bytes
		s.Priority, s.MinAge = max(s.Priority, priority), min(s.MinAge, age)
		if q.Oldest.Before(s.Oldest) {
			s.Oldest = q.Oldest
		}
	}
	// The bytes of what was given are not known to the sum; they count until
	// they are done.
	for _, m := range t.mounts {
		if s := sums[keyOf(m.kind, m.queue())]; s != nil {
			s.Files -= int64(len(m.given))
		}
	}
	out := make([]mounting.Queue, 0, len(sums))
	for _, s := range sums {
		if s.Files > 0 {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b mounting.Queue) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.VID, b.VID))
	})
	return out
}

// keyOf names a queue as decisions do.
func keyOf(kind hemera.TapeJobKind, name string) mounting.Key {
	if kind == hemera.TapeArchive {
		return mounting.Key{Kind: kind, Pool: name}
	}
	return mounting.Key{Kind: kind, VID: name}
}

// driveIn is a drive as decisions see it.
func (t *parts) driveIn(l *library, state hemera.TapeDriveState) mounting.Drive {
	own := l.drive(state.Name, t.Now())
	d := mounting.Drive{Name: state.Name, Library: l.state.Name, Up: true, Writes: state.Media, Reads: state.Reads, VID: own.vid, Idle: own.idle,
		Mounted: own.mounted, Last: own.last, Begun: own.turn}
	// The first reason is enough: the drive works when none is left.
	switch {
	case !t.online(l):
		d.Up, d.Reason, d.Remedy = false, t.gone(l), remedyOfNode(l.node)
	case t.settings().DrivesDown[state.Name] != "":
		d.Up, d.Reason = false, t.settings().DrivesDown[state.Name]
	case state.Problem != "":
		d.Up, d.Reason = false, state.Problem
	case l.state.Problem != "":
		d.Up, d.Reason = false, l.state.Problem
	}
	// The server tells it; a mount that was given since has not begun there.
	d.Unloads = own.mount == 0 && own.vid != "" && state.Status == "UNMOUNTING"
	if m := t.mounts[own.mount]; m != nil {
		d.VID = m.vid
		queue := keyOf(m.kind, m.queue())
		if m.ahead != (mounting.Key{}) {
			queue = m.ahead
		}
		d.Work = &mounting.Work{Queue: queue, Organisation: t.settings().Pools[m.pool].Organisation,
			Priority: m.priority, Left: m.bytes, Reserved: m.fills()}
	}
	return d
}
