package maint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"hemera/maint/move"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// jobsKept bounds the finished jobs that are remembered, jobKept the time for which one is.
	jobsKept = 100
	jobKept  = 24 * time.Hour
)

// drainer empties disks: those set to drain, and those that are lost. One job runs for each, all
// of them share the copy limiter. A job ends when its disk is empty or needs it no more.
type drainer struct {
	base *base

	since map[hemera.DiskID]time.Time // when a disk was first seen lost; used by Step alone

	mu   sync.Mutex
	jobs []*drainJob // oldest first, finished ones too
}

// drainJob is the job of one disk, from when it is due until its end is forgotten.
type drainJob struct {
	task   task
	*job                      // its state and counts, as admins see them
	cancel context.CancelFunc // nil while it waits
}

// newDrainer makes a drainer without jobs. Step begins them from the view.
func newDrainer(e *base) *drainer {
	return &drainer{base: e, since: map[hemera.DiskID]time.Time{}}
}

func (v *drainer) Name() string { return "drain" }

// Step starts what is due and stops what is not due any more.
func (v *drainer) Step(ctx context.Context) (time.Duration, error) {
	view, now := v.base.Cluster.View(), v.base.Now()
	v.note(view, now)
	tasks := due(view, v.base.Cluster.Removed(), v.since, now, v.base.lostAfter())
	tasks, err := v.withWork(ctx, tasks)
	if err != nil {
		return time.Second, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, j := range slices.Clone(v.jobs) {
		again := slices.IndexFunc(tasks, func(t task) bool { return t.disk == j.task.disk && t.kind == j.task.kind })
		// The disk is back, or an admin changed its mind: copies under way end by themselves, no new one begins.
		if _, ended := j.state(); ended.IsZero() && again < 0 {
			if j.cancel == nil { // it never began
				v.jobs = slices.DeleteFunc(v.jobs, func(o *drainJob) bool { return o == j })
				continue
			}
			j.cancel()
			j.set(adminapi.JobDone, "the disk is in use again")
		}
	}
	// A task that has its job already is updated: its wait becomes shorter with each step.
	for _, t := range tasks {
		v.start(ctx, t)
	}
	v.trim(now)
	return time.Second, nil
}

// note remembers since when disks are lost.
func (v *drainer) note(view *hemera.View, now time.Time) {
	for _, d := range view.Disks {
		if !lost(view, d) {
			delete(v.since, d.ID)
		} else if v.since[d.ID].IsZero() {
			v.since[d.ID] = now
		}
	}
}

// withWork leaves out disks that hold nothing: they are empty, or can be forgotten.
func (v *drainer) withWork(ctx context.Context, tasks []task) ([]task, error) {
	var work []task
	for _, t := range tasks {
		pieces, _, err := v.base.Files.DiskUsage(ctx, t.disk)
		if err != nil {
			return nil, errs.Wrap(err, "maint.Drain", "disk "+t.disk.String())
		}
		// A job that runs ends by itself and logs it; finishing here would leave it without its last word.
		if pieces > 0 || v.running(t) {
			work = append(work, t)
			continue
		}
		if err := v.finish(ctx, t.kind, t.disk); err != nil {
			return nil, err
		}
	}
	return work, nil
}

// forgetDisk forgets a removed disk, and the pieces it was still to remove.
func (v *drainer) forgetDisk(ctx context.Context, id hemera.DiskID) error {
	for {
		// The disk will not come back to remove them. To forget them bounds the records of a removed disk.
		pieces, err := v.base.Removals.Unlinked(ctx, id, removeBatch)
		if err == nil && len(pieces) == 0 {
			pieces, err = v.base.Removals.Held(ctx, id, removeBatch)
		}
		if err != nil {
			return errs.Wrap(err, "maint.ForgetDisk", "disk "+id.String())
		}
		if len(pieces) == 0 {
			return v.base.Cluster.ForgetDisk(ctx, id)
		}
		if err := v.base.Removals.ConfirmRemoved(ctx, id, pieces); err != nil {
			return errs.Wrap(err, "maint.ForgetDisk", "disk "+id.String())
		}
	}
}

// waits returns for how long pieces of a disk are not made elsewhere yet, as it may come back; 0 if they are, or need not be.
func (v *drainer) waits(disk hemera.DiskID) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, j := range v.jobs {
		if _, ended := j.state(); ended.IsZero() && j.task.disk == disk {
			return j.task.wait
		}
	}
	return 0
}

