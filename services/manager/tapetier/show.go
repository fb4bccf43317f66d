package tapetier

import (
	"context"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"hemera"
	"hemera/rules/mounting"
)

// Everything here only reads. Reasons come from the same rules that
// decide, over the same picture: so what people are told is why it is so,
// and not a second opinion. Estimates are those of the rules.

// pools adds up the tapes of each pool. The lock is held.
func (t *reporter) pools(all []hemera.Tape) []hemera.TapePool {
	sums := map[string]*hemera.TapePool{}
	for name, pool := range t.config.Pools {
		sums[name] = &hemera.TapePool{Name: name, Organisation: pool.Organisation}
	}
	for _, tape := range all {
		p := sums[tape.Pool]
		if p == nil {
			continue // pools with tapes cannot be removed
		}
		p.Tapes, p.Capacity, p.Used = p.Tapes+1, p.Capacity+tape.Capacity, p.Used+tape.Occupancy
		p.Files, p.Bytes = p.Files+tape.Files, p.Bytes+tape.Bytes
		if tape.Full {
			p.FullTapes++
		}
		if tape.LastFSeq == 0 {
			p.Free++
		}
	}
	out := make([]hemera.TapePool, 0, len(sums))
	for _, p := range sums {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b hemera.TapePool) int { return compare(a.Name, b.Name) })
	return out
}

// queues is what waits, as people see it, with the reason. The lock is
// held.
func (t *reporter) queues(f facts) (out []hemera.TapeQueue) {
	picture := t.picture(f)
	board := mounting.New(picture)
	for _, q := range picture.Queues {
		row := hemera.TapeQueue{Kind: q.Kind, Name: q.Pool + q.VID, Pool: q.Pool, Organisation: q.Organisation, Files: q.Files, Bytes: q.Bytes,
			Oldest: q.Oldest, Priority: q.Priority, MinAge: q.MinAge}
		for _, tape := range f.tapes {
			if tape.VID == q.VID {
				row.Pool, row.Library = tape.Pool, tape.Library
			}
		}
		for _, m := range t.mounts {
			if keyOf(m.kind, m.queue()) == q.Key {
				row.Mounts, row.MountFiles, row.MountBytes = row.Mounts+1, row.MountFiles+m.session.Files, row.MountBytes+m.session.Bytes
			}
		}
		row.Why, row.Estimate = explained(board, q.Key)
		out = append(out, row)
	}
	return out
}

// attention is what needs a person. The lock is held.
func (t *reporter) attention(f facts) (out []hemera.TapeAttention) {
	out = append(t.locked(f), t.mistaken(f)...)
	// Tapes that hold files and cannot be read come first in a person's day.
	for _, tape := range f.tapes {
		switch {
		case tape.State == hemera.TapeDisabled || tape.State == hemera.TapeRepackingDisabled:
			out = append(out, hemera.TapeAttention{Subject: "tape " + tape.VID, What: "is disabled: " + tape.Reason, Command: "hemera tape tape set " + tape.VID + " state=ACTIVE"})
		case tape.State == hemera.TapeBroken && tape.Files > 0:
			out = append(out, hemera.TapeAttention{Subject: "tape " + tape.VID, What: fmt.Sprintf("is broken and has %d files", tape.Files), Command: "hemera tape repack " + tape.VID})
		case tape.State == hemera.TapeActive && tape.Full && tape.LastFSeq > 0 && tape.Files == 0:
			out = append(out, hemera.TapeAttention{Subject: "tape " + tape.VID, What: "is full, and none of its files is in the tree any more", Command: "hemera tape reclaim " + tape.VID})
		}
	}
	// Jobs that failed for good wait for a person, whatever failed.
	for _, q := range f.queues {
		if q.Failed {
			out = append(out, hemera.TapeAttention{Subject: q.Kind.String() + " " + q.Name, What: fmt.Sprintf("%d jobs have failed", q.Files), Command: "hemera tape request ls --failed"})
		}
	}
	for _, l := range t.libraries {
		if !t.online(l) {
			out = append(out, hemera.TapeAttention{Subject: "library " + l.state.Name, What: "its server does not report", Command: "systemctl status hemera-tape"})
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
				out = append(out, hemera.TapeAttention{Subject: "drive " + d.Name, What: d.Problem, Command: "hemera tape drive up " + d.Name})
			}
		}
	}
	slices.SortFunc(out, func(a, b hemera.TapeAttention) int { return compare(a.Subject, b.Subject) })
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
		is, said := t.config.Media[kind], t.config.Media[tape.MediaType]
		if is.Density == 0 || said.Density == 0 || is.Density == said.Density {
			continue
		}
		out = append(out, hemera.TapeAttention{Subject: "tape " + tape.VID, What: "its cartridge is of media type " + kind + ", and the catalogue says " + tape.MediaType,
			Command: fmt.Sprintf("hemera tape tape set %s mediaType=%q capacity=%d", tape.VID, kind, int64(is.Capacity))})
	}
	return out
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
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.explainName(f, subject), nil
}

