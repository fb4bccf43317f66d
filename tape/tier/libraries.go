package tier

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"hemera/tape/catalogue"
	"hemera/tape/mounting"
	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Libraries and drives are not configured. Tape servers report them, and
// what is reported is what there is. An admin can put a drive down; a
// drive can put itself down, with its problem, and comes up again by
// itself. Both are shown.

// library is what a tape server said of its library last.
type library struct {
	node   hemera.NodeID
	state  hemera.TapeLibrary
	seen   time.Time
	drives map[string]*drive
	// clash is what of it another library has, "" for nothing: then it is not
	// used. doubled are the cartridges that another one reports, with its name.
	clash   string
	doubled map[string]string
	// foreign are those that the catalogue has in another library, with its name.
	foreign map[string]string
}

// drive is what the manager keeps of a drive.
type drive struct {
	idle  time.Time
	mount uint64 // what it works on, 0 for nothing
	vid   string // what was mounted when it asked last
	// mounted is since when vid is in the drive; last is the queue that it
	// worked for last with that tape, and turn when it began with it.
	mounted time.Time
	last    mounting.Key
	turn    time.Time
}

// silent is after what time without a report a library counts as gone.
const silent = 35 * time.Second

// ReportLibrary takes what a tape server says. The caller has checked its
// lease.
func (t *configurer) ReportLibrary(node hemera.NodeID, state hemera.TapeLibrary) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard = true
	l := t.libraries[node]
	if l == nil {
		l = &library{node: node, drives: map[string]*drive{}}
		t.libraries[node] = l
	}
	// As a whole: what is not reported any more is not there.
	state.VIDs = maps.Clone(state.VIDs)
	l.state, l.seen = state, t.Now()
	if l.clash = t.clash(l); l.clash != "" {
		l.state.Problem, l.state.VIDs = l.clash, nil
	}
	l.doubled = t.leaveOthers(l)
	for _, d := range state.Drives {
		own := l.drive(d.Name, t.Now())
		if own.vid != d.VID {
			own.vid, own.mounted, own.last = d.VID, t.Now(), mounting.Key{}
		}
		// What the server reports of a session is newer than what the last
		// report of results said.
		if m := t.mounts[d.Mount]; m != nil && m.node == node && m.drive == d.Name {
			m.session = d.Session
		}
	}
}

// drive is the manager's part of a drive, made when it is first seen.
func (l *library) drive(name string, now time.Time) *drive {
	// Idle from now on: a drive that is new has waited for nothing.
	d := l.drives[name]
	if d == nil {
		d = &drive{idle: now}
		l.drives[name] = d
	}
	return d
}

// online reports whether the server of a library reported a short time
// ago, and did not say that it ends. The lock is held.
func (t *parts) online(l *library) bool { return !l.state.Ended && t.Now().Sub(l.seen) < silent }

// gone says why a library is not online. The lock is held.
func (t *parts) gone(l *library) string {
	if l.state.Ended {
		return "its server, node " + l.node.String() + ", has ended"
	}
	return "its server, node " + l.node.String() + ", has been silent for " + t.Now().Sub(l.seen).Round(time.Second).String()
}

// remedyOfNode says how a library comes back whose server is gone, or leaves
// the lists.
func remedyOfNode(node hemera.NodeID) string {
	return "start its server again, or take it out of the cluster for good: hemera node rm " + node.String()
}

