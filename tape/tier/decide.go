package tier

import (
	"slices"

	"hemera/tape/mounting"
	"hemera/tape/tapeconfig"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// question is the request of a drive for work.
type question struct {
	node   hemera.NodeID
	drive  string
	paused bool          // drives do nothing but scan
	scans  []waitingScan // by VID, so that two drives come to the same order
}

// decision is the next action of a drive.
type decision struct {
	mount  tapeapi.Mount
	from   tapeapi.PoolName // the pool that gives its tape to the mount's; "" if none does
	scan   hemera.VID       // the tape whose scan the mount begins; "" if it is for none
	locked []lockedScan     // the scans that were passed over for their keys, and the one that was taken
}

// decide chooses what a drive does and notes it, so that the next
// decision knows.
func (ms *mounts) decide(f facts, q question) (out decision) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	f.fleet, f.settings = ms.libraries.now(), ms.settings.now()
	l, state, known := f.fleet.drive(q.node, q.drive)
	if !known || l.clash != "" {
		return out
	}
	if vid, force, ok := ms.wantsLabel(f, l, state); ok && !q.paused {
		out.mount = ms.begin(f, l, q.drive, tapeapi.Mount{Kind: tapeapi.MountLabel, VID: vid, Labels: tapeapi.Labels{Force: force}, Why: "an admin asked for it"}, nil)
		return out
	}
	var s *waitingScan
	if s, out.locked = ms.wantsScan(f, l, state, q.scans); s != nil {
		// Without a queue: nothing is reserved for it, and no turn is counted.
		out.scan = s.vid
		out.mount = ms.begin(f, l, q.drive, tapeapi.Mount{Kind: tapeapi.MountScan, VID: s.vid, Data: s.data, After: s.after, Why: "a scan was asked for"}, nil)
		return out
	}
	if q.paused {
		return out
	}
	if tape := ms.wantsReadBack(f, l, state, true); tape != nil {
		out.mount = ms.beginReadBack(f, l, q.drive, tape)
		return out
	}
	picture := ms.picture(f)
	what := mounting.New(picture).Decide(q.drive)
	switch what.Do {
	case tapeapi.MountUnload:
		out.mount = tapeapi.Mount{Kind: tapeapi.MountUnload, VID: ms.drive(q.node, q.drive).vid, Why: what.Reason}
	case tapeapi.MountWork:
		out.mount, out.from = ms.beginWork(f, l, q.drive, what, picture), what.Supply
	default:
		if tape := ms.wantsReadBack(f, l, state, false); tape != nil {
			out.mount = ms.beginReadBack(f, l, q.drive, tape)
		}
	}
	return out
}

// beginWork makes the mount for a queue. The lock is held.
func (ms *mounts) beginWork(f facts, l *library, drive string, what mounting.Decision, p mounting.Picture) tapeapi.Mount {
	m := tapeapi.Mount{Kind: tapeapi.MountWork, VID: what.VID, Job: what.Queue.Kind, Pool: what.Queue.Pool, Why: what.Reason}
	// A new tape gets its label first; the drive then asks again, with the
	// tape in it.
	for _, tape := range f.tapes {
		if tape.VID == what.VID && tape.Labelled.IsZero() && tape.LastFSeq == 0 && what.Queue.Writes() {
			m.Kind, m.Job, m.Why = tapeapi.MountLabel, 0, "the tape is new: "+what.Reason
		}
	}
	m = ms.begin(f, l, drive, m, nil)
	if m.Kind == tapeapi.MountLabel {
		ms.all[m.ID].ahead = what.Queue // or the next drive takes another new tape for it
	}
	ms.charge(ms.drive(l.node, drive), m, what, p)
	return m
}

// wantsLabel finds a tape of the library that an admin wants labelled, in
// the drive or in no drive.
func (ms *mounts) wantsLabel(f facts, l *library, state tapeapi.DriveState) (vid hemera.VID, force, ok bool) {
	if resting(f, l, state) {
		return "", false, false
	}
	for _, tape := range f.tapes {
		// What was written since the order is not lost to it.
		if tape.Relabel == nil || tape.LastFSeq > 0 || tape.Relabel.Force && tape.Unscanned != "" || !l.has(tape.VID) || ms.usedElsewhere(l, tape.VID, state.Name) {
			continue
		}
		return tape.VID, tape.Relabel.Force, true
	}
	return "", false, false
}

