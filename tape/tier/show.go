package tier

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hemera/tape/catalogue"
	"hemera/tape/mounting"
	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Everything here only reads. Reasons come from the same rules that
// decide, over the same picture: so what people are told is why it is so,
// and not a second opinion. Estimates are those of the rules.

// pools adds up the tapes of each pool. The lock is held.
func (t *reporter) pools(all []hemera.Tape) []hemera.TapePool {
	sums := map[string]*hemera.TapePool{}
	for name, pool := range t.settings().Pools {
		sums[name] = &hemera.TapePool{Name: name, Organisation: pool.Organisation}
	}
	for i := range all {
		if p := sums[all[i].Pool]; p != nil { // pools with tapes cannot be removed
			addTape(p, &all[i])
		}
	}
	out := make([]hemera.TapePool, 0, len(sums))
	for _, p := range sums {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b hemera.TapePool) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// addTape adds a tape to sums.
func addTape(p *hemera.TapePool, tape *hemera.Tape) {
	p.Tapes, p.Capacity, p.Used = p.Tapes+1, p.Capacity+tape.Capacity, p.Used+tape.Occupancy
	p.Files, p.Bytes = p.Files+tape.Files, p.Bytes+tape.Bytes
	if tape.Full {
		p.FullTapes++
	}
	if !tape.Full && tape.State == hemera.TapeActive && tape.Unscanned == "" {
		p.Writable += max(0, tape.Capacity-tape.Occupancy)
	}
	if tape.LastFSeq == 0 {
		p.Free++
	}
}

// queues is what waits, as people see it, with the reason. The lock is
// held.
func (t *reporter) queues(f facts) (out []hemera.TapeQueue) {
	picture := t.picture(f)
	board := mounting.New(picture)
	for _, q := range picture.Queues {
		row := t.queueRow(f, q)
		row.Why, row.Estimate = explained(board, q.Key)
		row.NoRoom = board.Explain(q.Key).Reasons[0].Rule == mounting.BufferFull
		out = append(out, row)
	}
	return append(out, t.later(f, picture.Queues)...)
}

// later is the queues whose files all wait for a later attempt: no drive
// could serve them now, and they wait all the same. The lock is held.
func (t *reporter) later(f facts, now []mounting.Queue) (out []hemera.TapeQueue) {
	for _, p := range f.paused {
		is := func(q hemera.TapeQueue) bool { return q.Kind == p.Kind && q.Name == p.Name }
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
				pool = f.tapes[i].Pool
			}
		}
		priority, age := policies{t.parts}.ofQueue(p.Queue)
		row := t.queueRow(f, mounting.Queue{Key: key, Organisation: t.settings().Pools[pool].Organisation, Files: p.Files, Bytes: p.Bytes, Oldest: p.first.Asked, Priority: priority, MinAge: age})
		row.Why, row.Estimate = t.ofJob(&p.first), p.first.After
		out = append(out, row)
	}
	return out
}

// findPaused adds to the facts the queues that wait for a later attempt, with
// the first job of each.
func (t *reporter) findPaused(ctx context.Context, f *facts) error {
	for _, q := range f.queues {
		if q.Failed || !q.Oldest.After(t.Now()) {
			continue
		}
		first, err := t.catalogue.Jobs(ctx, q, 1, nil)
		if err != nil {
			return err
		}
		if len(first) > 0 {
			f.paused = append(f.paused, pausedQueue{q, first[0]})
		}
	}
	return nil
}

