package maint

import (
	"context"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/rules/layout"
)

// repairer makes the missing pieces of incomplete files.
type repairer struct {
	engine *Engine
	job    *job      // one for all files, as long as the engine lives
	pause  time.Time // used by Step alone: nothing could be made lately, and wake-ups do not change that
}

func (r *repairer) Name() string { return "repair" }

// Step goes over all incomplete files once and makes one missing piece of each. It rests when nothing could be made.
func (r *repairer) Step(ctx context.Context) (time.Duration, error) {
	// Each commit of an incomplete file wakes the workers, which would make a full cluster plan all files in vain.
	if left := r.pause.Sub(r.engine.Now()); left > 0 {
		return left, nil
	}
	r.job.again("")
	p := newSweep(r.engine, r.job)
	var after hemera.FileID
	for ctx.Err() == nil && !p.hopeless() {
		entries, err := r.engine.Files.Incomplete(ctx, after, pageFiles)
		if err != nil {
			_, _ = p.wait()
			return stallRest, err
		}
		if len(entries) == 0 {
			break
		}
		for _, entry := range entries {
			after = entry.ID
			if m := layout.Missing(entry.Layout, entry.Size, entry.Pieces); len(m) > 0 {
				// One at a time: where the next goes depends on where this went.
				p.relocate(ctx, entry, moveSpec{index: m[0]})
			}
		}
	}
	moved, err := p.wait()
	switch {
	case err != nil && moved == 0:
		r.job.set("stalled", errs.Reason(err, ""))
		r.pause = r.engine.Now().Add(stallRest)
		return stallRest, nil
	// Files that lack several pieces are listed again: the next step makes the next piece of each.
	case moved > 0:
		return 0, nil
	}
	r.job.set("waiting", "")
	return stallRest, nil
}

// listJobs implements jobLister: one job for all incomplete files, if there are any.
func (r *repairer) listJobs(ctx context.Context) (list []hemera.JobStatus, err error) {
	s, show, err := r.status(ctx)
	if show {
		list = append(list, s)
	}
	return list, err
}

// status is the job if it has anything to show: at most one page of what is left is counted.
func (r *repairer) status(ctx context.Context) (hemera.JobStatus, bool, error) {
	entries, err := r.engine.Files.Incomplete(ctx, 0, pageFiles)
	var bytes int64
	for _, e := range entries {
		for _, index := range layout.Missing(e.Layout, e.Size, e.Pieces) {
			bytes += layout.PieceSize(e.Layout, e.Size, index)
		}
	}
	s := r.job.report(int64(len(entries)), bytes)
	if len(entries) == 0 {
		// Nothing is left, but the job has work to show: it stays in the list with its counts.
		s.State = "done"
	}
	return s, err == nil && (len(entries) > 0 || s.FilesDone > 0), err
}
