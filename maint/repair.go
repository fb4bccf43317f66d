package maint

import (
	"context"
	"sync"
	"time"

	"hemera/maint/move"
	"hemera/rules/layout"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// repairer makes the missing pieces of incomplete files.
type repairer struct {
	base  *base
	job   *job      // one for all files, as long as the engine lives
	pause time.Time // used by Step alone: nothing could be made lately, and wake-ups do not change that

	mu    sync.Mutex
	known left // guarded by mu: what the last look at the whole list found
}

// newRepairer makes a repairer, whose job lasts as long as the engine.
func newRepairer(b *base) *repairer {
	return &repairer{base: b, job: newJob(adminapi.JobRepair, 0, b.Now)}
}

// left counts what there is to do.
type left struct {
	files, bytes int64
	done         int64 // files of the job when the look ended
}

// add counts the missing pieces of a file.
func (l *left) add(e hemera.Entry) {
	l.files++
	for _, index := range layout.Missing(e.Layout, e.Size, e.Pieces) {
		l.bytes += layout.PieceSize(e.Layout, e.Size, index)
	}
}

// seen remembers what a look at the whole list found.
func (r *repairer) seen(l left) {
	l.done = r.job.report(0, 0).FilesDone
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = l
}

// estimate returns what is left by the last look, in proportion to the files that were repaired since.
func (r *repairer) estimate(done int64) (files, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	files = max(0, r.known.files-(done-r.known.done))
	// By the mean of a file: sizes of single files are not remembered.
	if r.known.files > 0 {
		bytes = int64(float64(r.known.bytes) * float64(files) / float64(r.known.files))
	}
	return files, bytes
}

func (r *repairer) Name() string { return "repair" }

// Step goes over all incomplete files, the most endangered first, and makes one missing piece of each. It rests when nothing could be made.
func (r *repairer) Step(ctx context.Context) (time.Duration, error) {
	// Each commit of an incomplete file wakes the workers, which would make a full cluster plan all files in vain.
	if left := r.pause.Sub(r.base.Now()); left > 0 {
		return left, nil
	}
	r.job.again("")
	p := newSweep(r.base, r.job)
	// Each pass begins the count again. The last one that reached the end of the list has the newest.
	var seen left
	list := func(after hemera.FileID) ([]hemera.Entry, error) {
		entries, err := r.base.Files.Incomplete(ctx, after, pageFiles)
		if after == 0 {
			seen = left{}
		}
		for _, e := range entries {
			seen.add(e)
		}
		if len(entries) == 0 && err == nil {
			r.seen(seen)
		}
		return entries, err
	}
	moves := func(e hemera.Entry) []move.Spec {
		if m := layout.Missing(e.Layout, e.Size, e.Pieces); len(m) > 0 {
			// One at a time: where the next goes depends on where this went.
			return []move.Spec{{Index: m[0]}}
		}
		return nil
	}
	if err := (&triage{base: r.base, sweep: p, list: list, moves: moves}).run(ctx); err != nil {
		_, _ = p.wait()
		return stallRest, err
	}
	moved, err := p.wait()
	switch {
	case err != nil && moved == 0:
		r.job.set(adminapi.JobStalled, errs.Reason(err, ""))
		r.pause = r.base.Now().Add(stallRest)
		return stallRest, nil
	// Files that lack several pieces are listed again: the next step makes the next piece of each.
	case moved > 0:
		return 0, nil
	}
	r.job.set(adminapi.JobWaiting, "")
	return stallRest, nil
}

// listJobs implements jobLister: one job for all incomplete files, if there are any.
func (r *repairer) listJobs(ctx context.Context) (list []adminapi.JobStatus, err error) {
	s, show, err := r.status(ctx)
	if show {
		list = append(list, s)
	}
	return list, err
}

// status returns the job, and whether it has anything to show. It counts up to a page of what is left; more is the estimate of the
// last pass.
func (r *repairer) status(ctx context.Context) (adminapi.JobStatus, bool, error) {
	entries, err := r.base.Files.Incomplete(ctx, 0, pageFiles)
	var now left
	for _, e := range entries {
		now.add(e)
	}
	// A page that is not full is all there is.
	if len(entries) == pageFiles {
		files, bytes := r.estimate(r.job.report(0, 0).FilesDone)
		now.files, now.bytes = max(now.files, files), max(now.bytes, bytes)
	}
	s := r.job.exact(now.files, now.bytes)
	if len(entries) == 0 {
		// Nothing is left, but the job has work to show: it stays in the list with its counts.
		s.State = adminapi.JobDone
	}
	return s, err == nil && (len(entries) > 0 || s.FilesDone > 0), err
}