// changeDrive takes a drive out of work, or back, or notes a comment. It stays
// as it was said over restarts, and when its server goes and comes back.
func (t *configurer) changeDrive(ctx context.Context, who string, c hemera.TapeChange) error {
	if c.Verb == "remove" {
		return t.forgetDrive(ctx, c.Name)
	}
	names, desired, reason := t.drivesOf(c.Name), c.Values["desired"], c.Values["reason"]
	comment, noted := c.Values["comment"]
	switch {
	case desired == "" && !noted, desired != "" && desired != "up" && desired != "down":
		return errs.New(errs.Invalid, "tier.Set", c.Name, "a drive has a comment, and is put up or down, nothing else").
			WithRemedy("hemera tape drive set NAME comment=TEXT, or: hemera tape drive down NAME --reason TEXT")
	case len(names) == 0:
		return errs.New(errs.NotFound, "tier.Set", c.Name, "no tape server has reported such a drive").WithRemedy("see `hemera tape drive ls`")
	case desired == "down" && reason == "":
		return errs.New(errs.Invalid, "tier.Down", c.Name, "a drive that is put down needs a reason").WithRemedy("add --reason TEXT")
	}
	return t.change(ctx, "drive "+c.Name, func(now tapeconfig.Config, _ tapeconfig.Usage) (tapeconfig.Config, error) {
		said := func(of map[string]string, text string) map[string]string {
			out := map[string]string{}
			maps.Copy(out, of)
			for _, name := range names {
				if delete(out, name); text != "" {
					out[name] = text
				}
			}
			return out
		}
		switch desired {
		case "down":
			now.DrivesDown = said(now.DrivesDown, reason+" ("+who+")")
		case "up":
			now.DrivesDown = said(now.DrivesDown, "")
		}
		if noted {
			now.DriveComments = said(now.DriveComments, comment)
		}
		return now, nil
	})
}

// forgetDrive removes a drive that no tape server reports now: from the lists,
// and from those that were put down. One that a server reports would be there
// again a moment later: NotEmpty.
func (t *configurer) forgetDrive(ctx context.Context, name string) error {
	if len(t.drivesOf(name)) != 1 || name == "all" {
		return errs.New(errs.NotFound, "tier.Remove", name, "no tape server has reported such a drive").WithRemedy("see `hemera tape drive ls`")
	}
	is := func(d hemera.TapeDriveState) bool { return d.Name == name }
	t.mu.Lock()
	for node, l := range t.libraries {
		if t.online(l) && slices.ContainsFunc(l.state.Drives, is) {
			t.mu.Unlock()
			return errs.New(errs.NotEmpty, "tier.Remove", name, "the tape server of node "+node.String()+" reports the drive").
				WithRemedy("to have it do nothing more: hemera tape drive down " + name + " --reason TEXT; it can be removed when its server does not report it")
		}
	}
	// A report that comes meanwhile has its own list of drives.
	for _, l := range t.libraries {
		l.state.Drives = slices.DeleteFunc(slices.Clone(l.state.Drives), is)
	}
	t.mu.Unlock()
	return t.change(ctx, "drive "+name, func(now tapeconfig.Config, _ tapeconfig.Usage) (tapeconfig.Config, error) {
		now.DrivesDown, now.DriveComments = maps.Clone(now.DrivesDown), maps.Clone(now.DriveComments)
		delete(now.DrivesDown, name)
		delete(now.DriveComments, name)
		return now, nil
	})
}

// drivesOf are the drives of a name, which is that of one in the cluster, or
// "all": those that servers report, and those that are down or have a comment.
func (t *configurer) drivesOf(name string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := map[string]bool{}
	for _, l := range t.libraries {
		for _, state := range l.state.Drives {
			known[state.Name] = true
		}
	}
	for down := range t.settings().DrivesDown {
		known[down] = true
	}
	for noted := range t.settings().DriveComments {
		known[noted] = true
	}
	if name != "all" && known[name] {
		return []string{name}
	}
	if name != "all" {
		return nil
	}
	return slices.Sorted(maps.Keys(known))
}

// driveOf finds a drive of a node. The lock is held.
func (t *parts) driveOf(node hemera.NodeID, name string) (*library, *drive, hemera.TapeDriveState) {
	l := t.libraries[node]
	if l == nil {
		return nil, nil, hemera.TapeDriveState{}
	}
	at := slices.IndexFunc(l.state.Drives, func(d hemera.TapeDriveState) bool { return d.Name == name })
	if at < 0 {
		return nil, nil, hemera.TapeDriveState{}
	}
	return l, l.drive(name, t.Now()), l.state.Drives[at]
}