// queueRow is a queue as people see it, without what it waits for. The lock
// is held.
func (t *reporter) queueRow(f facts, q mounting.Queue) hemera.TapeQueue {
	row := hemera.TapeQueue{Kind: q.Kind, Name: q.Pool + q.VID, Pool: q.Pool, Organisation: q.Organisation, Files: q.Files, Bytes: q.Bytes,
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
	limits := t.settings().Organisations[q.Organisation]
	row.ReadDrives, row.WriteDrives = limits.ReadDrives, limits.WriteDrives
	row.PriorityPolicy, row.AgePolicy = t.policiesOf(f, q.Key)
	for _, m := range t.mounts {
		if keyOf(m.kind, m.queue()) == q.Key {
			row.Mounts, row.MountFiles, row.MountBytes = row.Mounts+1, row.MountFiles+m.session.Files, row.MountBytes+m.session.Bytes
		}
	}
	return row
}

// policiesOf names the mount policies that decide about a queue: that of
// the highest priority, and that of the lowest age. The lock is held.
func (t *reporter) policiesOf(f facts, k mounting.Key) (priority, age string) {
	for _, q := range f.queues {
		if q.Failed || keyOf(q.Kind, q.Name) != k {
			continue
		}
		// A queue has the highest priority and the lowest age of its jobs, which
		// may come from two policies.
		all := policies{t.parts}
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

// attention is what needs a person. The lock is held.
func (t *reporter) attention(f facts) (out []hemera.TapeAttention) {
	out = append(t.locked(f), t.mistaken(f)...)
	out = append(out, tapeconfig.Needs(f.tapes, cartridges(t.libraries, t.heard))...)
	out = append(out, tapeconfig.Strangers(t.strangers(f), f.back)...)
	// Jobs that failed for good wait for a person, whatever failed.
	for _, q := range f.queues {
		if _, _, held := catalogue.HeldBy(q.Name); q.Failed && !held {
			out = append(out, hemera.TapeAttention{Subject: q.Kind.String() + " " + q.Name, What: fmt.Sprintf("%d jobs have failed", q.Files), Command: "hemera tape request ls --failed"})
		}
	}
	// Those that read a tape and failed twice have users that wait.
	for _, q := range f.paused {
		if q.Kind == hemera.TapeRecall && q.first.Attempts >= blockedAfter {
			out = append(out, hemera.TapeAttention{Subject: "tape " + q.Name, What: fmt.Sprintf("%s for its next attempt, the first one has failed %d times: %s",
				count(q.Files, "recall waits", "recalls wait"), q.first.Attempts, q.first.Error), Command: "hemera tape request ls"})
		}
	}
	// Files that no pool takes have no queue that a drive could serve.
	for _, h := range heldOf(t.settings(), f) {
		out = append(out, hemera.TapeAttention{Subject: "class " + h.Class, What: fmt.Sprintf("%s: %s", count(h.Files, "file is not queued for tape", "files are not queued for tape"), h.Why),
			Command: h.Command})
	}
	for _, l := range t.libraries {
		if !t.online(l) {
			out = append(out, hemera.TapeAttention{Subject: "library " + l.state.Name, What: t.gone(l) + "; start it again, or take it out of the cluster for good",
				Command: "hemera node rm " + l.node.String()})
			continue
		}
		if l.state.Problem != "" {
			out = append(out, hemera.TapeAttention{Subject: "library " + l.state.Name + " of node " + l.node.String(), What: l.state.Problem, Command: "hemera tape library ls"})
		}
		for vid, other := range l.doubled {
			out = append(out, hemera.TapeAttention{Subject: "cartridge " + vid, What: "is reported by the libraries " + other + ", which is believed, and " + l.state.Name,
				Command: "hemera tape library ls"})
		}
		for _, d := range l.state.Drives {
			if d.Problem != "" {
				out = append(out, hemera.TapeAttention{Subject: "drive " + d.Name, What: d.Problem, Command: "hemera tape why " + d.Name})
			}
		}
	}
	out = append(append(append(out, t.stuck(f)...), t.failedScans()...), t.unadmitted()...)
	slices.SortFunc(out, func(a, b hemera.TapeAttention) int { return strings.Compare(a.Subject, b.Subject) })
	return out
}

// strangers are the cartridges of libraries that the catalogue does not have, and that no scan has read since the namespace went back: it may
// have lost their files. None while it did not go back. The lock is held.
func (t *parts) strangers(f facts) []string {
	if f.back.Restored.IsZero() {
		return nil
	}
	known := map[string]bool{}
	for i := range f.tapes {
		known[f.tapes[i].VID] = true
	}
	return slices.DeleteFunc(scanner{t}.cartridges(), func(vid string) bool {
		if known[vid] {
			return true
		}
		s := t.scans[vid]
		return s != nil && s.Ended.After(f.back.Restored) && s.Problem == "" && !s.DryRun
	})
}

// Unscanned lists the tapes in libraries whose files the namespace may have lost when it went back, as no scan has read them since, and the
// command that scans them. Of cartridges that the catalogue does not have it lists those of a namespace that was made again without a backup:
// that one knew no tape.
func (t *reporter) Unscanned(ctx context.Context) (vids []string, command string, err error) {
	f, err := t.facts(ctx)
	if err != nil {
		return nil, "", err
	}
	f.back = t.Tree.Stats().WentBack
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.back.Taken.IsZero() {
		vids = t.strangers(f)
	}
	command = "hemera tape scan --needed"
	if len(vids) > 0 {
		command = "hemera tape scan --all"
	}
	// Those of a server that is away count, and all while none was heard of: it may be there in a moment.
	inside := cartridges(t.libraries, t.heard)
	for i := range f.tapes {
		tape := &f.tapes[i]
		_, there := inside[tape.VID]
		// What a scan left in doubt is for a person to settle, and is known.
		if tape.Unscanned != "" && tape.Doubt == "" && (there || inside == nil) {
			vids = append(vids, tape.VID)
		}
	}
	slices.Sort(vids)
	return vids, command, nil
}

// waitForScan is how many tapes of a pool and its supply pools could be written, were they scanned. The lock is held.
func (t *reporter) waitForScan(f facts, pool string) (n int64) {
	pools := append(t.settings().Pools[pool].Supplies(), pool)
	for i := range f.tapes {
		tape := &f.tapes[i]
		if tape.Unscanned != "" && !tape.Full && tapeconfig.Permits(tape.State).Write && slices.Contains(pools, tape.Pool) {
			n++
		}
	}
	return n
}

// stuck is the queues that no drive will ever serve unless somebody does
// something. The lock is held.
func (t *reporter) stuck(f facts) (out []hemera.TapeAttention) {
	picture := t.picture(f)
	board := mounting.New(picture)
	// The first reason is the one nearest to a start: if that needs a person,
	// all others do too.
	for _, q := range picture.Queues {
		first := board.Explain(q.Key).Reasons[0]
		command := ""
		switch first.Rule {
		case mounting.LibraryDisabled:
			command = typed(first.Remedy)
		case mounting.DriveLimit:
			// Other limits are reached for a while: a drive becomes free.
			limits := t.settings().Organisations[q.Organisation]
			if q.Writes() && limits.WriteDrives == 0 || !q.Writes() && limits.ReadDrives == 0 {
				command = typed(first.Remedy)
			}
		case mounting.DriveDown:
			first.Text, command = t.putDown(q.Key, first)
		case mounting.NoTape:
			command = "hemera tape tape add VID tapepool=" + q.Pool
			if n := t.waitForScan(f, q.Pool); n > 0 {
				first.Text, command = fmt.Sprintf("%s of pool %s may be written after a scan, and no other can be", count(n, "tape", "tapes"), q.Pool), "hemera tape scan --needed"
			}
		case mounting.OtherLibrary, mounting.Media, mounting.TapeUnknown:
			command = "hemera tape why " + q.Pool + q.VID
		}
		if command != "" {
			out = append(out, hemera.TapeAttention{Subject: q.Key.String(), What: fmt.Sprintf("%s: %s", count(q.Files, "file waits", "files wait"), first.Text), Command: command})
		}
	}
	return out
}

// putDown says which drives that could serve a queue a person has put down,
// and how they are put up again; "" where there is none. What else keeps a
// drive down has a line of its own in the list, or ends by itself. The lock
// is held.
func (t *reporter) putDown(q mounting.Key, why mounting.Reason) (text, command string) {
	// No tape server ever came, and no other line says so.
	if len(t.libraries) == 0 {
		return why.Text, typed(why.Remedy)
	}
	var names []string
	of := t.libraryOf(q.VID) // nil of queues that write
	for _, l := range t.libraries {
		for _, state := range l.state.Drives {
			if down := t.settings().DrivesDown[state.Name]; down != "" && t.online(l) && (of == nil || of == l) {
				names = append(names, state.Name)
				text = "drive " + state.Name + " is down: " + down
			}
		}
	}
	// All are down by themselves, and are probed until they work.
	if len(names) == 0 {
		return why.Text, ""
	}
	slices.Sort(names)
	// A site has tens of drives: numbers tell more than names.
	const namesMax = 3
	switch more := len(names) - namesMax; {
	case more > 0:
		text = fmt.Sprintf("drives %s and %d more are down", strings.Join(names[:namesMax], ", "), more)
	case len(names) > 1:
		text = "drives " + strings.Join(names, ", ") + " are down"
	}
	return text, "hemera tape drive up " + names[0]
}

// failedScans are the scans that need a person. The lock is held.
func (t *reporter) failedScans() (out []hemera.TapeAttention) {
	for vid, s := range t.scans {
		if s.Problem != "" && !s.cancelled {
			out = append(out, hemera.TapeAttention{Subject: "tape " + vid, What: "its scan failed: " + s.Problem, Command: "hemera tape scan " + vid})
		}
	}
	return out
}

// mistaken are tapes whose cartridge is of another kind than the catalogue
// says: it has another capacity, and other drives take it. Kinds are told
// apart by their density, as a site may have names of its own. The lock is
// held.
func (t *reporter) mistaken(f facts) (out []hemera.TapeAttention) {
	for _, tape := range f.tapes {
		l := t.libraryOf(tape.VID)
		if l == nil {
			continue
		}
		kind := l.state.VIDs[tape.VID]
		is, said := t.settings().Media[kind], t.settings().Media[tape.MediaType]
		if is.Density == 0 || said.Density == 0 || is.Density == said.Density {
			continue
		}
		out = append(out, hemera.TapeAttention{Subject: "tape " + tape.VID, What: "its cartridge is of media type " + kind + ", and the catalogue says " + tape.MediaType,
			Command: fmt.Sprintf("hemera tape tape set %s mediaType=%q capacity=%d", tape.VID, kind, int64(is.Capacity))})
	}
	return out
}

// count is a number with its noun.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

// ExplainTape implements hemera.TapeAdmin.
func (t *reporter) ExplainTape(ctx context.Context, subject string) ([]string, error) {
	f, err := t.facts(ctx)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(subject, "/") {
		return t.explainPath(ctx, f, subject)
	}
	if err := t.findPaused(ctx, &f); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.explainName(f, subject)
	if len(lines) == 0 {
		return nil, errs.New(errs.NotFound, "tier.Explain", subject, "there is no drive, tape, pool, class or library of this name").
			WithRemedy("see `hemera tape drive ls`, `tape ls`, `pool ls`, `class ls` and `library ls`; a path begins with a slash")
	}
	return lines, nil
}

// explainPath says what a file waits for.
func (t *reporter) explainPath(ctx context.Context, f facts, path string) (out []string, err error) {
	e, err := t.Tree.Stat(ctx, hemera.SystemIdentity(), path)
	if err != nil {
		return nil, err
	}
	out = append(out, fmt.Sprintf("%s has %s and %s; its storage class is %q", path, count(int64(len(e.Pieces)), "piece on disk", "pieces on disk"),
		count(int64(len(e.Tape)), "tape copy", "tape copies"), e.StorageClass()))
	shelf, err := shelfOf(ctx, t.parts)
	if err != nil {
		return nil, err
	}
	for _, c := range e.Tape {
		out = append(out, fmt.Sprintf("copy %d is on tape %s, fSeq %d, block %d", c.Number, c.VID, c.FSeq, c.Block))
		if why, remedy := shelf.trouble(c.VID); why != "" {
			out = append(out, "copy "+strconv.Itoa(int(c.Number))+" cannot be read: "+why+"; "+remedy)
		}
		if shelf.waits(c) {
			out = append(out, fmt.Sprintf("copy %d was not read back yet, so disk copies stay (hemera tape why %s)", c.Number, c.VID))
		}
	}
	if e.Size == 0 && e.OnTape() {
		out = append(out, "it is empty: its record is its archive, and nothing is written to tape")
	}
	jobs, err := t.catalogue.JobsOf(ctx, e.ID)
	// What the file says is of the last look at it; the configuration may be another one by now.
	_, noPool := t.catalogue.Settings().PoolsOf(e.StorageClass(), e.Size)
	held := slices.ContainsFunc(jobs, func(j hemera.TapeJob) bool { _, _, is := catalogue.HeldBy(j.Queue); return is })
	for _, name := range []string{hemera.AttrArchiveError, hemera.AttrRecallError} {
		switch why := string(e.Xattrs[name]); {
		case why == "":
		case name == hemera.AttrArchiveError && held && noPool == nil:
			out = append(out, "a pool takes it now: it is queued for tape soon")
		default:
			out = append(out, "the last attempt failed: "+why)
		}
	}
	for i := range jobs {
		j := &jobs[i]
		why, begins := t.explainJob(f, j)
		if !begins.IsZero() {
			why += "; it may begin at " + begins.Format(time.DateTime)
		}
		out = append(out, fmt.Sprintf("%s of copy %d: %s", j.Kind, j.Copy, why))
	}
	return out, err
}

// Standing says in words what a read does of a file that is on tape only.
func (t *reporter) Standing(ctx context.Context, e *hemera.Entry) string {
	shelf, err := shelfOf(ctx, t.parts)
	if err != nil {
		return "on tape only; its tapes cannot be looked up: " + err.Error()
	}
	if why := shelf.Silent(e); why != "" {
		return "on tape only, and cannot be read: " + why
	}
	return "on tape only; a read brings it to disk"
}

// CanRecall fails with IO if no tape of a file that is on tape only can be read now, as far as is known without a look at the tape.
func (t *reporter) CanRecall(ctx context.Context, e *hemera.Entry) error {
	shelf, err := shelfOf(ctx, t.parts)
	if err != nil {
		return err
	}
	if why := shelf.Silent(e); why != "" {
		_, remedy := shelf.Trouble(e)
		return errs.New(errs.IO, "tier.Recall", "fxid:"+e.ID.Hex(), "the file is on tape only, and cannot be read: "+why).WithRemedy(remedy)
	}
	return nil
}

// explainJob says what a job waits for, and about when it begins.
func (t *reporter) explainJob(f facts, j *hemera.TapeJob) (string, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if why := t.ofJob(j); why != "" {
		return why, time.Time{}
	}
	return explained(mounting.New(t.picture(f)), keyOf(j.Kind, j.Queue))
}

// ofJob says what keeps a job that is not what keeps its queue, "" for
// nothing: from what is surest to what is a matter of time. The lock is held.
func (t *reporter) ofJob(j *hemera.TapeJob) string {
	pause := j.After.Sub(t.Now()).Round(time.Second)
	switch m := t.mounts[t.given[j.TapeJobKey]]; {
	case m != nil:
		text := fmt.Sprintf("drive %s works on it, with tape %s", m.drive, m.vid)
		if l := t.libraries[m.node]; l != nil {
			for _, d := range l.state.Drives {
				if d.Name == m.drive && d.Problem != "" {
					text += "; " + d.Problem
				}
			}
		}
		return text
	case j.Failed && whyHeld(t.settings(), j) != "":
		return whyHeld(t.settings(), j)
	case j.Failed && j.Attempts == 0: // there was nothing that could be tried
		return "is not tried again by itself (hemera tape request retry): " + j.Error
	case j.Failed:
		return fmt.Sprintf("failed %d times, and is not tried again by itself (hemera tape request retry): %s", j.Attempts, j.Error)
	case pause > 0 && j.Waits != "":
		return fmt.Sprintf("is tried again in %s: %s", pause, j.Waits)
	case pause > 0:
		return fmt.Sprintf("failed %d times, and is tried again in %s: %s", j.Attempts, pause, j.Error)
	}
	return ""
}

// explained says which rules keep a queue waiting, the one that is
// nearest to a start first, and about when it begins.
func explained(board *mounting.Board, key mounting.Key) (string, time.Time) {
	e := board.Explain(key)
	// There is a job, or nobody would ask. The picture is a little older: a
	// drive took the last of its queue, or it was queued since.
	if e.Reasons[0].Rule == mounting.NoWork {
		return "it is just being queued, or a drive is just taking it", time.Time{}
	}
	var why []string
	for _, r := range e.Reasons {
		why = append(why, withRemedy(r))
	}
	return strings.Join(why, "; "), e.Begins
}

// explainName says what a drive, a tape, a pool, a class or a library does
// or waits for; nothing of a name that nothing has. The lock is held.
func (t *reporter) explainName(f facts, name string) (out []string) {
	board := mounting.New(t.picture(f))
	for _, l := range t.libraries {
		if l.state.Name == name {
			out = append(out, t.explainLibrary(l))
		}
		for _, d := range l.state.Drives {
			if d.Name != name {
				continue
			}
			for _, r := range board.ExplainDrive(name) {
				out = append(out, withRemedy(r))
			}
		}
	}
	for _, tape := range f.tapes {
		if tape.VID == name {
			out = append(out, fmt.Sprintf("tape %s is %s, in pool %s, with %s; %s", name, tape.State, tape.Pool, count(tape.Files, "file", "files"), whereIs(t.libraryOf(name), name)))
			out = append(out, t.explainKey(f, tape)...)
			if tape.Unscanned != "" {
				out = append(out, "it is read and not written until it was scanned (hemera tape scan "+name+"): "+tape.Unscanned)
			}
			if t.settings().MountCriteria().ReadsBack() > 0 && tape.UnreadFSeq > 0 {
				out = append(out, fmt.Sprintf("its files from fSeq %d on are to be read back before disk copies go: when a session with the tape ends, or by a drive that has nothing else to do",
					tape.UnreadFSeq))
			}
			// An order is durable, and may wait for days while drives are busy.
			if r := tape.Relabel; r != nil {
				out = append(out, fmt.Sprintf("it is to be labelled, as %s ordered at %s: the next drive of its library that has nothing to do does it (to cancel: hemera tape cancel %s)",
					r.By, r.Asked.Format(time.DateTime), name))
			}
			for _, r := range board.ExplainTape(name) {
				out = append(out, withRemedy(r))
			}
		}
	}
	out = append(out, t.explainScan(name)...)
	out = append(out, explainClass(t.settings(), name, heldOf(t.settings(), f), t.queues(f))...)
	for _, p := range t.pools(f.tapes) {
		if p.Name == name {
			out = append(out, fmt.Sprintf("pool %s has %s: %d empty, %d full", name, count(p.Tapes, "tape", "tapes"), p.Free, p.FullTapes))
		}
	}
	// Of a pool, what waits for its tapes too, whether to write or to read.
	waits := len(out)
	for _, q := range t.queues(f) {
		if q.Pool == name {
			out = append(out, fmt.Sprintf("%s of %s waits for %s: %s", q.Kind, count(q.Files, "file", "files"), q.Name, q.Why))
		}
	}
	if waits > 0 && waits == len(out) && t.settings().Pools[name].Organisation != "" {
		out = append(out, "nothing waits for it")
	}
	return out
}

// explainScan says what the scan of a tape waits for or does; the tape need
// not be in the catalogue. Nothing of one that has ended. The lock is held.
func (t *reporter) explainScan(vid string) []string {
	// How a scan ended is in the list of scans, and in that of what needs a
	// person if it failed.
	s := t.scans[vid]
	switch {
	case s == nil || !s.Ended.IsZero():
		return nil
	case s.ordered():
		return []string{fmt.Sprintf("it is to be scanned, as %s ordered at %s: the next drive of its library that has nothing to do does it (to cancel: hemera tape cancel %s)",
			s.who, s.Asked.Format(time.DateTime), vid)}
	}
	return []string{fmt.Sprintf("drive %s scans it, and has found %s (hemera tape scan ls)", s.Drive, count(s.Files, "file", "files"))}
}

// explainLibrary says whether a library works. The lock is held.
func (t *reporter) explainLibrary(l *library) string {
	text := fmt.Sprintf("library %s of node %s has %s and %s", l.state.Name, l.node, count(int64(len(l.state.Drives)), "drive", "drives"),
		count(int64(len(l.state.VIDs)), "cartridge", "cartridges"))
	// Faults before wishes: a library that is silent is not helped by being
	// enabled.
	switch said := t.settings().Libraries[l.state.Name]; {
	case !t.online(l):
		return text + "; " + t.gone(l) + " (" + remedyOfNode(l.node) + ")"
	case l.state.Problem != "":
		return text + "; it does not work: " + l.state.Problem
	case said.Disabled:
		return text + "; it is disabled: " + said.Reason + " (hemera tape library up " + l.state.Name + ")"
	}
	return text + ", and works"
}

// withRemedy is a reason with what can be typed.
func withRemedy(r mounting.Reason) string {
	if r.Remedy == "" {
		return r.Text
	}
	return r.Text + " (" + r.Remedy + ")"
}

// whereIs says where a cartridge is.
func whereIs(l *library, vid string) string {
	if l == nil {
		return "no library has its cartridge"
	}
	for _, d := range l.state.Drives {
		if d.VID == vid {
			return "it is in drive " + d.Name
		}
	}
	return "it is in a slot of library " + l.state.Name
}