// explainPath says what a file waits for.
func (t *reporter) explainPath(ctx context.Context, f facts, path string) (out []string, err error) {
	e, err := t.Tree.Stat(ctx, hemera.SystemIdentity(), path)
	if err != nil {
		return nil, err
	}
	out = append(out, fmt.Sprintf("%s has %d disk copies and %d tape copies; its storage class is %q", path, len(e.Pieces), len(e.Tape), e.StorageClass()))
	for _, c := range e.Tape {
		out = append(out, fmt.Sprintf("copy %d is on tape %s, fSeq %d, block %d", c.Number, c.VID, c.FSeq, c.Block))
	}
	for _, name := range []string{hemera.AttrArchiveError, hemera.AttrRecallError} {
		if why := string(e.Xattrs[name]); why != "" {
			out = append(out, "the last attempt failed: "+why)
		}
	}
	for _, kind := range []hemera.TapeJobKind{hemera.TapeArchive, hemera.TapeRecall, hemera.TapeRepack, hemera.TapeVerify} {
		for number := range uint8(hemera.TapeCopiesMax) {
			j, err := t.catalogue.Job(ctx, hemera.TapeJobKey{File: e.ID, Kind: kind, Copy: number + 1})
			if err != nil {
				return out, err
			}
			if j != nil {
				why, begins := t.explainJob(f, j)
				if !begins.IsZero() {
					why += "; it may begin at " + begins.Format(time.DateTime)
				}
				out = append(out, fmt.Sprintf("%s of copy %d: %s", j.Kind, j.Copy, why))
			}
		}
	}
	return out, nil
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
		return fmt.Sprintf("drive %s works on it, with tape %s", m.drive, m.vid)
	case j.Failed:
		return fmt.Sprintf("failed %d times, and is not tried again by itself (hemera tape request retry): %s", j.Attempts, j.Error)
	case pause > 0 && j.Waits != "":
		return fmt.Sprintf("is tried again in %s: %s", pause, j.Waits)
	case pause > 0:
		return fmt.Sprintf("failed %d times, and is tried again in %s: %s", j.Attempts, pause, j.Error)
	}
	return ""
}

// userName is the name of a user for mount rules, or the number where
// this machine knows no name.
func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// explained says which rules keep a queue waiting, the one that is
// nearest to a start first, and about when it begins.
func explained(board *mounting.Board, key mounting.Key) (string, time.Time) {
	e := board.Explain(key)
	var why []string
	for _, r := range e.Reasons {
		text := r.Text
		if r.Remedy != "" {
			text += " (" + r.Remedy + ")"
		}
		why = append(why, text)
	}
	return strings.Join(why, "; "), e.Begins
}

// explainName says what a drive, a tape, a pool or a library does or
// waits for. The lock is held.
func (t *reporter) explainName(f facts, name string) (out []string) {
	board := mounting.New(t.picture(f))
	for _, l := range t.libraries {
		for _, d := range l.state.Drives {
			if d.Name == name {
				for _, r := range board.ExplainDrive(name) {
					out = append(out, r.Text)
				}
			}
		}
	}
	for _, q := range t.queues(f) {
		if q.Name == name || q.Pool == name {
			out = append(out, fmt.Sprintf("%s of %d files waits for %s: %s", q.Kind, q.Files, q.Name, q.Why))
		}
	}
	for _, tape := range f.tapes {
		if tape.VID == name {
			out = append(out, fmt.Sprintf("tape %s is %s, in pool %s, with %d files; %s", name, tape.State, tape.Pool, tape.Files, whereIs(t.libraryOf(name), name)))
			out = append(out, t.explainKey(f, tape)...)
		}
	}
	if len(out) == 0 {
		out = append(out, "nothing of that name is known, or waits")
	}
	return out
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
