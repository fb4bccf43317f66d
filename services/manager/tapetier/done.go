package tapetier

import (
	"context"
	"slices"
	"time"

	"hemera"
	"hemera/errs"
)

// TapeDone records what a mount did. The caller has checked the lease. A report of a mount that the
// manager does not know any more is recorded all the same: what is on tape is on tape.
func (t *Tier) TapeDone(ctx context.Context, node hemera.NodeID, r hemera.TapeResults) error {
	m := t.mountOf(node, r.Mount)
	if len(r.Written) > 0 {
		complete, err := t.catalogue.Written(ctx, r.VID, r.Session.Drive, r.Written)
		if err != nil {
			return t.disagrees(ctx, r, err)
		}
		t.dropDisks(ctx, complete)
	}
	for _, w := range r.Written {
		t.done(m, w.Job)
	}
	for _, k := range r.Done {
		// A recall's job went with its commit; what is left are those that another recall, or a write,
		// overtook.
		if err := t.catalogue.ChangeJob(ctx, k, void); err != nil {
			return err
		}
		t.done(m, k)
	}
	for _, f := range r.Failed {
		if err := t.failed(ctx, f); err != nil {
			return err
		}
		t.done(m, f.Job)
	}
	if err := t.noteTape(ctx, m, r); err != nil {
		return err
	}
	t.noteMount(m, r)
	return nil
}

// disagrees puts a tape aside whose files do not follow what the catalogue knows: to write on would
// destroy what somebody else wrote.
func (t *Tier) disagrees(ctx context.Context, r hemera.TapeResults, cause error) error {
	if errs.KindOf(cause) != errs.Conflict {
		return cause
	}
	t.Log.Error("a tape and the catalogue disagree; the tape is disabled", "vid", r.VID, "error", cause)
	if err := t.disable(ctx, r.VID, "the tape and the catalogue disagree: "+cause.Error()); err != nil {
		return err
	}
	return cause
}

// disable takes a tape out of use.
func (t *Tier) disable(ctx context.Context, vid, why string) error {
	return t.catalogue.ChangeTape(ctx, vid, func(old *hemera.Tape) (*hemera.Tape, error) {
		if old == nil {
			return nil, errs.New(errs.NotFound, "tapetier.Disable", vid, "the tape is not in the catalogue")
		}
		tape := *old
		tape.State, tape.Reason = hemera.TapeDisabled, why
		if old.State == hemera.TapeRepacking {
			tape.State = hemera.TapeRepackingDisabled
		}
		tape.Changed, tape.ChangedBy = t.now(), hemera.SystemIdentity().Name
		return &tape, nil
	})
}

// done takes a job from a mount, if there is one.
func (t *Tier) done(m *mount, k hemera.TapeJobKey) {
	if m != nil {
		t.release(m, k)
	}
}

// How jobs are tried again: after a minute, two, four and so on.
const (
	archiveAttempts = 4
	recallAttempts  = 6
	retryFirst      = time.Minute
	retryLongest    = time.Hour
)

// failed decides what becomes of a job that failed.
func (t *Tier) failed(ctx context.Context, f hemera.TapeFailure) error {
	if f.Void {
		return t.catalogue.ChangeJob(ctx, f.Job, void)
	}
	var other *hemera.TapeCopy
	if f.Job.Kind == hemera.TapeRecall {
		other = t.otherCopy(ctx, f.Job)
	}
	return t.catalogue.ChangeJob(ctx, f.Job, func(j hemera.TapeJob, now time.Time) *hemera.TapeJob {
		j.Attempts, j.Error = j.Attempts+1, f.Error
		most := archiveAttempts
		if j.Kind == hemera.TapeRecall {
			most = recallAttempts
		}
		pause := min(retryFirst<<min(j.Attempts-1, 10), retryLongest)
		// Another copy is as good, and may be read now.
		if other != nil && (f.Copy || j.Attempts%2 == 0) {
			j.From, j.Copy, j.Queue, pause = other, other.Number, other.VID, 0
		}
		j.After, j.Failed = now.Add(pause), j.Attempts >= most
		return &j
	})
}