// begin makes a mount of a decision. The lock is held.
func (ms *mounts) begin(f facts, l *library, name string, out tapeapi.Mount, back *readingBack) tapeapi.Mount {
	// The number is never used again, so a late report cannot be taken for
	// another mount's.
	ms.last++
	m := &mount{id: ms.last, node: l.node, drive: name, kind: out.Job, vid: out.VID, pool: out.Pool, begun: ms.clock(), back: back, scans: out.Kind == tapeapi.MountScan, given: map[tapeapi.JobKey]tapeapi.Job{}}
	// Without them a bit that flips on its way to the drive is on tape for
	// good, and is found by a recall. A drive that has none labels without.
	out.Labels.Protected = out.Kind == tapeapi.MountLabel
	for _, tape := range f.tapes {
		if tape.VID == out.VID {
			out.Labels.ReclaimedFSeq, out.Labels.ReclaimedID = tape.ReclaimedFSeq, tape.ReclaimedID
			out.Labels.LastFSeq, out.Labels.LastID, out.Labels.Media = tape.LastFSeq, tape.LastID, tape.MediaType
			if m.pool == "" {
				m.pool, out.Pool = tape.Pool, tape.Pool
			}
			// A label is never encrypted: it says which tape this is.
			if out.Kind != tapeapi.MountLabel {
				out.Labels.Key = f.keys.key(keyOfTape(tape, f.settings.Config.Pools[string(out.Pool)], out.Job == tapeapi.Archive))
			}
		}
	}
	out.ID, m.room = m.id, ms.room.open(keyOf(m.kind, m.queue()))
	ms.all[m.id], ms.drive(l.node, name).mount = m, m.id
	return out
}

// charge notes what the rules must know of a mount for the next
// decisions: its queue's priority, the room that it may fill, and since
// when the drive serves the queue. The lock is held.
func (ms *mounts) charge(d *drive, made tapeapi.Mount, what mounting.Decision, p mounting.Picture) {
	m := ms.all[made.ID]
	if m == nil || made.Kind != tapeapi.MountWork {
		return
	}
	ms.room.expect(m.room, what.Reserve)
	for _, q := range p.Queues {
		if q.Key == what.Queue {
			m.priority = q.Priority
		}
	}
	// Several sessions for one queue, without another one between them, are
	// one turn.
	if d.last != what.Queue {
		d.last, d.turn = what.Queue, ms.clock()
	}
}

// resting reports whether a drive is not to work, with orders of people neither.
func resting(f facts, l *library, state tapeapi.DriveState) bool {
	c := f.settings.Config
	return c.DrivesDown[state.Name] != "" || state.Problem != "" || l.state.Problem != "" || c.Libraries[l.state.Name].Disabled
}

// usedElsewhere reports whether another drive has a tape, or is about to
// have it. The lock is held.
func (ms *mounts) usedElsewhere(l *library, vid hemera.VID, drive string) bool {
	// A drive that was just told has not reported the tape yet.
	for _, m := range ms.all {
		if m.vid == vid && m.drive != drive {
			return true
		}
	}
	// Nor has one whose mount was short.
	for id, d := range ms.drives {
		if d.left == vid && id.node == l.node && id.name != drive {
			return true
		}
	}
	return slices.ContainsFunc(l.state.Drives, func(o tapeapi.DriveState) bool { return o.VID == vid && o.Name != drive })
}

// wantsScan finds a tape that a drive can scan now. A key may go between the order and the mount. It may come back too, so a scan
// without its key waits. The lock is held.
func (ms *mounts) wantsScan(f facts, l *library, state tapeapi.DriveState, waiting []waitingScan) (s *waitingScan, locked []lockedScan) {
	if resting(f, l, state) {
		return nil, nil
	}
	for i := range waiting {
		s := &waiting[i]
		if !reads(l, state, s.vid) || ms.usedElsewhere(l, s.vid, state.Name) {
			continue
		}
		if lock := f.lockOf(s.vid); lock != nil {
			locked = append(locked, lockedScan{s.vid, lockText(lock)})
			continue
		}
		return s, append(locked, lockedScan{s.vid, ""})
	}
	return nil, locked
}

// reads reports whether a drive can read a tape, which is in its library.
func reads(l *library, state tapeapi.DriveState, vid hemera.VID) bool {
	media, here := l.state.VIDs[vid]
	return here && (media == "" || slices.Contains(state.Media, media) || slices.Contains(state.Reads, media))
}

// wantsReadBack finds a tape whose files a drive reads back now: the one in it, or another one of its library for a
// drive without a tape. nil for none. The lock is held.
func (ms *mounts) wantsReadBack(f facts, l *library, state tapeapi.DriveState, mounted bool) *tapeapi.Tape {
	if resting(f, l, state) || f.settings.Config.MountCriteria().ReadsBack() == 0 {
		return nil
	}
	for i := range f.tapes {
		tape := &f.tapes[i]
		may, lock := tapeconfig.Permits(tape.State), f.keys.lock(tape.Key)
		switch {
		case tape.UnreadFSeq == 0 || !reads(l, state, tape.VID) || !may.Recall || !may.Mount || lock.Key != "":
		case mounted != (state.VID == tape.VID) || !mounted && state.VID != "":
		case ms.clock().Before(ms.unread[tape.VID]) || ms.usedElsewhere(l, tape.VID, state.Name):
		default:
			return tape
		}
	}
	return nil
}

// beginReadBack makes the mount that reads a tape back. The lock is held.
func (ms *mounts) beginReadBack(f facts, l *library, drive string, tape *tapeapi.Tape) tapeapi.Mount {
	m := tapeapi.Mount{Kind: tapeapi.MountWork, Job: tapeapi.Verify, VID: tape.VID, Why: "its new files are read back before disk copies go", ReadBack: true}
	return ms.begin(f, l, drive, m, &readingBack{most: f.settings.Config.MountCriteria().ReadsBack(), next: tape.UnreadFSeq})
}
