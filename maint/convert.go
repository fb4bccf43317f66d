package maint

import (
	"cmp"
	"context"
	"sync"

	"hemera/platform/turn"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// convertTotal bounds the conversions under way: each keeps a node busy with a read and a write of a file.
	convertTotal = 64
	// treesAtOnce bounds the requests under way; the others wait, and the oldest goes first.
	treesAtOnce = 4
)

// converter works on requests to convert trees. Each has a job that goes through the tree, file by file in the order of
// names; all of them share the slots. What is durable of a job is its cursor: a job that begins again after a restart
// goes on there, and finds files that are converted already as they shall be.
type converter struct {
	base  *base
	slots chan struct{} // conversions under way, of requests and of rules

	mu    sync.Mutex
	jobs  map[uint64]*convertJob // by request; those that ended too, as long as they are remembered
	files map[hemera.FileID]bool // that are being converted
}

// newConverter makes a converter without jobs. Step begins them from the requests.
func newConverter(e *base) *converter {
	return &converter{base: e, slots: make(chan struct{}, convertTotal), jobs: map[uint64]*convertJob{}, files: map[hemera.FileID]bool{}}
}

// jobOf returns the job of a request, and makes it at the first call.
func (v *converter) jobOf(c adminapi.Conversion) *convertJob {
	v.mu.Lock()
	defer v.mu.Unlock()
	j := v.jobs[c.ID]
	if j == nil {
		j = &convertJob{job: newJob(adminapi.JobConvert, 0, v.base.Now), saving: turn.New(), request: c}
		// No other goroutine has it yet, so its lock is not needed.
		j.status.Path, j.status.To, j.status.Started = c.Path, c.Form.String(), c.Asked
		j.status.FilesDone, j.status.BytesDone = c.Done, c.Bytes
		if !c.Ended.IsZero() {
			j.set(cmp.Or(c.Ending, adminapi.JobDone), c.Why)
		}
		v.jobs[c.ID] = j
	}
	return j
}

// save changes a request durably. A request that has ended is not changed any more.
func (v *converter) save(ctx context.Context, j *convertJob, edit func(c *adminapi.Conversion)) error {
	if err := j.saving.Acquire(ctx); err != nil {
		return err
	}
	defer j.saving.Release()
	c := j.now()
	if !c.Ended.IsZero() {
		return nil
	}
	edit(&c)
	// Under the turn and no lock: jobs are listed while the store syncs.
	err := v.base.Conversions.Requests.PutConversion(ctx, c)
	if err == nil {
		j.mu.Lock()
		// Counts of files that ended meanwhile are shown again with the next one.
		j.request = c
		j.mu.Unlock()
	}
	return err
}

// requests returns the requests that are remembered, or none if the engine converts nothing.
func (v *converter) requests() []adminapi.Conversion {
	if v.base.Conversions.Requests == nil {
		return nil
	}
	return v.base.Conversions.Requests.Conversions()
}

// convert stores one file in the form that decide returns, which it calls with the file locked. It returns the bytes of the
// content. It fails with Conflict or Locked if the file is in use, and leaves it alone. A conversion that has begun continues when
// ctx ends, until the engine ends.
func (v *converter) convert(ctx context.Context, e hemera.Entry, decide func() (hemera.Form, error), watch func(bytes int64)) (bytes int64, err error) {
	err = v.base.Panics.Do("maint.Convert", about(e.ID), func() (err error) {
		bytes, err = v.convertLocked(ctx, e, decide, watch)
		return err
	})
	return bytes, err
}

// convertLocked does the work of convert. A panic is contained there.
func (v *converter) convertLocked(ctx context.Context, e hemera.Entry, decide func() (hemera.Form, error), watch func(bytes int64)) (int64, error) {
	// A piece that is moved meanwhile would be of a generation that is gone, and its file would change under the reader.
	if !v.base.mover.LockFile(e.ID) {
		return 0, errs.New(errs.Locked, "maint.Convert", "fxid:"+e.ID.Hex(), "a piece of the file is being moved")
	}
	defer v.base.mover.UnlockFile(e.ID)
	v.note(e.ID, true)
	defer v.note(e.ID, false)
	form, err := decide()
	if err != nil {
		return 0, err
	}
	g, err := v.base.Conversions.Grants.GrantConversion(ctx, e.ID, e.Gen, form)
	if err != nil {
		return 0, err
	}
	defer g.End()
	ctx, cancel := v.base.mover.Lasting(ctx)
	defer cancel()
	result, err := v.base.Orders.Follow(ctx, g.Node, g.Order, watch)
	return result.Bytes, err
}

// note notes that a file is being converted, or not any more. Only the holder of the file's lock calls it.
func (v *converter) note(id hemera.FileID, is bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if delete(v.files, id); is {
		v.files[id] = true
	}
}

// converts reports whether a file is being converted.
func (v *converter) converts(id hemera.FileID) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.files[id]
}

// end ends a request durably before its time, in a state and for a reason, and its job. Files under way are finished: their nodes have read
// most of them.
func (v *converter) end(ctx context.Context, j *convertJob, state adminapi.JobState, why string) error {
	if err := v.save(ctx, j, func(c *adminapi.Conversion) { j.ends(c, v.base.Now(), state, why) }); err != nil {
		return err
	}
	j.set(state, why)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cancel != nil {
		j.cancel()
	}
	return nil
}
