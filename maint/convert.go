package maint

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// convertTotal bounds the conversions under way: each keeps a node busy with a read and a write of a file.
	convertTotal = 64
	// treesAtOnce is how many requests are worked on at once; the others wait, the oldest goes first.
	treesAtOnce = 4
	// convertRest is how long the converter rests when nobody wakes it.
	convertRest = 5 * time.Second
	// requestsKept is how many requests that ended are remembered, requestKept how long.
	requestsKept = 100
	requestKept  = 7 * 24 * time.Hour
)

// Conversions is what the engine converts files with. Without Grants and Requests it converts nothing.
type Conversions struct {
	Grants   Granter            // permits each file
	Requests Requests           // what is to be done
	Tree     hemera.Directories // for walks
}

// Granter permits conversions; the manager is one.
type Granter interface {
	// GrantConversion permits a new content of a file, the same as it has with the generation, in the form. Conflict if
	// the file changed, Locked while somebody writes it, OverQuota, NoSpace, NoReplicas, NotFound for the space.
	GrantConversion(ctx context.Context, id hemera.FileID, gen hemera.Generation, form hemera.Form) (ConversionGrant, error)
}

// ConversionGrant is an order for the head of a conversion. End is called once, when nobody waits for it any more.
type ConversionGrant struct {
	Node  hemera.NodeID // the head of the write
	Order hemera.Order  // with the permits in it
	End   func()        // frees what the grant counts for
}

// Requests remembers requests to convert; maint/requests has it.
type Requests interface {
	// Conversions are all of them, by id.
	Conversions() []hemera.Conversion
	// PutConversion makes a request durable, or what is new of it; RemoveConversion forgets one.
	PutConversion(ctx context.Context, c hemera.Conversion) error
	RemoveConversion(ctx context.Context, id uint64) error
}

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

// convertJob is the job of one request.
type convertJob struct {
	*job
	saving chan struct{} // a turn: holds one value while the request is changed

	mu      sync.Mutex
	request hemera.Conversion  // as it is durable, but for counts since the last checkpoint
	total   hemera.TreeTotals  // below its root, as looked at last
	cancel  context.CancelFunc // nil while it does not run
}

// newConverter is a converter without jobs: they follow from the requests.
func newConverter(e *base) *converter {
	return &converter{base: e, slots: make(chan struct{}, convertTotal), jobs: map[uint64]*convertJob{}, files: map[hemera.FileID]bool{}}
}

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
	// By id, so the oldest goes first. One that rests between two passes keeps nobody from working.
	for _, c := range requests {
		j := v.jobOf(c)
		if c.Ended.IsZero() && running < treesAtOnce && v.start(ctx, j) {
			running++
		}
	}
	return convertRest, v.trim(ctx, requests)
}

// jobOf is the job of a request, made when it is seen first.
func (v *converter) jobOf(c hemera.Conversion) *convertJob {
	v.mu.Lock()
	defer v.mu.Unlock()
	j := v.jobs[c.ID]
	if j == nil {
		j = &convertJob{job: newJob("convert", 0, v.base.Now), saving: make(chan struct{}, 1), request: c}
		// Nobody else has it yet, so its lock is not needed.
		j.status.Path, j.status.To, j.status.Started = c.Path, c.Form.String(), c.Asked
		j.status.FilesDone, j.status.BytesDone = c.Done, c.Bytes
		if !c.Ended.IsZero() {
			j.set(cmp.Or(c.Ending, "done"), c.Why)
		}
		v.jobs[c.ID] = j
	}
	return j
}

// start runs a job, unless it runs or has ended, and reports whether it is at work.
func (v *converter) start(ctx context.Context, j *convertJob) (works bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cancel != nil || !j.request.Ended.IsZero() {
		state, _ := j.state()
		return state == "running"
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
func (v *converter) trim(ctx context.Context, requests []hemera.Conversion) error {
	ended := 0
	oldest := slices.IndexFunc(requests, func(c hemera.Conversion) bool { return c.Ended.IsZero() })
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

// save changes a request durably. A request that has ended is not changed any more.
func (v *converter) save(ctx context.Context, j *convertJob, edit func(c *hemera.Conversion)) error {
	select {
	case j.saving <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-j.saving }()
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

// now is the request as it is remembered.
func (j *convertJob) now() hemera.Conversion {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.request
}

// stop ends a request. It fails with NotFound if there is none.
func (v *converter) stop(ctx context.Context, id uint64) error {
	for _, c := range v.requests() {
		if c.ID == id {
			return v.end(ctx, v.jobOf(c), "stopped", "stopped by an admin")
		}
	}
	return errs.New(errs.NotFound, "maint.StopConversion", "request "+hemera.FileID(id).String(), "there is no such request").
		WithRemedy("hemera convert ls shows those there are")
}

// statuses lists the requests with the states of their jobs, oldest first.
func (v *converter) statuses() (list []hemera.ConversionStatus) {
	for _, c := range v.requests() {
		j := v.jobOf(c)
		list = append(list, hemera.ConversionStatus{Conversion: j.now(), Job: j.show()})
	}
	return list
}

// requests are those that are remembered; none if the engine converts nothing.
func (v *converter) requests() []hemera.Conversion {
	if v.base.Conversions.Requests == nil {
		return nil
	}
	return v.base.Conversions.Requests.Conversions()
}

// listJobs implements jobLister.
func (v *converter) listJobs(context.Context) (list []hemera.JobStatus, err error) {
	for _, c := range v.statuses() {
		list = append(list, c.Job)
	}
	return list, nil
}

// convert has one file stored in the form that decide names under the lock of the file, unless that fails. It returns the bytes of its content. Conflict and
// Locked mean that the file is in use otherwise and was left alone. A conversion that has begun goes on when ctx ends, but not when the engine ends.
func (v *converter) convert(ctx context.Context, e hemera.Entry, decide func() (hemera.Form, error), watch func(bytes int64)) (bytes int64, err error) {
	err = v.base.Panics.Do("maint.Convert", about(e.ID), func() (err error) {
		bytes, err = v.convertLocked(ctx, e, decide, watch)
		return err
	})
	return bytes, err
}

// convertLocked is convert without its boundary.
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
