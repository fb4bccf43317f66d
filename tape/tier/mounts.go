package tier

import (
	"context"
	"time"

	"hemera/tape/mounting"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Each drive asks for work when it has none, and is answered when there
// is some. The answer is decided and noted under one lock, so two drives
// never get the same tape, and an organisation never more drives than it
// may have.
//
// A new tape is labelled by the mount that would have written to it
// first. The drive then asks again and gets the work. The server looks at
// the tape before it labels: one with something on it is refused, and put
// aside for a person.

const (
	// mountPoll is how long a drive waits for an answer, and mountLook after
	// what time a waiting one is decided on again: ages and lingering end
	// without an event.
	mountPoll = 20 * time.Second
	mountLook = 2 * time.Second
)

// NextMount says what an idle drive is to do, and waits until there is
// something. The caller has checked the lease.
func (t *dispatcher) NextMount(ctx context.Context, node hemera.NodeID, name string) (hemera.TapeMount, error) {
	deadline := time.NewTimer(mountPoll)
	defer deadline.Stop()
	t.asksAgain(node, name)
	for {
		// Before the decision, so that nothing that happens after it is missed.
		t.mu.Lock()
		wake := t.wake
		t.mu.Unlock()
		m, again, err := t.next(ctx, node, name)
		if err != nil || m.Kind != hemera.MountNothing {
			return m, err
		}
		look := time.NewTimer(again)
		select {
		case <-ctx.Done():
			look.Stop()
			return m, errs.Wrap(ctx.Err(), "tier.NextMount", name)
		case <-deadline.C:
			look.Stop()
			return m, nil
		case <-wake:
		case <-look.C:
		}
		look.Stop()
	}
}

// asksAgain ends what the drive had before: a drive asks when it does
// nothing.
func (t *dispatcher) asksAgain(node hemera.NodeID, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, d, _ := t.driveOf(node, name); d != nil {
		if m := t.mounts[d.mount]; m != nil {
			t.endMount(m)
		}
	}
}

// next decides once. It also says after what time another decision may
// come.
func (t *dispatcher) next(ctx context.Context, node hemera.NodeID, name string) (none hemera.TapeMount, again time.Duration, err error) {
	f, err := t.facts(ctx)
	if err != nil {
		return none, mountLook, err
	}
	m, move := t.decide(f, node, name)
	if m.ID != 0 {
		if err := (issuer{t.parts}).issue(ctx, node, name, m); err != nil {
			t.abandon(m.ID)
			return none, mountLook, err
		}
	}
	if move.from != "" {
		// Before the mount begins: the next decision must see the tape in its
		// new pool.
		if err := t.supply(ctx, m.VID, move.from, m.Pool); err != nil {
			t.abandon(m.ID)
			return none, mountLook, err
		}
	}
	return m, mountLook, nil
}

// supplyMove is a tape that a pool takes from another.
type supplyMove struct{ from string }

// decide chooses what the drive does and notes it, so that the next
// decision knows.
func (t *dispatcher) decide(f facts, node hemera.NodeID, name string) (out hemera.TapeMount, move supplyMove) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, d, state := t.driveOf(node, name)
	if d == nil || l.clash != "" {
		return out, move
	}
	paused := t.Paused != nil && t.Paused()
	if vid, force, ok := t.wantsLabel(f, l, state); ok && !paused {
		return t.begin(l, d, name, hemera.TapeMount{Kind: hemera.MountLabel, VID: vid, Labels: hemera.TapeLabels{Force: force}, Why: "an admin asked for it"}, f), move
	}
	if s := t.wantsScan(f, l, d, state); s != nil {
		return t.beginScan(l, d, name, s, f), move
	}
	if paused {
		return out, move
	}
	if vid := t.wantsReadBack(f, l, state, true); vid != "" {
		return t.beginReadBack(l, d, vid, f), move
	}
	picture := t.picture(f)
	what := mounting.New(picture).Decide(name)
	switch what.Do {
	case hemera.MountUnload:
		return hemera.TapeMount{Kind: hemera.MountUnload, VID: d.vid, Why: what.Reason}, move
	case hemera.MountWork:
		m := hemera.TapeMount{Kind: hemera.MountWork, VID: what.VID, Job: what.Queue.Kind, Pool: what.Queue.Pool, Why: what.Reason}
		// A new tape gets its label first; the drive then asks again, with the
		// tape in it.
		for _, tape := range f.tapes {
			if tape.VID == what.VID && tape.Labelled.IsZero() && tape.LastFSeq == 0 && what.Queue.Writes() {
				m.Kind, m.Job, m.Why = hemera.MountLabel, 0, "the tape is new: "+what.Reason
			}
		}
		m = t.begin(l, d, name, m, f)
		if m.Kind == hemera.MountLabel {
			t.mounts[m.ID].ahead = what.Queue // or the next drive takes another new tape for it
		}
		t.charge(d, m, what, picture)
		return m, supplyMove{what.Supply}
	}
	if vid := t.wantsReadBack(f, l, state, false); vid != "" {
		return t.beginReadBack(l, d, vid, f), move
	}
	return out, move
}

