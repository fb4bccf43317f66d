package tier

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"hemera/tape/catalogue"
	"hemera/tape/mounting"
	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Decisions are made by tape/mounting, which sees one picture and does
// no I/O. Here the picture is put together from two sources: what the
// namespace stores (tapes and the sums of queues, read without a lock)
// and what is in memory (libraries, drives and mounts).
// The two are not of one moment. That is safe: a decision that is made
// from an older sum gives a drive a queue that has become empty, and its
// session ends at once.
//
// A picture costs a record for each tape, and for each user of a queue one
// and one more for each mount policy, whatever the number of files. So it is made again for each
// decision.

// facts are the input of decisions, besides mounts.
type facts struct {
	tapes    []tapeapi.Tape
	queues   []catalogue.Queue
	keys     keyring
	fleet    fleet
	settings *tapeconfig.Settings
	paused   []pausedQueue   // for people: decisions pass them over
	back     hemera.WentBack // the same
}

// pausedQueue is a user's queue of files that wait for a later attempt, and
// the first of them.
type pausedQueue struct {
	catalogue.Queue
	first tapeapi.Job
}

// inventory reads what decisions are made from.
type inventory struct {
	env       *env
	settings  *settings
	libraries *libraries
}

// tapes lists the tapes of the catalogue. What a library tells of its
// cartridges is truer than what the media type says, or an admin did.
func (t *inventory) tapes(ctx context.Context) ([]tapeapi.Tape, error) {
	all, err := t.env.catalogue.Tapes(ctx)
	now := t.libraries.now()
	for i := range all {
		if l := now.libraryOf(all[i].VID); l != nil && l.state.Capacities[all[i].VID] > 0 {
			all[i].Capacity = l.state.Capacities[all[i].VID]
		}
	}
	return all, err
}

// facts reads tapes and queues. Both are short: a record for each tape,
// and few for each user of a queue.
func (t *inventory) facts(ctx context.Context) (f facts, err error) {
	if f.tapes, err = t.tapes(ctx); err == nil {
		f.queues, err = t.env.catalogue.Queues(ctx)
	}
	f.settings, f.fleet = t.settings.now(), t.libraries.now()
	// Looked up here, where no lock is held: it reads files of the machine.
	f.keys = readKeys(t.env.Secrets, f.settings.Config.Keys)
	return f, err
}

// look returns the view of the rules on the facts and the mounts, for people.
func (ms *mounts) look(f facts) mounting.Picture {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.picture(f)
}

// picture puts the facts and the memory together. The lock is held.
func (ms *mounts) picture(f facts) mounting.Picture {
	c := f.settings.Config
	criteria := c.MountCriteria()
	p := mounting.Picture{Now: ms.clock(), Pools: map[tapeapi.PoolName]mounting.Pool{}, Organisations: map[string]mounting.Organisation{}, Libraries: map[string]string{},
		Rates: mounting.DefaultRates().Faster(f.fleet.slowest()), Buffer: ms.room.room(int64(criteria.Batch))}
	p.Criteria = mounting.Criteria{MinBytes: int64(criteria.MinBytes), MinFiles: criteria.MinFiles, Linger: criteria.Linger.Duration(), Turn: criteria.Turn.Duration()}
	for name, pool := range c.Pools {
		p.Pools[tapeapi.PoolName(name)] = mounting.Pool{Partial: pool.PartialTapes, Supplies: pool.Supplies(), Lock: f.keys.lock(pool.Key)}
	}
	for name, o := range c.Organisations {
		p.Organisations[name] = mounting.Organisation{ReadDrives: o.ReadDrives, WriteDrives: o.WriteDrives}
	}
	// Libraries without an object are enabled.
	for name, l := range c.Libraries {
		if l.Disabled {
			p.Libraries[name] = l.Reason
		}
	}
	pools := map[hemera.VID]tapeapi.PoolName{} // of tapes
	for _, tape := range f.tapes {
		pools[tape.VID] = tape.Pool
		p.Tapes = append(p.Tapes, tapeIn(f, tape))
	}
	p.Queues = ms.queuesIn(f, pools)
	for _, node := range slices.Sorted(maps.Keys(f.fleet.all)) {
		l := f.fleet.all[node]
		if l.clash != "" {
			continue // its drives may have the names of others, by which decisions are made
		}
		for _, state := range l.state.Drives {
			p.Drives = append(p.Drives, ms.driveIn(f, l, state))
		}
	}
	return p
}