// running reports whether the task has a job. The job itself ends an empty disk's task, and says so.
func (v *drainer) running(t task) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.find(t) != nil
}

// find returns the job of a task that has not ended, or nil. mu is held.
func (v *drainer) find(t task) *drainJob {
	for _, j := range v.jobs {
		if _, ended := j.state(); ended.IsZero() && j.task.disk == t.disk && j.task.kind == t.kind {
			return j
		}
	}
	return nil
}

// finish ends the task of a disk that holds nothing: a removed disk is forgotten, a drained one is empty.
func (v *drainer) finish(ctx context.Context, kind adminapi.JobKind, disk hemera.DiskID) error {
	if slices.Contains(v.base.Cluster.Removed(), disk) {
		return v.forgetDisk(ctx, disk)
	}
	if kind == adminapi.JobDrain {
		return v.base.Cluster.SetEmpty(ctx, disk)
	}
	return nil
}

// start makes the job of a task, and begins it once the task need not wait for the disk to come back. mu is held.
func (v *drainer) start(ctx context.Context, t task) {
	j := v.find(t)
	if j == nil {
		j = &drainJob{task: t, job: newJob(t.kind, t.disk, v.base.Now)}
		v.jobs = append(v.jobs, j)
	}
	j.task.wait = t.wait
	if t.wait > 0 {
		j.set(adminapi.JobWaiting, fmt.Sprintf("%s; its files are repaired elsewhere in %s", t.why, t.wait.Round(time.Second)))
		return
	}
	if j.cancel != nil {
		return
	}
	ctx, j.cancel = context.WithCancel(ctx)
	j.set(adminapi.JobRunning, t.why)
	v.base.Panics.Go(&v.base.group, "maint.Drain", "disk "+t.disk.String(), func() {
		defer j.cancel()
		v.run(ctx, j)
	})
}

// trim forgets finished jobs, the oldest first. mu is held.
func (v *drainer) trim(now time.Time) {
	finished := 0
	for _, j := range slices.Backward(v.jobs) {
		if _, ended := j.state(); !ended.IsZero() {
			finished++
			if finished > jobsKept || now.Sub(ended) > jobKept {
				v.jobs = slices.DeleteFunc(v.jobs, func(o *drainJob) bool { return o == j })
			}
		}
	}
}

// run makes passes over the disk's files until none is left.
func (v *drainer) run(ctx context.Context, j *drainJob) {
	for ctx.Err() == nil {
		moved, err := v.sweep(ctx, j)
		if ctx.Err() != nil {
			return
		}
		// Asked after each pass, not counted: writes and removals of users change the number meanwhile.
		pieces, _, usage := v.base.Files.DiskUsage(ctx, j.task.disk)
		if usage == nil && pieces == 0 {
			usage = v.base.Panics.Do("maint.Drain", "disk "+j.task.disk.String(), func() error { return v.finish(ctx, j.task.kind, j.task.disk) })
			if usage == nil {
				j.set(adminapi.JobDone, "")
				v.base.Log.Info("no file needs the disk any more", "disk", j.task.disk, "job", j.task.kind)
				return
			}
		}
		// Something moved and something is left: the next pass begins at once.
		if moved > 0 && err == nil && usage == nil {
			continue
		}
		why := j.task.why
		if err = errors.Join(err, usage); err != nil {
			why = errs.Reason(err, "")
		}
		if moved == 0 {
			// A job with a pass that moved nothing is stalled, until a piece moves again: see job.count.
			j.set(adminapi.JobStalled, why)
		}
		select {
		case <-ctx.Done():
		case <-time.After(stallRest):
		}
	}
}

