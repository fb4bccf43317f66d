package tier

import (
	"context"
	"time"

	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A report has three parts, which are recorded one after the other: what
// is on tape, what failed, and what is to be known of the tape and the
// drive. Each is safe to record twice, so a server whose answer was lost
// sends the whole report again. The order matters in one place: a tape is
// full only after its last files are recorded, or a mount in between
// would not know where they end.
//
// What a server reports may be wrong, and is believed as far as its library
// goes (trust.go). Copies are recorded of files that its session was given,
// with the size and the checksum that the namespace has, and nothing else:
// what else was written is dead rows of the tape.

// recorder records what mounts did.
type recorder struct {
	env       *env
	settings  *settings
	libraries *libraries
	mounts    *mounts
	issued    *issued
	scanner   *scanner
	disks     *diskCopies
	recalls   *recalls
}

// TapeDone records what a mount did. The caller has checked the lease. Of
// a mount of before the manager's start, or one that ended, it records what
// was written all the same, if it is the last one that its drive was given.
// What such a mount did not do waits in its queue, as nobody has it. Conflict
// for any other mount.
func (t *recorder) TapeDone(ctx context.Context, node hemera.NodeID, r tapeapi.Results) error {
	m := t.mounts.of(node, r.Mount)
	if err := t.trusts(node, m, &r); err != nil {
		t.env.Log.Error("a tape server reports what is none of its library", "node", node, "vid", r.VID, "drive", r.Session.Drive, "error", err)
		return err
	}
	if r.Scan != nil {
		if err := t.scanner.take(ctx, m, r.Scan); err != nil {
			return err
		}
	}
	if len(r.Written) > 0 {
		waits := t.settings.now().Config.MountCriteria().ReadsBack() > 0
		out, err := t.recordKeyed(ctx, catalogue.Report{VID: r.VID, Drive: r.Session.Drive, Key: r.Key, Files: r.Written, Given: t.jobsOf(m), ReadBack: waits})
		if err != nil {
			return t.disagrees(ctx, r, err)
		}
		if !waits {
			t.disks.dropDisks(ctx, out.Complete)
		}
		r.Failed = append(r.Failed, out.Unfit...)
	}
	if err := t.readBack(ctx, m, r); err != nil {
		return err
	}
	err := t.env.together(len(r.Done), func(i int) error {
		// A recall's job went with its commit; what is left are those that
		// another recall, or a write, overtook.
		err := t.settle(ctx, m, r.Done[i], void)
		if err == nil {
			t.mounts.release(m, r.Done[i])
		}
		return err
	})
	if err == nil {
		err = t.env.together(len(r.Failed), func(i int) error {
			err := t.failed(ctx, m, r.Failed[i])
			if err == nil {
				t.mounts.release(m, r.Failed[i].Job)
			}
			return err
		})
	}
	if err != nil {
		return err
	}
	// Only now others may have the jobs: those that are recorded are gone, and
	// those that were written wrong wait for their next attempt.
	for _, w := range r.Written {
		t.mounts.release(m, w.Job)
	}
	if err := t.noteTape(ctx, m, r); err != nil {
		return err
	}
	if r.Ended {
		if err := t.issued.ended(ctx, r.Mount); err != nil {
			return err
		}
	}
	t.noteMount(m, r)
	if m != nil && m.back != nil {
		t.disks.dropBehind(ctx)
	}
	return nil
}

// disagrees puts a tape aside whose files do not follow what the
// catalogue knows: to write on would destroy what somebody else wrote.
func (t *recorder) disagrees(ctx context.Context, r tapeapi.Results, cause error) error {
	if errs.KindOf(cause) != errs.Conflict {
		return cause
	}
	// A session of a life of the store that was lost: the scan that the tape waits for finds what it wrote.
	if known, err := t.env.knownTapes(ctx); err == nil && known[r.VID].Unscanned != "" {
		return cause
	}
	t.env.Log.Error("a tape and the catalogue disagree; the tape is disabled", "vid", r.VID, "error", cause)
	if err := t.disable(ctx, r.VID, "the tape and the catalogue disagree: "+cause.Error()); err != nil {
		return err
	}
	return cause
}

// disable takes a tape out of use.
func (t *recorder) disable(ctx context.Context, vid hemera.VID, why string) error {
	return t.env.catalogue.ChangeTape(ctx, vid, func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
		if old == nil {
			return nil, errs.New(errs.NotFound, "tier.Disable", string(vid), "the tape is not in the catalogue")
		}
		tape := *old
		putAside(&tape, why, "")
		tape.Changed, tape.ChangedBy = t.env.now(), hemera.SystemIdentity().Name
		return &tape, nil
	})
}