// tapeIn returns a tape as decisions see it. Its library says where it is; the catalogue says where it was.
func tapeIn(f facts, tape tapeapi.Tape) mounting.Tape {
	may, library := tapeconfig.Permits(tape.State), tape.Library
	if l := f.fleet.libraryOf(tape.VID); l != nil {
		library = l.state.Name
	}
	return mounting.Tape{VID: tape.VID, Pool: tape.Pool, Library: library, Media: tape.MediaType, State: tape.State, Reason: tape.Reason,
		Read: may.Recall && may.Mount, Write: may.Write && may.Mount && tape.Unscanned == "" && !inClear(tape, f.settings.Config.Pools[string(tape.Pool)]),
		Full: tape.Full, Used: tape.Occupancy, Capacity: tape.Capacity, Lock: f.keys.lock(tape.Key)}
}

// queuesIn adds up what users have in each queue. Jobs that a mount was
// given count no more.
func (ms *mounts) queuesIn(f facts, pools map[hemera.VID]tapeapi.PoolName) []mounting.Queue {
	sums := map[mounting.Key]*mounting.Queue{}
	for _, q := range f.queues {
		if q.Failed || q.Oldest.After(ms.clock()) {
			continue // failed for good, or the first of them waits for its next attempt
		}
		key := keyOf(q.Kind, q.Name)
		pool := q.Name
		if key.VID != "" {
			pool = string(pools[hemera.VID(q.Name)])
		}
		priority, age := policies{f.settings}.ofQueue(q)
		s := sums[key]
		if s == nil {
			s = &mounting.Queue{Key: key, Organisation: f.settings.Config.Pools[pool].Organisation, Oldest: q.Oldest, MinAge: age, Priority: priority, Short: ms.room.lacks(key)}
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
	for _, m := range ms.all {
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

// driveIn returns a drive as decisions see it.
func (ms *mounts) driveIn(f facts, l *library, state tapeapi.DriveState) mounting.Drive {
	own, c := ms.drive(l.node, state.Name), f.settings.Config
	d := mounting.Drive{Name: state.Name, Library: l.state.Name, Up: true, Writes: state.Media, Reads: state.Reads, VID: own.vid, Idle: own.idle,
		Mounted: own.mounted, Last: own.last, Begun: own.turn}
	// The first reason is enough: the drive works when none is left.
	switch {
	case !f.fleet.online(l):
		d.Up, d.Reason, d.Remedy = false, f.fleet.gone(l), remedyOfNode(l.node)
	case c.DrivesDown[state.Name] != "":
		d.Up, d.Reason = false, c.DrivesDown[state.Name]
	case state.Problem != "":
		d.Up, d.Reason = false, state.Problem
	case l.state.Problem != "":
		d.Up, d.Reason = false, l.state.Problem
	}
	// The server tells it; a mount that was given since has not begun there.
	d.Unloads = own.mount == 0 && own.vid != "" && state.Status == tapeapi.DriveUnmounting
	if m := ms.all[own.mount]; m != nil {
		d.VID = m.vid
		queue := keyOf(m.kind, m.queue())
		if m.ahead != (mounting.Key{}) {
			queue = m.ahead
		}
		d.Work = &mounting.Work{Queue: queue, Organisation: c.Pools[string(m.pool)].Organisation,
			Priority: m.priority, Left: m.bytes, Reserved: m.room.bytes()}
	}
	return d
}

// lockOf returns the missing key that keeps a tape from being read. It returns nil for a tape that needs no key, and for
// one that is not in the catalogue.
func (f facts) lockOf(vid hemera.VID) *errs.Error {
	for _, tape := range f.tapes {
		if l := f.keys.lock(tape.Key); tape.VID == vid && l.Key != "" {
			return errs.New(errs.Unavailable, "tier.Scan", string(vid), "the tape is encrypted with key "+l.Key+", which cannot be used: "+l.Why).
				WithRemedy("bring the key back: `hemera tape key add " + l.Key + " --from FILE`")
		}
	}
	return nil
}

// lockText returns the text of a lock as the problem of a scan.
func lockText(lock *errs.Error) string { return lock.Text + " (" + lock.Remedy + ")" }

// waitsForScan reports whether a tape is not written until it was scanned.
func (f facts) waitsForScan(vid hemera.VID) bool {
	return slices.ContainsFunc(f.tapes, func(tape tapeapi.Tape) bool { return tape.VID == vid && tape.Unscanned != "" })
}
