package tier

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"hemera/tape/catalogue"
	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A repack and a verification concern all files of a tape. The order is
// written to the tape's record, and each file gets a job like any other:
// so both survive restarts, are retried, share drives with everything
// else, and can be watched.
//
//	order    the task is in the tape's record
//	fill     a job for each file, page by page; the record says how far
//	work     drives do the jobs
//	end      a repack: no file of the tree is on the tape; a verification: no job of it waits
//
// The sweeper fills what a restart interrupted, and ends what is done.

// tasker does what concerns all files of a tape.
type tasker struct {
	env       *env
	settings  *settings
	libraries *libraries
	inventory *inventory
	scanner   *scanner
	recalls   *recalls
	reporter  *reporter
}

// taskPage is the number of files of a tape that are queued at a time.
const taskPage = 1000

// taskOf returns the place where a tape has its task of a kind.
func taskOf(tape *tapeapi.Tape, kind adminapi.TapeOrderKind) **tapeapi.Task {
	if kind == adminapi.OrderRepack {
		return &tape.Repack
	}
	return &tape.Verifying
}

// orderTask begins a repack or a verification.
func (t *tasker) orderTask(ctx context.Context, who string, o adminapi.TapeOrder) (string, error) {
	tape, err := t.env.tape(ctx, hemera.VID(o.Subject))
	if err != nil {
		return "", err
	}
	// Files of a broken tape come from disk or from other copies.
	lost := tape.State == tapeapi.Broken || tape.State == tapeapi.Exported
	switch {
	case o.Kind == adminapi.OrderCheck && lost:
		return "", errs.New(errs.Conflict, "tier.Verify", o.Subject, "a tape in state "+string(tape.State)+" is not read").
			WithRemedy("if it can be read again: `hemera tape tape set " + o.Subject + " state=ACTIVE`; else `hemera tape repack " + o.Subject + "` makes its files' copies elsewhere")
	case o.Kind == adminapi.OrderRepack && !tape.Full && !lost:
		return "", errs.New(errs.Conflict, "tier.Repack", o.Subject, "the tape is not full: files would come while others leave").
			WithRemedy("hemera tape tape set " + o.Subject + " full=true")
	case o.DryRun:
		return fmt.Sprintf("%d files of %d bytes", tape.Files, tape.Bytes), nil
	}
	task := tapeapi.Task{By: who, Begun: t.env.now(), Files: tape.Files, Bytes: tape.Bytes, Copies: o.Kind == adminapi.OrderRepack && !o.Only}
	if err := t.changeTask(ctx, hemera.VID(o.Subject), o.Kind, func(tape *tapeapi.Tape, _ *tapeapi.Task) *tapeapi.Task {
		if o.Kind == adminapi.OrderRepack && !lost {
			tape.State, tape.Reason, tape.Cause = tapeapi.Repacking, "ordered by "+who, ""
		}
		return &task
	}); err != nil {
		return "", err
	}
	queued, err := t.fill(ctx, hemera.VID(o.Subject), o.Kind, task)
	return fmt.Sprintf("%d files are queued", queued), err
}

// changeTask changes the task of a tape and what belongs to it; change gets
// nil where there is none, and returns nil to end it.
func (t *tasker) changeTask(ctx context.Context, vid hemera.VID, kind adminapi.TapeOrderKind, change func(tape *tapeapi.Tape, now *tapeapi.Task) *tapeapi.Task) error {
	return t.env.catalogue.ChangeTape(ctx, vid, func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
		if old == nil {
			return nil, errs.New(errs.NotFound, "tier.Task", string(vid), "the tape is not in the catalogue")
		}
		tape := *old
		at := taskOf(&tape, kind)
		*at = change(&tape, *at)
		return &tape, nil
	})
}

// fill queues the files of a tape that a task has not queued yet, and
// returns how many.
func (t *tasker) fill(ctx context.Context, vid hemera.VID, kind adminapi.TapeOrderKind, task tapeapi.Task) (queued int, err error) {
	defer t.env.wake.ring()
	for !task.Filled {
		files, err := t.env.catalogue.Files(ctx, vid, task.Queued, taskPage, false)
		if err != nil {
			return queued, err
		}
		n, err := t.queueFiles(ctx, kind, &task, files)
		if err != nil {
			return queued, err
		}
		queued += n
		if task.Filled = len(files) == 0; !task.Filled {
			task.Queued = files[len(files)-1].FSeq
		}
		// A task that was ended meanwhile, or ordered again, is not this one.
		ours, done := false, task // the record shares what it is given with readers
		done.Left = slices.Clone(task.Left)
		if err := t.changeTask(ctx, vid, kind, func(_ *tapeapi.Tape, now *tapeapi.Task) *tapeapi.Task {
			if ours = now != nil && now.Begun.Equal(task.Begun); !ours {
				return now
			}
			return &done
		}); err != nil || !ours {
			return queued, err
		}
	}
	return queued, nil
}

