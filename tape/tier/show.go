package tier

import (
	"context"
	"slices"
	"strings"

	"hemera/tape/catalogue"
	"hemera/tape/mounting"
	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/tapeapi"
)

// Everything here only reads. Reasons come from the same rules that
// decide, over the same picture: so what people are told is why it is so,
// and not a second opinion. Estimates are those of the rules.

// reporter says what people see.
type reporter struct {
	env       *env
	mounts    *mounts
	scans     *scans
	inventory *inventory
	disks     *diskCopies
}

// outlook returns an outlook for the files of one answer.
func (t *reporter) outlook() *outlook { return &outlook{reporter: t} }

// TapePicture implements adminapi.TapeAdmin.
func (t *reporter) TapePicture(ctx context.Context) (p adminapi.TapePicture, err error) {
	f, err := t.inventory.facts(ctx)
	if err == nil {
		err = t.findPaused(ctx, &f)
	}
	if err != nil {
		return p, err
	}
	f.back = t.env.Tree.Stats().WentBack
	p.WentBack = f.back
	p.Pools = pools(f)
	p.Queues = t.queues(f)
	p.Held = heldOf(f.settings.Config, f)
	for _, q := range f.queues {
		if _, _, held := catalogue.HeldBy(q.Name); q.Failed && !held {
			p.Failed = append(p.Failed, adminapi.TapeQueue{Kind: q.Kind, Name: q.Name, Files: q.Files, Bytes: q.Bytes})
		}
	}
	works := t.mounts.works()
	p.Sessions = t.mounts.done()
	for _, l := range f.fleet.all {
		p.Libraries = append(p.Libraries, l.state)
		for _, state := range l.state.Drives {
			p.Drives = append(p.Drives, t.driveRow(f, works, l, state))
		}
	}
	slices.SortFunc(p.Drives, func(a, b adminapi.TapeDrive) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Libraries, func(a, b tapeapi.Library) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range t.scans.list() {
		p.Scans = append(p.Scans, s.TapeScan)
	}
	p.Attention = t.attention(f)
	if !p.WentBack.Restored.IsZero() && p.WentBack.Merged.IsZero() {
		p.Attention = append(p.Attention, tapeapi.Attention{Subject: "namespace", What: p.WentBack.Text(), Command: "hemera ns rebuild --merge"})
	}
	return p, nil
}

// driveRow returns a drive as people see it.
func (t *reporter) driveRow(f facts, works []work, l *library, state tapeapi.DriveState) adminapi.TapeDrive {
	c := f.settings.Config
	row := adminapi.TapeDrive{DriveState: state, Library: l.state.Name, Node: l.node, Up: c.DrivesDown[state.Name] == "", Reason: c.DrivesDown[state.Name], Seen: l.seen}
	row.Comment = c.DriveComments[state.Name]
	row.LibraryDisabled = c.Libraries[l.state.Name].Disabled
	for _, m := range works { // the last one is the drive's
		if m.node != l.node || m.drive != state.Name {
			continue
		}
		row.Pool, row.Kind, row.Reserved = m.pool, m.kind, 0
		row.Organisation, row.Priority = c.Pools[string(m.pool)].Organisation, m.priority
		if m.kind == tapeapi.Recall {
			row.Reserved = m.fills
		}
	}
	row.Totals = t.mounts.totals(state)
	// What a server said last of a drive is not true any more.
	switch {
	case !f.fleet.online(l):
		row.Status, row.Problem, row.Since = tapeapi.DriveDown, f.fleet.gone(l), l.seen
	case state.Problem == "" && l.state.Problem != "":
		row.Problem = l.state.Problem
	}
	return row
}

// pools adds up the tapes of each pool.
func pools(f facts) []adminapi.TapePool {
	sums := map[tapeapi.PoolName]*adminapi.TapePool{}
	for name, pool := range f.settings.Config.Pools {
		sums[tapeapi.PoolName(name)] = &adminapi.TapePool{Name: name, Organisation: pool.Organisation}
	}
	for i := range f.tapes {
		if p := sums[f.tapes[i].Pool]; p != nil { // pools with tapes cannot be removed
			addTape(p, &f.tapes[i])
		}
	}
	out := make([]adminapi.TapePool, 0, len(sums))
	for _, p := range sums {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b adminapi.TapePool) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// addTape adds a tape to sums.
func addTape(p *adminapi.TapePool, tape *tapeapi.Tape) {
	p.Tapes, p.Capacity, p.Used = p.Tapes+1, p.Capacity+tape.Capacity, p.Used+tape.Occupancy
	p.Files, p.Bytes = p.Files+tape.Files, p.Bytes+tape.Bytes
	if tape.Full {
		p.FullTapes++
	}
	if !tape.Full && tape.State == tapeapi.Active && tape.Unscanned == "" {
		p.Writable += max(0, tape.Capacity-tape.Occupancy)
	}
	if tape.LastFSeq == 0 {
		p.Free++
	}
}

// queues returns the waiting queues, as people see them, with the reasons.
func (t *reporter) queues(f facts) (out []adminapi.TapeQueue) {
	picture, works := t.mounts.look(f), t.mounts.works()
	board := mounting.New(picture)
	for _, q := range picture.Queues {
		row := queueRow(f, works, q)
		row.Why, row.Estimate = explained(board, q.Key)
		row.NoRoom = board.Explain(q.Key).Reasons[0].Rule == mounting.BufferFull
		out = append(out, row)
	}
	return append(out, t.later(f, works, picture.Queues)...)
}

// later returns the queues whose files all wait for a later attempt: no drive could serve them now, and they wait all the
// same.
func (t *reporter) later(f facts, works []work, now []mounting.Queue) (out []adminapi.TapeQueue) {
	for _, p := range f.paused {
		is := func(q adminapi.TapeQueue) bool { return q.Kind == p.Kind && q.Name == p.Name }
		key := keyOf(p.Kind, p.Name)
		if slices.ContainsFunc(now, func(q mounting.Queue) bool { return q.Key == key }) {
			continue // files of another user can be done now
		}
		if at := slices.IndexFunc(out, is); at >= 0 {
			out[at].Files, out[at].Bytes = out[at].Files+p.Files, out[at].Bytes+p.Bytes
			continue
		}
		pool := p.Name
		for i := range f.tapes {
			if f.tapes[i].VID == key.VID {
				pool = string(f.tapes[i].Pool)
			}
		}
		priority, age := policies{f.settings}.ofQueue(p.Queue)
		row := queueRow(f, works, mounting.Queue{Key: key, Organisation: f.settings.Config.Pools[pool].Organisation, Files: p.Files, Bytes: p.Bytes, Oldest: p.first.Asked, Priority: priority, MinAge: age})
		row.Why, row.Estimate = t.ofJob(f, &p.first), p.first.After
		out = append(out, row)
	}
	return out
}

// findPaused adds to the facts the queues that wait for a later attempt, with
// the first job of each.
func (t *reporter) findPaused(ctx context.Context, f *facts) error {
	for _, q := range f.queues {
		if q.Failed || !q.Oldest.After(t.env.Now()) {
			continue
		}
		first, err := t.env.catalogue.Jobs(ctx, q, 1, nil)
		if err != nil {
			return err
		}
		if len(first) > 0 {
			f.paused = append(f.paused, pausedQueue{q, first[0]})
		}
	}
	return nil
}

// queueRow returns a queue as people see it, without the reason for which it waits.
func queueRow(f facts, works []work, q mounting.Queue) adminapi.TapeQueue {
	row := adminapi.TapeQueue{Kind: q.Kind, Name: string(q.Pool) + string(q.VID), Pool: q.Pool, Organisation: q.Organisation, Files: q.Files, Bytes: q.Bytes,
		Oldest: q.Oldest, Priority: q.Priority, MinAge: q.MinAge}
	for i := range f.tapes {
		tape := &f.tapes[i]
		if tape.VID == q.VID {
			row.Pool, row.Library = tape.Pool, tape.Library
		}
		if tape.VID == q.VID || q.Pool != "" && tape.Pool == q.Pool {
			addTape(&row.Tapes, tape)
			if !tape.Full && tapeconfig.Permits(tape.State).Write && tape.Unscanned == "" {
				row.Writable++
			}
		}
	}
	limits := f.settings.Config.Organisations[q.Organisation]
	row.ReadDrives, row.WriteDrives = limits.ReadDrives, limits.WriteDrives
	row.PriorityPolicy, row.AgePolicy = policiesOf(f, q.Key)
	for _, m := range works {
		if m.queue == q.Key {
			row.Mounts, row.MountFiles, row.MountBytes = row.Mounts+1, row.MountFiles+m.files, row.MountBytes+m.bytes
		}
	}
	return row
}

// policiesOf names the mount policies that decide about a queue: that of
// the highest priority, and that of the lowest age.
func policiesOf(f facts, k mounting.Key) (priority, age string) {
	for _, q := range f.queues {
		if q.Failed || keyOf(q.Kind, q.Name) != k {
			continue
		}
		// A queue has the highest priority and the lowest age of its jobs, which
		// may come from two policies.
		all := policies{f.settings}
		for _, policy := range all.of(q) {
			high, low := all.urgency(policy, q.Kind)
			best, _ := all.urgency(priority, q.Kind)
			_, least := all.urgency(age, q.Kind)
			if priority == "" || high > best {
				priority = policy
			}
			if age == "" || low < least {
				age = policy
			}
		}
	}
	return priority, age
}
