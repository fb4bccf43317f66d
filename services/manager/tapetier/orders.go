package tapetier

import (
	"context"
	"fmt"
	"time"

	"hemera"
	"hemera/errs"
)

// Orders are done once and are not remembered, but for what they leave in
// queues: a repack and a verification are jobs like all others, one for
// each file, so they survive restarts, are retried, and can be watched in
// the queue of their tape. A label that was ordered and not made is
// forgotten with the process.

// OrderTape implements hemera.TapeAdmin. It returns what was done, in
// words.
func (t *orderer) OrderTape(ctx context.Context, who string, o hemera.TapeOrder) (string, error) {
	switch o.Kind {
	case hemera.OrderLabel:
		return t.orderLabel(ctx, o)
	case hemera.OrderReclaim:
		return t.orderReclaim(ctx, o)
	case hemera.OrderRepack:
		return t.orderRepack(ctx, who, o)
	case hemera.OrderStopTape:
		return t.orderCancel(ctx, o)
	case hemera.OrderCheck:
		return t.orderFiles(ctx, o, hemera.TapeVerify)
	case hemera.OrderRetry, hemera.OrderForget:
		return t.orderFailed(ctx, o)
	}
	return "", errs.New(errs.Unsupported, "tapetier.Order", string(o.Kind), "there is no such order for tapes")
}

// tape returns a tape by its VID.
func (t *orderer) tape(ctx context.Context, vid string) (tape hemera.Tape, err error) {
	known, err := t.knownTapes(ctx)
	if err != nil {
		return tape, err
	}
	tape, ok := known[vid]
	if !ok {
		return tape, errs.New(errs.NotFound, "tapetier.Order", vid, "the tape is not in the catalogue").WithRemedy("see `hemera tape tape ls`")
	}
	return tape, nil
}