// queueFiles queues files of a tape, and returns how many. Those that cannot
// move are noted in the task.
func (t *tasker) queueFiles(ctx context.Context, kind adminapi.TapeOrderKind, task *tapeapi.Task, files []tapeapi.File) (queued int, err error) {
	var jobs []tapeapi.Job
	var moved []tapeapi.File
	known, err := t.env.knownTapes(ctx)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		j, left, err := t.taskJob(ctx, kind, f, known)
		if errs.KindOf(err) == errs.NotFound {
			continue // it was removed since the list was read
		}
		if err != nil {
			return 0, err
		}
		if left != nil {
			leave(task, *left)
			continue
		}
		jobs, moved = append(jobs, j), append(moved, f)
	}
	// By their user, since they are asked for by an admin: groups and activity decide nothing.
	for i := range jobs {
		jobs[i].Policy = t.settings.now().PolicyOf(tapeconfig.Requester{UID: jobs[i].UID})
	}
	if err := t.env.catalogue.Requeue(ctx, jobs); err != nil || !task.Copies {
		return len(jobs), err
	}
	_, _, err = t.env.catalogue.AddCopies(ctx, idsOf(moved))
	return len(jobs), err
}

// Tapes lists the tapes, with what their tasks wait for.
func (t *tasker) Tapes(ctx context.Context) ([]tapeapi.Tape, error) {
	all, err := t.inventory.tapes(ctx)
	for i := range all {
		for _, kind := range []adminapi.TapeOrderKind{adminapi.OrderRepack, adminapi.OrderCheck} {
			at := taskOf(&all[i], kind)
			if *at == nil || err != nil {
				continue
			}
			task := **at // the record is shared
			task.Waits, err = t.waits(ctx, all[i].VID, kind)
			*at = &task
		}
	}
	return all, err
}

// waits says what the next file of a task waits for; "" of one that waits for nothing.
func (t *tasker) waits(ctx context.Context, vid hemera.VID, kind adminapi.TapeOrderKind) (string, error) {
	const looks = 100 // files without a job are those that the repack leaves
	files, err := t.env.catalogue.Files(ctx, vid, 0, looks, false)
	if err != nil {
		return "", err
	}
	for _, f := range files {
		jobs, err := t.env.catalogue.JobsOf(ctx, f.File)
		if err != nil {
			return "", err
		}
		// What brings a file to disk is waited for first.
		slices.SortStableFunc(jobs, func(a, b tapeapi.Job) int { return cmp.Compare(b.Kind, a.Kind) })
		at := slices.IndexFunc(jobs, func(j tapeapi.Job) bool {
			if kind == adminapi.OrderCheck {
				return j.Kind == tapeapi.Verify && hemera.VID(j.Queue) == vid && !j.Failed
			}
			return (j.Kind == tapeapi.Recall || j.Kind == tapeapi.Archive && j.Copy == f.Number) && !j.Failed
		})
		if at < 0 {
			continue
		}
		facts, err := t.inventory.facts(ctx)
		if err != nil {
			return "", err
		}
		why, _ := t.reporter.explainJob(facts, &jobs[at])
		return jobs[at].Kind.String() + " of its next file: " + why, nil
	}
	return "", nil
}

// leftMax bounds the kinds of files that a repack names as left.
const leftMax = 20

// leave counts a file that a repack leaves where it is.
func leave(task *tapeapi.Task, l tapeapi.Left) {
	at := slices.IndexFunc(task.Left, func(o tapeapi.Left) bool { return o.Class == l.Class && o.Copy == l.Copy && o.Why == l.Why })
	switch {
	case at >= 0:
		task.Left[at].Files++
	case len(task.Left) < leftMax:
		l.Files = 1
		task.Left = append(task.Left, l)
	}
}

// idsOf returns the files of rows.
func idsOf(files []tapeapi.File) []hemera.FileID {
	ids := make([]hemera.FileID, len(files))
	for i, f := range files {
		ids[i] = f.File
	}
	return ids
}