// sweep tries every file of the disk once. It returns how many it moved, and the last failure.
func (v *drainer) sweep(ctx context.Context, j *drainJob) (int, error) {
	j.again(j.task.why)
	p := newSweep(v.base, j.job)
	list := func(after hemera.FileID) ([]hemera.Entry, error) {
		return v.base.Files.DiskFiles(ctx, j.task.disk, after, pageFiles)
	}
	moves := func(e hemera.Entry) (specs []move.Spec) {
		for _, piece := range e.Pieces {
			if piece.Disk == j.task.disk {
				specs = append(specs, move.Spec{Index: piece.Index, Drop: []hemera.Piece{piece}, Urgency: move.UrgencyDrain})
			}
		}
		return specs
	}
	err := v.base.Panics.Do("maint.Drain", "disk "+j.task.disk.String(), func() error {
		// A drained disk still has its pieces, so their files are in no danger and the order of the list will do.
		if j.task.kind == adminapi.JobRepair {
			return (&triage{base: v.base, sweep: p, list: list, moves: moves}).run(ctx)
		}
		return p.all(ctx, list, moves)
	})
	if err != nil && ctx.Err() == nil {
		p.fail(err)
	}
	return p.wait()
}

// listJobs lists all jobs with what is left of them.
func (v *drainer) listJobs(ctx context.Context) ([]adminapi.JobStatus, error) {
	v.mu.Lock()
	jobs := slices.Clone(v.jobs)
	v.mu.Unlock()
	view := v.base.Cluster.View()
	var list []adminapi.JobStatus
	// Step makes the job of a drain within a second. Until then it is told, so that an admin who has just asked for it sees that it is known.
	for _, d := range view.Disks {
		if d.Config == hemera.ConfigDrain && !slices.ContainsFunc(jobs, func(j *drainJob) bool { return j.task.disk == d.ID && j.task.kind == adminapi.JobDrain && !j.over() }) {
			files, bytes, err := v.base.Files.DiskUsage(ctx, d.ID)
			if err != nil {
				return nil, err
			}
			list = append(list, newJob(adminapi.JobDrain, d.ID, v.base.Now).exact(files, bytes))
		}
	}
	for _, j := range jobs {
		// Step forgets it within a second: an admin switched the disk off, or it came back.
		if d, there := view.Disk(j.task.disk); there && j.task.wait > 0 && !lost(view, d) {
			continue
		}
		var files, bytes int64
		if _, ended := j.state(); ended.IsZero() {
			var err error
			if files, bytes, err = v.base.Files.DiskUsage(ctx, j.task.disk); err != nil {
				return nil, err
			}
		}
		list = append(list, j.exact(files, bytes))
	}
	return list, nil
}

// task says why a disk is emptied.
type task struct {
	disk hemera.DiskID    // that is emptied
	kind adminapi.JobKind // drain or repair, as admins see it
	// wait is above zero while a lost disk may still come back.
	wait time.Duration
	why  string // in words; "" for a drain, which an admin asked for
}

// due lists the disks whose pieces are to be moved away. since is when each disk in question was
// first seen out of reach or failing. Disks an admin switched off are left alone: that is a wish,
// not a loss.
func due(v *hemera.View, removed []hemera.DiskID, since map[hemera.DiskID]time.Time, now time.Time, grace time.Duration) []task {
	var tasks []task
	for _, id := range removed {
		// No grace: an admin said that it does not come back.
		tasks = append(tasks, task{disk: id, kind: adminapi.JobRepair, why: "the disk was removed"})
	}
	for _, d := range v.Disks {
		switch {
		// An empty disk stays due: a write that was granted before the drain may still commit a piece there.
		case d.Config == hemera.ConfigDrain || d.Config == hemera.ConfigEmpty:
			tasks = append(tasks, task{disk: d.ID, kind: adminapi.JobDrain})
		case lost(v, d):
			first, ok := since[d.ID]
			if !ok {
				first = now
			}
			tasks = append(tasks, task{disk: d.ID, kind: adminapi.JobRepair, wait: max(0, grace-now.Sub(first)), why: lostWhy(d)})
		}
	}
	return tasks
}

// lost reports whether a disk is out of reach or failing against everybody's wish.
func lost(v *hemera.View, d hemera.Disk) bool {
	n, ok := v.Node(d.Node)
	if d.Config == hemera.ConfigOff || ok && !n.Enabled {
		return false
	}
	return !d.Active || d.Health == hemera.HealthFailing
}

// lostWhy says why a disk counts as lost.
func lostWhy(d hemera.Disk) string {
	if d.Why != "" {
		return d.Why
	}
	return "the disk is " + string(d.Health)
}