// orderLabel has a tape labelled. A tape with files is not: its label
// goes with a reclaim.
func (t *orderer) orderLabel(ctx context.Context, o hemera.TapeOrder) (string, error) {
	tape, err := t.tape(ctx, o.Subject)
	if err != nil {
		return "", err
	}
	if tape.LastFSeq > 0 {
		return "", errs.New(errs.NotEmpty, "tapetier.Label", o.Subject, "the catalogue knows files on the tape").WithRemedy("repack and reclaim it first")
	}
	if o.DryRun {
		return "the tape would be labelled by the next drive of its library that has nothing to do", nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.labels[o.Subject] = o.Force
	t.awake()
	return "the next drive of its library that has nothing to do labels the tape", nil
}

// orderReclaim has a full tape without files written from its beginning
// again.
func (t *orderer) orderReclaim(ctx context.Context, o hemera.TapeOrder) (string, error) {
	tape, err := t.tape(ctx, o.Subject)
	if err != nil {
		return "", err
	}
	if o.DryRun {
		return fmt.Sprintf("the tape has %d files of the tree; %d tape files would be forgotten", tape.Files, tape.LastFSeq), nil
	}
	if err := t.catalogue.Reclaim(ctx, o.Subject); err != nil {
		return "", err
	}
	t.Awake()
	return "the tape is empty, and written from its beginning again", nil
}

// orderRepack queues the files of a tape to be moved, and notes that with
// the tape.
func (t *orderer) orderRepack(ctx context.Context, who string, o hemera.TapeOrder) (string, error) {
	said, err := t.orderFiles(ctx, o, hemera.TapeRepack)
	if err != nil || o.DryRun {
		return said, err
	}
	return said, t.noteRepack(ctx, o.Subject, func(tape *hemera.Tape) {
		tape.RepackAsked, tape.RepackBy, tape.RepackFiles = t.now(), who, tape.Files
	})
}

// noteRepack changes what a tape says of its repack.
func (t *orderer) noteRepack(ctx context.Context, vid string, note func(*hemera.Tape)) error {
	return t.catalogue.ChangeTape(ctx, vid, func(old *hemera.Tape) (*hemera.Tape, error) {
		if old == nil {
			return nil, errs.New(errs.NotFound, "tapetier.Repack", vid, "the tape is not in the catalogue")
		}
		tape := *old
		note(&tape)
		return &tape, nil
	})
}

// orderCancel ends the repack and the verification of a tape: what is
// queued is not done. What was moved already stays where it is now.
func (t *orderer) orderCancel(ctx context.Context, o hemera.TapeOrder) (string, error) {
	if _, err := t.tape(ctx, o.Subject); err != nil {
		return "", err
	}
	const page = 1000
	cancelled := int64(0)
	for after := uint64(0); ; {
		files, err := t.catalogue.Files(ctx, o.Subject, after, page, false)
		if err != nil {
			return "", err
		}
		for _, f := range files {
			// A file that has the copy is archived again by a repack only.
			for _, kind := range []hemera.TapeJobKind{hemera.TapeArchive, hemera.TapeVerify} {
				n, err := t.cancelJob(ctx, hemera.TapeJobKey{File: f.File, Kind: kind, Copy: f.Number}, f.ArchiveID, o.DryRun)
				if err != nil {
					return "", err
				}
				cancelled += n
			}
			after = f.FSeq
		}
		if len(files) == 0 {
			break
		}
	}
	if o.DryRun {
		return count(cancelled, "job would be cancelled", "jobs would be cancelled"), nil
	}
	return count(cancelled, "job is cancelled", "jobs are cancelled"), t.noteRepack(ctx, o.Subject, func(tape *hemera.Tape) {
		tape.RepackAsked, tape.RepackBy, tape.RepackFiles = time.Time{}, "", 0
	})
}

// cancelJob removes a job of a content, and counts it.
func (t *orderer) cancelJob(ctx context.Context, k hemera.TapeJobKey, archiveID uint64, dry bool) (int64, error) {
	j, err := t.catalogue.Job(ctx, k)
	if err != nil || j == nil || j.ArchiveID != archiveID {
		return 0, err
	}
	if dry {
		return 1, nil
	}
	return 1, t.catalogue.ChangeJob(ctx, k, void)
}

// orderFiles queues all files of a tape: to be read and compared, or to
// be archived to another tape.
func (t *orderer) orderFiles(ctx context.Context, o hemera.TapeOrder, kind hemera.TapeJobKind) (string, error) {
	tape, err := t.tape(ctx, o.Subject)
	if err != nil {
		return "", err
	}
	// Nothing comes to a tape that is lost, full or not.
	lost := tape.State == hemera.TapeBroken || tape.State == hemera.TapeExported
	if kind == hemera.TapeRepack && !tape.Full && !lost {
		return "", errs.New(errs.Conflict, "tapetier.Repack", o.Subject, "the tape is not full: files would come while others leave").
			WithRemedy("hemera tape tape set " + o.Subject + " full=true")
	}
	if o.DryRun {
		return fmt.Sprintf("%d files of %d bytes", tape.Files, tape.Bytes), nil
	}
	const page = 1000
	queued := 0
	// Page by page: a tape may have millions of files.
	for after := uint64(0); ; {
		files, err := t.catalogue.Files(ctx, o.Subject, after, page, false)
		if err != nil || len(files) == 0 {
			t.Awake()
			return count(int64(queued), "file is queued", "files are queued"), err
		}
		var jobs []hemera.TapeJob
		for _, f := range files {
			j, err := t.jobFor(ctx, f, kind)
			if err != nil {
				return "", err
			}
			jobs = append(jobs, j)
		}
		if err := t.catalogue.Requeue(ctx, jobs); err != nil {
			return "", err
		}
		queued, after = queued+len(jobs), files[len(files)-1].FSeq
	}
}

// jobFor is the job for a file of a tape. A repack is an archive job for
// a copy that the file has: the new copy takes the place of the old one.
// A file that is on tape only comes to disk first (see TapeJobs).
func (t *orderer) jobFor(ctx context.Context, f hemera.TapeFile, kind hemera.TapeJobKind) (hemera.TapeJob, error) {
	j := hemera.TapeJob{TapeJobKey: hemera.TapeJobKey{File: f.File, Kind: kind, Copy: f.Number}, ArchiveID: f.ArchiveID, Queue: f.VID, Size: f.Size, Asked: t.now()}
	if kind != hemera.TapeRepack {
		from := f.TapeCopy
		j.From = &from
		return j, nil
	}
	e, _, err := t.Tree.Resolve(ctx, f.File)
	if err != nil {
		return j, err
	}
	to, err := t.settings().Resolve(e.StorageClass(), true)
	if err != nil {
		return j, err
	}
	for _, d := range to {
		if d.Copy == f.Number {
			j.Kind, j.Queue = hemera.TapeArchive, d.Pool
			return j, nil
		}
	}
	return j, errs.New(errs.Invalid, "tapetier.Repack", f.VID, fmt.Sprintf("class %s has no copy %d any more", e.StorageClass(), f.Number))
}

// orderFailed has failed jobs tried again, or forgotten: those of one
// queue, or all.
func (t *orderer) orderFailed(ctx context.Context, o hemera.TapeOrder) (string, error) {
	jobs, err := t.TapeJobList(ctx, hemera.TapeJobQuery{Queue: o.Subject, Failed: true})
	if err != nil {
		return "", err
	}
	// At most a page of them: who has more repeats the order.
	for _, j := range jobs {
		if o.DryRun {
			continue
		}
		err := t.catalogue.ChangeJob(ctx, j.TapeJobKey, func(j hemera.TapeJob, _ time.Time) *hemera.TapeJob {
			if o.Kind == hemera.OrderForget {
				return nil
			}
			j.Failed, j.Attempts, j.After = false, 0, time.Time{}
			return &j
		})
		if err != nil {
			return "", err
		}
	}
	t.Awake()
	return count(int64(len(jobs)), "job", "jobs"), nil
}