// taskJob returns the job for a file of a tape. A repack is an archive job for a copy that the file has: the new copy
// takes the place of the old one. A file that is on tape only comes to disk first (see TapeJobs). One whose class says no
// pool for the copy cannot move, nor one that neither disks nor tapes give: left says why.
func (t *tasker) taskJob(ctx context.Context, kind adminapi.TapeOrderKind, f tapeapi.File, known map[hemera.VID]tapeapi.Tape) (j tapeapi.Job, left *tapeapi.Left, err error) {
	j = tapeapi.Job{JobKey: tapeapi.JobKey{File: f.File, Kind: tapeapi.Verify, Copy: f.Number}, ArchiveID: f.ArchiveID, Queue: string(f.VID), Size: f.Size, Asked: t.env.now()}
	if kind == adminapi.OrderCheck {
		from := f.TapeCopy
		j.From = &from
		return j, nil, nil
	}
	e, path, err := t.env.Tree.Resolve(ctx, f.File)
	if err != nil {
		return j, nil, err
	}
	class := e.StorageClass()
	left = &tapeapi.Left{Class: class, Copy: f.Number, Path: path, Why: fmt.Sprintf("class %s has no copy %d any more", class, f.Number)}
	to, err := t.settings.now().Config.Resolve(class, true)
	if err != nil {
		left.Why, left.Remedy = err.Error(), errs.RemedyOf(err)
	}
	for _, d := range to {
		if d.Copy != f.Number {
			continue
		}
		if j.Kind, j.Queue = tapeapi.Archive, string(d.Pool); !e.Evicted() {
			return j, nil, nil
		}
		if _, err := t.recalls.chooseCopy(known, nil)(&e); err != nil {
			left.Why = "they are not on disk, and " + errs.Reason(err, "fxid:"+e.ID.Hex())
			left.Remedy = "if it can be read after all: hemera tape tape set " + string(f.VID) + " full=true state=ACTIVE"
			return j, left, nil
		}
		return j, nil, nil
	}
	left.Remedy = cmp.Or(left.Remedy, fmt.Sprintf("hemera tape route add %s/%d tapepool=POOL", class, f.Number)) + "; then order the repack again"
	return j, left, nil
}

// orderCopies queues the copies that the files of a tape lack: their class
// has more of them than when they were written.
func (t *tasker) orderCopies(ctx context.Context, o adminapi.TapeOrder) (string, error) {
	if _, err := t.env.tape(ctx, hemera.VID(o.Subject)); err != nil {
		return "", err
	}
	defer t.env.wake.ring()
	queued, left := 0, 0
	for after := uint64(0); ; {
		files, err := t.env.catalogue.Files(ctx, hemera.VID(o.Subject), after, taskPage, false)
		if err != nil || len(files) == 0 {
			text := fmt.Sprintf("%d copies are queued", queued)
			if left > 0 {
				text += fmt.Sprintf("; %d files are left, as their storage class is gone or lacks a route", left)
			}
			return text, err
		}
		if !o.DryRun {
			n, without, err := t.env.catalogue.AddCopies(ctx, idsOf(files))
			if err != nil {
				return "", err
			}
			queued, left = queued+n, left+without
		}
		after = files[len(files)-1].FSeq
	}
}

// orderStop ends the repack, the verification and the scan of a tape, and
// takes the order to label it back. Files
// that were moved stay where they are now; sessions finish the jobs that they
// have.
func (t *tasker) orderStop(ctx context.Context, who string, o adminapi.TapeOrder) (string, error) {
	tape, err := t.env.tape(ctx, hemera.VID(o.Subject))
	// A tape that is scanned need not be in the catalogue.
	scanned, failed := t.scanner.stop(ctx, who, o)
	if failed != nil {
		return "", failed
	}
	if err != nil {
		if scanned != "" && errs.KindOf(err) == errs.NotFound {
			return scanned, nil
		}
		return "", err
	}
	if tape.Relabel != nil && !o.DryRun {
		if err := t.dropLabel(ctx, hemera.VID(o.Subject)); err != nil {
			return "", err
		}
	}
	stopped := 0
	for _, kind := range []adminapi.TapeOrderKind{adminapi.OrderRepack, adminapi.OrderCheck} {
		task := *taskOf(&tape, kind)
		if task == nil || o.DryRun {
			continue
		}
		// The task first: what fills it stops then.
		if err := t.changeTask(ctx, hemera.VID(o.Subject), kind, func(tape *tapeapi.Tape, _ *tapeapi.Task) *tapeapi.Task {
			endRepack(tape, kind)
			return nil
		}); err != nil {
			return "", err
		}
		n, err := t.dequeueFiles(ctx, hemera.VID(o.Subject), kind)
		if err != nil {
			return "", err
		}
		stopped += n
	}
	switch {
	case tape.Repack != nil || tape.Verifying != nil:
		return fmt.Sprintf("%d requests are taken back", stopped), nil
	case scanned != "":
		return scanned, nil
	case tape.Relabel != nil:
		return "the tape is not labelled, unless a drive is at it already", nil
	}
	return "", errs.New(errs.NotFound, "tier.Stop", o.Subject, "the tape is neither repacked, verified, scanned nor to be labelled").
		WithRemedy("see `hemera tape repack ls`, `verify ls` and `scan ls`")
}

