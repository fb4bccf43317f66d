package maint

import (
	"context"
	"slices"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// convertRest is the longest rest between two steps.
	convertRest = 5 * time.Second
	// requestsKept bounds the requests that ended and are remembered, requestKept the time for which one is.
	requestsKept = 100
	requestKept  = 7 * 24 * time.Hour
)

func (v *converter) Name() string { return "convert" }

// Step begins the jobs of requests, as many as may run at once, and forgets old requests.
func (v *converter) Step(ctx context.Context) (time.Duration, error) {
	if v.base.Conversions.Requests == nil {
		return time.Hour, nil
	}
	if err := v.supersede(ctx, v.base.Conversions.Requests.Conversions()); err != nil {
		return convertRest, err
	}
	requests := v.base.Conversions.Requests.Conversions()
	running := 0
	// By id, so the oldest goes first. A request that rests between two passes leaves its place to others.
	for _, c := range requests {
		j := v.jobOf(c)
		if c.Ended.IsZero() && running < treesAtOnce && v.start(ctx, j) {
			running++
		}
	}
	return convertRest, v.trim(ctx, requests)
}

// start runs a job, unless it runs or has ended, and reports whether it is at work.
func (v *converter) start(ctx context.Context, j *convertJob) (works bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cancel != nil || !j.request.Ended.IsZero() {
		state, _ := j.state()
		return state == adminapi.JobRunning
	}
	// ctx is that of the engine, and not of the step.
	ctx, j.cancel = context.WithCancel(ctx)
	v.base.Panics.Go(&v.base.group, "maint.Convert", j.request.Path, func() {
		defer v.base.Wake() // another request may begin
		v.run(ctx, j)
	})
	return true
}

// trim forgets requests that ended long ago, the oldest first. The newest stays in any case, so that ids only grow, and so do those that
// came after one that is worked on: they decide about files of it.
func (v *converter) trim(ctx context.Context, requests []adminapi.Conversion) error {
	ended := 0
	oldest := slices.IndexFunc(requests, func(c adminapi.Conversion) bool { return c.Ended.IsZero() })
	if oldest < 0 {
		oldest = len(requests)
	}
	for i, c := range slices.Backward(requests) {
		if c.Ended.IsZero() {
			continue
		}
		if ended++; i == len(requests)-1 || i > oldest || ended <= requestsKept && v.base.Now().Sub(c.Ended) < requestKept {
			continue
		}
		if err := v.base.Conversions.Requests.RemoveConversion(ctx, c.ID); err != nil {
			return err
		}
		v.mu.Lock()
		delete(v.jobs, c.ID)
		v.mu.Unlock()
	}
	return nil
}

// stop ends a request. It fails with NotFound if the request does not exist.
func (v *converter) stop(ctx context.Context, id uint64) error {
	for _, c := range v.requests() {
		if c.ID == id {
			return v.end(ctx, v.jobOf(c), adminapi.JobStopped, "stopped by an admin")
		}
	}
	return errs.New(errs.NotFound, "maint.StopConversion", "request "+hemera.FileID(id).String(), "there is no such request").
		WithRemedy("hemera convert ls shows those there are")
}

// statuses lists the requests with the states of their jobs, oldest first.
func (v *converter) statuses() (list []adminapi.ConversionStatus) {
	for _, c := range v.requests() {
		j := v.jobOf(c)
		list = append(list, adminapi.ConversionStatus{Conversion: j.now(), Job: j.show()})
	}
	return list
}

// listJobs implements jobLister.
func (v *converter) listJobs(context.Context) (list []adminapi.JobStatus, err error) {
	for _, c := range v.statuses() {
		list = append(list, c.Job)
	}
	return list, nil
}
