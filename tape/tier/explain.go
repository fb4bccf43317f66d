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
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// ExplainTape implements adminapi.TapeAdmin.
func (t *reporter) ExplainTape(ctx context.Context, subject string) ([]string, error) {
	f, err := t.inventory.facts(ctx)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(subject, "/") {
		return t.explainPath(ctx, f, subject)
	}
	if err := t.findPaused(ctx, &f); err != nil {
		return nil, err
	}
	lines := t.explainName(f, subject)
	if len(lines) == 0 {
		return nil, errs.New(errs.NotFound, "tier.Explain", subject, "there is no drive, tape, pool, class or library of this name").
			WithRemedy("see `hemera tape drive ls`, `tape ls`, `pool ls`, `class ls` and `library ls`; a path begins with a slash")
	}
	return lines, nil
}

// explainPath says what a file waits for.
func (t *reporter) explainPath(ctx context.Context, f facts, path string) (out []string, err error) {
	e, err := t.env.Tree.Stat(ctx, hemera.SystemIdentity(), path)
	if err != nil {
		return nil, err
	}
	out = append(out, fmt.Sprintf("%s has %s and %s; its storage class is %q", path, count(int64(len(e.Pieces)), "piece on disk", "pieces on disk"),
		count(int64(len(e.Tape)), "tape copy", "tape copies"), e.StorageClass()))
	shelf, err := t.disks.Shelf(ctx)
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
	jobs, err := t.env.catalogue.JobsOf(ctx, e.ID)
	// What the file says is of the last look at it; the configuration may be another one by now.
	_, noPool := f.settings.PoolsOf(e.StorageClass(), e.Size)
	held := slices.ContainsFunc(jobs, func(j tapeapi.Job) bool { _, _, is := catalogue.HeldBy(j.Queue); return is })
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

// explainJob says what a job waits for, and about when it begins.
func (t *reporter) explainJob(f facts, j *tapeapi.Job) (string, time.Time) {
	if why := t.ofJob(f, j); why != "" {
		return why, time.Time{}
	}
	return explained(mounting.New(t.mounts.look(f)), keyOf(j.Kind, j.Queue))
}

// ofJob says what keeps a job that is not what keeps its queue, "" for
// nothing: from what is surest to what is a matter of time.
func (t *reporter) ofJob(f facts, j *tapeapi.Job) string {
	pause := j.After.Sub(t.env.Now()).Round(time.Second)
	m, busy := t.mounts.workOn(j.JobKey)
	switch {
	case busy:
		text := fmt.Sprintf("drive %s works on it, with tape %s", m.drive, m.vid)
		if _, d, known := f.fleet.drive(m.node, m.drive); known && d.Problem != "" {
			text += "; " + d.Problem
		}
		return text
	case j.Failed && whyHeld(f.settings.Config, j) != "":
		return whyHeld(f.settings.Config, j)
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
// or waits for; nothing of a name that nothing has.
func (t *reporter) explainName(f facts, name string) (out []string) {
	board := mounting.New(t.mounts.look(f))
	for _, l := range f.fleet.all {
		if l.state.Name == name {
			out = append(out, explainLibrary(f, l))
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
		if tape.VID == hemera.VID(name) {
			out = append(out, fmt.Sprintf("tape %s is %s, in pool %s, with %s; %s", name, tape.State, tape.Pool, count(tape.Files, "file", "files"), whereIs(f.fleet.libraryOf(hemera.VID(name)), hemera.VID(name))))
			out = append(out, explainKey(f, tape)...)
			if tape.Unscanned != "" {
				out = append(out, "it is read and not written until it was scanned (hemera tape scan "+name+"): "+tape.Unscanned)
			}
			if f.settings.Config.MountCriteria().ReadsBack() > 0 && tape.UnreadFSeq > 0 {
				out = append(out, fmt.Sprintf("its files from fSeq %d on are to be read back before disk copies go: when a session with the tape ends, or by a drive that has nothing else to do",
					tape.UnreadFSeq))
			}
			// An order is durable, and may wait for days while drives are busy.
			if r := tape.Relabel; r != nil {
				out = append(out, fmt.Sprintf("it is to be labelled, as %s ordered at %s: the next drive of its library that has nothing to do does it (to cancel: hemera tape cancel %s)",
					r.By, r.Asked.Format(time.DateTime), name))
			}
			for _, r := range board.ExplainTape(hemera.VID(name)) {
				out = append(out, withRemedy(r))
			}
		}
	}
	out = append(out, explainScan(t.scans.list(), hemera.VID(name))...)
	out = append(out, explainClass(f.settings.Config, name, heldOf(f.settings.Config, f), t.queues(f))...)
	for _, p := range pools(f) {
		if p.Name == name {
			out = append(out, fmt.Sprintf("pool %s has %s: %d empty, %d full", name, count(p.Tapes, "tape", "tapes"), p.Free, p.FullTapes))
		}
	}
	// Of a pool, what waits for its tapes too, whether to write or to read.
	waits := len(out)
	for _, q := range t.queues(f) {
		if q.Pool == tapeapi.PoolName(name) {
			out = append(out, fmt.Sprintf("%s of %s waits for %s: %s", q.Kind, count(q.Files, "file", "files"), q.Name, q.Why))
		}
	}
	if waits > 0 && waits == len(out) && f.settings.Config.Pools[name].Organisation != "" {
		out = append(out, "nothing waits for it")
	}
	return out
}

// explainScan says what the scan of a tape waits for or does; the tape need
// not be in the catalogue. Nothing of one that has ended.
func explainScan(scans []listedScan, vid hemera.VID) []string {
	// How a scan ended is in the list of scans, and in that of what needs a
	// person if it failed.
	s, there := scanOf(scans, vid)
	switch {
	case !there || !s.Ended.IsZero():
		return nil
	case s.waiting:
		return []string{fmt.Sprintf("it is to be scanned, as %s ordered at %s: the next drive of its library that has nothing to do does it (to cancel: hemera tape cancel %s)",
			s.who, s.Asked.Format(time.DateTime), vid)}
	}
	return []string{fmt.Sprintf("drive %s scans it, and has found %s (hemera tape scan ls)", s.Drive, count(s.Files, "file", "files"))}
}

// explainLibrary says whether a library works.
func explainLibrary(f facts, l *library) string {
	text := fmt.Sprintf("library %s of node %s has %s and %s", l.state.Name, l.node, count(int64(len(l.state.Drives)), "drive", "drives"),
		count(int64(len(l.state.VIDs)), "cartridge", "cartridges"))
	// Faults before wishes: a library that is silent is not helped by being
	// enabled.
	switch said := f.settings.Config.Libraries[l.state.Name]; {
	case !f.fleet.online(l):
		return text + "; " + f.fleet.gone(l) + " (" + remedyOfNode(l.node) + ")"
	case l.state.Problem != "":
		return text + "; it does not work: " + l.state.Problem
	case said.Disabled:
		return text + "; it is disabled: " + said.Reason + " (hemera tape library up " + l.state.Name + ")"
	}
	return text + ", and works"
}

// whereIs says where a cartridge is.
func whereIs(l *library, vid hemera.VID) string {
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

// explainKey says what the key of a tape keeps from it.
func explainKey(f facts, tape tapeapi.Tape) (out []string) {
	if l := f.keys.lock(tape.Key); l.Key != "" {
		out = append(out, fmt.Sprintf("it is encrypted with key %s, which cannot be used: %s (hemera tape key add %s --from FILE)", l.Key, l.Why, l.Key))
	}
	if pool := f.settings.Config.Pools[string(tape.Pool)]; inClear(tape, pool) {
		out = append(out, fmt.Sprintf("it was begun without encryption, and pool %s has key %s: it is read, and nothing is added (hemera tape tape set %s full=true; then it can be repacked)",
			tape.Pool, pool.Key, tape.VID))
	}
	return out
}