// libraryOf finds the library with a cartridge, nil when none has it. The
// lock is held.
func (t *parts) libraryOf(vid string) *library {
	for _, l := range t.libraries {
		if l.has(vid) && t.online(l) {
			return l
		}
	}
	return nil
}

// TapePicture implements hemera.TapeAdmin.
func (t *reporter) TapePicture(ctx context.Context) (p hemera.TapePicture, err error) {
	f, err := t.facts(ctx)
	if err == nil {
		err = t.findPaused(ctx, &f)
	}
	if err != nil {
		return p, err
	}
	f.back = t.Tree.Stats().WentBack
	p.WentBack = f.back
	t.mu.Lock()
	defer t.mu.Unlock()
	p.Pools = t.pools(f.tapes)
	p.Queues = t.queues(f)
	p.Held = heldOf(t.settings(), f)
	for _, q := range f.queues {
		if _, _, held := catalogue.HeldBy(q.Name); q.Failed && !held {
			p.Failed = append(p.Failed, hemera.TapeQueue{Kind: q.Kind, Name: q.Name, Files: q.Files, Bytes: q.Bytes})
		}
	}
	p.Sessions = t.history.list()
	for _, l := range t.libraries {
		p.Libraries = append(p.Libraries, l.state)
		for _, state := range l.state.Drives {
			p.Drives = append(p.Drives, t.driveRow(l, state))
		}
	}
	slices.SortFunc(p.Drives, func(a, b hemera.TapeDrive) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Libraries, func(a, b hemera.TapeLibrary) int { return strings.Compare(a.Name, b.Name) })
	for _, vid := range slices.Sorted(maps.Keys(t.scans)) {
		s := t.scans[vid].TapeScan
		s.Counts, s.Found = maps.Clone(s.Counts), slices.Clone(s.Found)
		p.Scans = append(p.Scans, s)
	}
	p.Attention = t.attention(f)
	if !p.WentBack.Restored.IsZero() && p.WentBack.Merged.IsZero() {
		p.Attention = append(p.Attention, hemera.TapeAttention{Subject: "namespace", What: p.WentBack.Text(), Command: "hemera ns rebuild --merge"})
	}
	return p, nil
}

// driveRow is a drive as people see it.
func (t *reporter) driveRow(l *library, state hemera.TapeDriveState) hemera.TapeDrive {
	own := l.drive(state.Name, t.Now())
	row := hemera.TapeDrive{TapeDriveState: state, Library: l.state.Name, Node: l.node, Up: t.settings().DrivesDown[state.Name] == "", Reason: t.settings().DrivesDown[state.Name], Seen: l.seen}
	row.Comment = t.settings().DriveComments[state.Name]
	row.LibraryDisabled = t.settings().Libraries[l.state.Name].Disabled
	if m := t.mounts[own.mount]; m != nil {
		row.Pool, row.Kind = m.pool, m.kind
		row.Organisation, row.Priority = t.settings().Pools[m.pool].Organisation, m.priority
		if m.kind == hemera.TapeRecall {
			row.Reserved = m.fills()
		}
	}
	row.Totals = t.history.of(state)
	// What a server said last of a drive is not true any more.
	switch {
	case !t.online(l):
		row.Status, row.Problem, row.Since = "DOWN", t.gone(l), l.seen
	case state.Problem == "" && l.state.Problem != "":
		row.Problem = l.state.Problem
	}
	return row
}

// endMount forgets a mount: what it had is free for others. The lock is
// held.
func (t *parts) endMount(m *mount) {
	scanner{t}.lose(m)
	for k := range m.given {
		if t.given[k] == m.id {
			delete(t.given, k)
		}
		t.room.unreserve(m, k)
	}
	delete(t.mounts, m.id)
	if l := t.libraries[m.node]; l != nil {
		if d := l.drives[m.drive]; d != nil && d.mount == m.id {
			d.mount, d.idle = 0, t.Now()
		}
	}
}