// dequeueFiles removes the jobs of a task.
func (t *tasker) dequeueFiles(ctx context.Context, vid hemera.VID, kind adminapi.TapeOrderKind) (removed int, err error) {
	of := tapeapi.Verify
	if kind == adminapi.OrderRepack {
		of = tapeapi.Archive
	}
	for after := uint64(0); ; {
		files, err := t.env.catalogue.Files(ctx, vid, after, taskPage, false)
		if err != nil || len(files) == 0 {
			return removed, err
		}
		var keys []tapeapi.JobKey
		for _, f := range files {
			keys = append(keys, tapeapi.JobKey{File: f.File, Kind: of, Copy: f.Number})
		}
		n, err := t.env.catalogue.Dequeue(ctx, keys)
		if err != nil {
			return removed, err
		}
		removed, after = removed+n, files[len(files)-1].FSeq
	}
}

// endRepack gives a tape the state that it has after a repack.
func endRepack(tape *tapeapi.Tape, kind adminapi.TapeOrderKind) {
	if kind != adminapi.OrderRepack {
		return
	}
	switch tape.State {
	case tapeapi.Repacking:
		tape.State, tape.Reason, tape.Cause = tapeapi.Active, "", ""
	case tapeapi.RepackingDisabled:
		tape.State = tapeapi.Disabled
	}
}

// turn fills the tasks that a restart interrupted, ends those that are
// done, and begins the verification that is due.
func (t *tasker) turn(ctx context.Context) error {
	all, err := t.env.catalogue.Tapes(ctx)
	if err != nil {
		return err
	}
	queues, err := t.env.catalogue.Queues(ctx)
	if err != nil {
		return err
	}
	for _, tape := range all {
		for _, kind := range []adminapi.TapeOrderKind{adminapi.OrderRepack, adminapi.OrderCheck} {
			task := *taskOf(&tape, kind)
			if task == nil {
				continue
			}
			if !task.Filled {
				if _, err := t.fill(ctx, tape.VID, kind, *task); err != nil {
					return err
				}
				continue
			}
			if err := t.endTask(ctx, tape, kind, queues); err != nil {
				return err
			}
		}
	}
	return t.verifyNext(ctx, all)
}

// endTask ends a task that is done.
func (t *tasker) endTask(ctx context.Context, tape tapeapi.Tape, kind adminapi.TapeOrderKind, queues []catalogue.Queue) error {
	waits, failed := false, false
	for _, q := range queues {
		if q.Kind == tapeapi.Verify && hemera.VID(q.Name) == tape.VID {
			waits, failed = waits || !q.Failed, failed || q.Failed
		}
	}
	if kind == adminapi.OrderRepack && tape.Files > 0 || kind == adminapi.OrderCheck && waits {
		return nil
	}
	t.env.Log.Info("all files of a tape are done", "task", kind, "vid", tape.VID)
	return t.changeTask(ctx, tape.VID, kind, func(tape *tapeapi.Tape, _ *tapeapi.Task) *tapeapi.Task {
		endRepack(tape, kind)
		// What failed is in the list of failed requests, until somebody has looked.
		if kind == adminapi.OrderCheck && !failed {
			tape.Verified = t.env.now()
		}
		return nil
	})
}

// verifyNext begins the verification of the tape that was not verified for
// longest, one at a time.
func (t *tasker) verifyNext(ctx context.Context, all []tapeapi.Tape) error {
	every := t.settings.now().Config.Mounting[tapeconfig.DefaultName].Verify.Duration()
	// One tape at a time: the rest of the drives is for users.
	if slices.ContainsFunc(all, func(tape tapeapi.Tape) bool { return tape.Verifying != nil }) {
		return nil
	}
	vid := tapeconfig.DueForVerification(all, t.env.now(), every, func(vid hemera.VID) bool {
		return t.libraries.now().libraryOf(vid) != nil
	})
	if vid == "" {
		return nil
	}
	t.env.Log.Info("a tape is verified, as it was not for a long time", "vid", vid, "every", every)
	_, err := t.orderTask(ctx, hemera.SystemIdentity().Name, adminapi.TapeOrder{Kind: adminapi.OrderCheck, Subject: string(vid)})
	return err
}

// dropLabel takes back the order to label a tape.
func (t *tasker) dropLabel(ctx context.Context, vid hemera.VID) error {
	return t.env.catalogue.ChangeTape(ctx, vid, func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
		if old == nil {
			return nil, nil
		}
		now := *old
		now.Relabel = nil
		return &now, nil
	})
}