// putAside returns the state of a tape that is not to be mounted until a person has looked at it. One that is broken or
// exported stays what it is.
func putAside(tape *tapeapi.Tape, why string, cause tapeapi.Cause) {
	switch tape.State {
	case tapeapi.Broken, tapeapi.Exported:
		return
	case tapeapi.Repacking, tapeapi.RepackingDisabled:
		tape.State = tapeapi.RepackingDisabled
	default:
		tape.State = tapeapi.Disabled
	}
	tape.Reason, tape.Cause = why, cause
}

// settle changes a job as its mount reports. Only the job that the mount
// was given is changed: a report that comes twice, or late, would else
// count an attempt again, or take away what was asked for since. Another
// content of the file has a job of the same key.
func (t *recorder) settle(ctx context.Context, m *mount, k tapeapi.JobKey, change func(j tapeapi.Job, now time.Time) *tapeapi.Job) error {
	given, ok := t.mounts.job(m, k)
	if !ok {
		return nil
	}
	return t.env.catalogue.ChangeJob(ctx, k, func(j tapeapi.Job, now time.Time) *tapeapi.Job {
		if j.ArchiveID != given.ArchiveID || !j.Asked.Equal(given.Asked) {
			return &j
		}
		return change(j, now)
	})
}

// How jobs are tried again: after a minute, two, four and so on.
const (
	archiveAttempts = 4
	recallAttempts  = 6
	retryFirst      = time.Minute
	retryLongest    = time.Hour
	// putOffPause is after what time a recall is tried again for which disks had
	// no room, or whose file is held by a writer. However often that is, it does not fail.
	putOffPause = time.Minute
)

// failed decides what becomes of a job that failed.
func (t *recorder) failed(ctx context.Context, m *mount, f tapeapi.Failure) error {
	// The file is gone, or has another content: nothing is left to do.
	if f.Void && !t.recallable(ctx, f.Job) {
		if err := t.settle(ctx, m, f.Job, void); err != nil || f.Job.Kind != tapeapi.Recall {
			return err
		}
		// A file in a recycle bin may still have requests, which would wait for ever.
		return t.env.catalogue.FailRecall(ctx, f.Job.File, f.Error)
	}
	if f.PutOff && f.Job.Kind == tapeapi.Recall {
		return t.settle(ctx, m, f.Job, func(j tapeapi.Job, now time.Time) *tapeapi.Job {
			j.After, j.Waits = now.Add(putOffPause), f.Error
			return &j
		})
	}
	if f.Copy && m != nil {
		f.Error = "tape " + string(m.vid) + " could not be read in drive " + m.drive + ": " + f.Error
	}
	// Looked up outside of the change, which may run several times.
	var other *hemera.TapeCopy
	if f.Job.Kind == tapeapi.Recall {
		other = t.recalls.otherCopy(ctx, f.Job)
	}
	return t.settle(ctx, m, f.Job, func(j tapeapi.Job, now time.Time) *tapeapi.Job {
		j.Attempts, j.Error, j.Waits = j.Attempts+1, f.Error, ""
		most := archiveAttempts
		if j.Kind == tapeapi.Recall {
			most = recallAttempts
		}
		pause := min(retryFirst<<min(j.Attempts-1, 10), retryLongest)
		// Another copy is as good, and may be read now.
		if other != nil && (f.Copy || j.Attempts%2 == 0) {
			j.From, j.Copy, j.Queue, pause = other, other.Number, string(other.VID), 0
		}
		j.After, j.Failed = now.Add(pause), j.Attempts >= most
		return &j
	})
}