// wantsLabel finds a tape of the library that an admin wants labelled, in
// the drive or in no drive.
func (t *dispatcher) wantsLabel(f facts, l *library, state hemera.TapeDriveState) (vid string, force, ok bool) {
	if t.out(l, state) {
		return "", false, false
	}
	for _, tape := range f.tapes {
		// What was written since the order is not lost to it.
		if tape.Relabel == nil || tape.LastFSeq > 0 || tape.Relabel.Force && tape.Unscanned != "" || !l.has(tape.VID) || t.usedElsewhere(l, tape.VID, state.Name) {
			continue
		}
		return tape.VID, tape.Relabel.Force, true
	}
	return "", false, false
}

// out reports whether a drive is not to work, with orders of people neither.
// The lock is held.
func (t *dispatcher) out(l *library, state hemera.TapeDriveState) bool {
	return t.settings().DrivesDown[state.Name] != "" || state.Problem != "" || l.state.Problem != "" || t.settings().Libraries[l.state.Name].Disabled
}

// begin makes a mount of a decision. The lock is held.
func (t *dispatcher) begin(l *library, d *drive, name string, out hemera.TapeMount, f facts) hemera.TapeMount {
	// The number is never used again, so a late report cannot be taken for
	// another mount's.
	t.lastMount++
	m := &mount{id: t.lastMount, node: l.node, drive: name, kind: out.Job, vid: out.VID, pool: out.Pool, begun: t.Now(), scans: out.Kind == hemera.MountScan, given: map[hemera.TapeJobKey]hemera.TapeJob{}, filling: map[hemera.TapeJobKey]fill{}}
	// Without them a bit that flips on its way to the drive is on tape for
	// good, and is found by a recall. A drive that has none labels without.
	out.Labels.Protected = out.Kind == hemera.MountLabel
	for _, tape := range f.tapes {
		if tape.VID == out.VID {
			out.Labels.ReclaimedFSeq, out.Labels.ReclaimedID = tape.ReclaimedFSeq, tape.ReclaimedID
			out.Labels.LastFSeq, out.Labels.LastID, out.Labels.Media = tape.LastFSeq, tape.LastID, tape.MediaType
			if m.pool == "" {
				m.pool, out.Pool = tape.Pool, tape.Pool
			}
			// A label is never encrypted: it says which tape this is.
			if out.Kind != hemera.MountLabel {
				out.Labels.Key = f.keys.key(keyOfTape(tape, t.settings().Pools[out.Pool], out.Job == hemera.TapeArchive))
			}
		}
	}
	out.ID = m.id
	t.mounts[m.id], d.mount = m, m.id
	return out
}

// charge notes what the rules must know of a mount for the next
// decisions: its queue's priority, the room that it may fill, and since
// when the drive serves the queue. The lock is held.
func (t *dispatcher) charge(d *drive, made hemera.TapeMount, what mounting.Decision, p mounting.Picture) {
	m := t.mounts[made.ID]
	if m == nil || made.Kind != hemera.MountWork {
		return
	}
	m.reserved = what.Reserve
	for _, q := range p.Queues {
		if q.Key == what.Queue {
			m.priority = q.Priority
		}
	}
	// Several sessions for one queue, without another one between them, are
	// one turn.
	if d.last != what.Queue {
		d.last, d.turn = what.Queue, t.Now()
	}
}

// abandon forgets a mount that did not begin.
func (t *dispatcher) abandon(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.mounts[id]; m != nil {
		t.endMount(m)
	}
}

// supply moves an empty tape to the pool that takes it.
func (t *dispatcher) supply(ctx context.Context, vid, from, to string) error {
	return t.catalogue.ChangeTape(ctx, vid, func(old *hemera.Tape) (*hemera.Tape, error) {
		if old == nil || old.Pool != from || old.LastFSeq > 0 {
			return nil, errs.New(errs.Conflict, "tier.Supply", vid, "the tape is not an empty one of pool "+from+" any more")
		}
		tape := *old
		tape.Pool, tape.Changed, tape.ChangedBy = to, t.now(), hemera.SystemIdentity().Name
		return &tape, nil
	})
}