// otherCopy finds another copy to read for a recall, nil when there is none.
func (t *Tier) otherCopy(ctx context.Context, k hemera.TapeJobKey) *hemera.TapeCopy {
	e, _, err := t.Tree.Resolve(ctx, k.File)
	if err != nil || len(e.Tape) < 2 {
		return nil
	}
	known, err := t.knownTapes(ctx)
	if err != nil {
		return nil
	}
	c, err := t.chooseCopy(known, map[uint8]bool{k.Copy: true})(&e)
	if err != nil {
		return nil
	}
	return &c
}

// noteTape writes to the catalogue what a mount says of its tape.
func (t *Tier) noteTape(ctx context.Context, m *mount, r hemera.TapeResults) error {
	if !r.Full && !r.Labelled && r.Problem == "" && !r.Ended || r.VID == "" {
		return nil
	}
	err := t.catalogue.ChangeTape(ctx, r.VID, func(old *hemera.Tape) (*hemera.Tape, error) {
		if old == nil {
			return nil, errs.New(errs.NotFound, "tapetier.TapeDone", r.VID, "the tape is not in the catalogue")
		}
		tape := *old
		tape.Full = tape.Full || r.Full
		if r.Labelled {
			tape.Labelled, tape.LabelBy = t.now(), r.Session.Drive
		}
		if r.Problem != "" {
			tape.State, tape.Reason = hemera.TapeDisabled, r.Problem
		}
		if r.Ended && m != nil {
			switch m.kind {
			case hemera.TapeArchive:
				tape.Writes++
			case hemera.TapeRecall, hemera.TapeRepack, hemera.TapeVerify:
				tape.Reads++
				tape.Read, tape.ReadBy = t.now(), r.Session.Drive
			}
		}
		return &tape, nil
	})
	if errs.KindOf(err) == errs.NotFound {
		return nil // it was removed from the catalogue meanwhile
	}
	return err
}

// noteMount keeps how a session went, and ends its mount.
func (t *Tier) noteMount(m *mount, r hemera.TapeResults) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m != nil {
		m.session = r.Session
		if r.Ended {
			t.endMount(m)
		}
	}
	if r.Labelled {
		delete(t.labels, r.VID)
	}
	if r.Ended && (r.Session.Files > 0 || r.Session.Failed > 0 || r.Session.Error != "") {
		t.sessions = slices.Insert(t.sessions, 0, r.Session)
		t.sessions = t.sessions[:min(len(t.sessions), sessionsKept)]
	}
	t.awake()
}

// endMount forgets a mount: what it had is free for others. The lock is held.
func (t *Tier) endMount(m *mount) {
	for k := range m.given {
		if t.given[k] == m.id {
			delete(t.given, k)
		}
	}
	delete(t.mounts, m.id)
	if l := t.libraries[m.node]; l != nil {
		if d := l.drives[m.drive]; d != nil && d.mount == m.id {
			d.mount, d.idle, d.lastBy = 0, t.Now(), m.kind
		}
	}
}

// dropDisks removes the disk copies of files that are archived, where their directories ask for it.
// A failure costs room until the sweep comes by, and is no failure of the report.
func (t *Tier) dropDisks(ctx context.Context, files []hemera.FileID) {
	for _, id := range files {
		drop, err := t.dropsAtOnce(ctx, id)
		if err == nil && drop {
			_, err = t.evict(ctx, id, false)
		}
		if err != nil {
			t.Log.Info("disk copies of an archived file stay for now", "file", id, "error", err)
		}
	}
}

// dropsAtOnce reports whether the directories above a file ask for its disk copies to go when it is
// archived.
func (t *Tier) dropsAtOnce(ctx context.Context, id hemera.FileID) (bool, error) {
	e, _, err := t.Tree.Resolve(ctx, id)
	for err == nil && e.ID != hemera.RootID {
		if e, _, err = t.Tree.Resolve(ctx, e.Parent); err == nil {
			if value := string(e.Xattrs[hemera.AttrDropOnArchive]); value != "" {
				return value == "1", nil
			}
		}
	}
	return false, err
}