// recallable reports whether a recall that counts as void can be done after all: its file is on tape only, and where users put it. A
// client that had the file open, and went away without a commit, made the recall's commit fail.
func (t *recorder) recallable(ctx context.Context, k tapeapi.JobKey) bool {
	if k.Kind != tapeapi.Recall {
		return false
	}
	e, _, err := t.env.Tree.Resolve(ctx, k.File)
	if err != nil || !e.Evicted() {
		return false
	}
	_, _, err = t.env.Tree.PrepareConversion(ctx, e.ID, e.Gen)
	return err == nil
}

// noteTape writes to the catalogue what a mount says of its tape.
func (t *recorder) noteTape(ctx context.Context, m *mount, r tapeapi.Results) error {
	if !r.Full && !r.Labelled && r.Problem == "" && r.Unscanned == "" && !r.Ended || r.VID == "" {
		return nil
	}
	err := t.env.catalogue.ChangeTape(ctx, r.VID, func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
		if old == nil {
			return nil, errs.New(errs.NotFound, "tier.TapeDone", string(r.VID), "the tape is not in the catalogue")
		}
		tape := *old
		// Once full, a tape stays so until it is reclaimed.
		tape.Full = tape.Full || r.Full
		if r.Labelled {
			tape.Labelled, tape.LabelBy = t.env.now(), r.Session.Drive
		}
		if r.Unscanned != "" {
			tape.Doubt = r.Unscanned
		}
		// A label that cannot be made is not tried for ever: the tape says why.
		if r.Labelled || r.Problem != "" {
			tape.Relabel = nil
		}
		// The admin that asked for a scan sees what went wrong, and the tape may be one
		// that has no label yet.
		if r.Problem != "" && (m == nil || !m.scans) {
			putAside(&tape, r.Problem, r.Cause)
		}
		if r.Ended && m != nil {
			switch m.kind {
			case tapeapi.Archive:
				tape.Writes++
			case tapeapi.Recall, tapeapi.Repack, tapeapi.Verify:
				tape.Reads++
				tape.Read, tape.ReadBy = t.env.now(), r.Session.Drive
			}
		}
		return &tape, nil
	})
	if errs.KindOf(err) == errs.NotFound {
		return nil // it was removed from the catalogue meanwhile
	}
	if err != nil || r.Unscanned == "" {
		return err
	}
	t.env.Log.Warn("a tape has files that the catalogue does not know; its end is scanned before it is written", "vid", r.VID, "what", r.Unscanned)
	return t.scanner.tail(ctx, r.VID)
}

// noteMount keeps how a session went, and ends its mount.
func (t *recorder) noteMount(m *mount, r tapeapi.Results) {
	// Before the mount ends: a mount that ends without a report has its scan wait again.
	if m != nil && r.Ended {
		t.scanner.scans.end(m, r.Session.Error)
	}
	t.mounts.note(m, r)
	t.env.wake.ring()
}

// recordKeyed records what was written with a key. A key that is new to a
// tape must not be removed meanwhile: the secret would go, and with it what
// was just written. So it has the turn of changes. Conflict when the key is
// gone: the files are archived again.
func (t *recorder) recordKeyed(ctx context.Context, r catalogue.Report) (out catalogue.Recorded, err error) {
	if r.Key == "" {
		return t.env.catalogue.Written(ctx, r)
	}
	release, err := t.settings.take(ctx, "tape "+string(r.VID))
	if err != nil {
		return out, err
	}
	defer release()
	if _, known := t.settings.now().Config.Keys[r.Key]; !known {
		return out, errs.New(errs.Conflict, "tier.TapeDone", string(r.VID), "it was written with key "+r.Key+", which was removed meanwhile")
	}
	return t.env.catalogue.Written(ctx, r)
}
