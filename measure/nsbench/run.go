package nsbench

import (
	"context"
	"errors"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
)

// progressEvery is the time between two updates.
const progressEvery = 100 * time.Millisecond

// Options of a run.
type Options struct {
	Shape Shape
	// Open makes the target of one worker. It is called concurrently.
	Open func(ctx context.Context, worker int) (Target, error)
	// Visit gets progress and results, from one goroutine; its error ends the run.
	Visit func(adminapi.BenchmarkUpdate) error
	// CPU returns the processor time of the measured process so far; nil if unknown.
	CPU func() time.Duration
	// Keep keeps the tree of an interrupted run.
	Keep bool
	// Series requests latencies over time.
	Series bool
}

// run is a run in progress. The goroutine of Run owns it; workers read it, and write only their records.
type run struct {
	Options
	targets []Target    // by worker
	records []*record   // by worker and lane
	began   time.Time   // of the run, without making the targets
	stop    atomic.Bool // no new operations begin
}

// Run makes the base directory, runs the phases and removes everything. Failed operations are counted and are no error of
// the run; a phase in which none succeeded ends it. When the context ends, operations that have begun are completed, and
// then everything is removed unless o.Keep is set. Nothing is retried. It fails with Exists if the base directory exists,
// and with NotFound if the prefix does not.
func Run(ctx context.Context, o Options) (err error) {
	if err := o.Shape.Check(); err != nil {
		return err
	}
	r := &run{Options: o, began: time.Now()}
	defer r.close()
	if err := r.open(ctx); err != nil {
		return errs.Wrap(err, "nsbench.Benchmark", "")
	}
	switch err := r.targets[0].Mkdir(ctx, o.Shape.Base); {
	case errors.Is(err, errs.Exists):
		return taken(o.Shape.Base, nil)
	case errors.Is(err, errs.NotFound):
		return errs.New(errs.NotFound, "nsbench.Benchmark", path.Dir(o.Shape.Base), "the prefix is not there").
			WithRemedy("make it with `hemera mkdir -p " + path.Dir(o.Shape.Base) + "`, or leave the prefix out")
	case err != nil:
		return errs.Wrap(err, "nsbench.Benchmark", o.Shape.Base)
	}
	for range o.Shape.Threads * o.Shape.Depth {
		r.records = append(r.records, newRecord(o.Series))
	}
	r.began = time.Now()
	// The last phase removes the tree; otherwise sweep removes it.
	gone, err := r.phases(ctx)
	if gone || o.Keep {
		return err
	}
	return errors.Join(err, r.sweep(context.WithoutCancel(ctx)))
}

// open makes the workers' targets, up to 64 at a time: each may be a session over the network.
func (r *run) open(ctx context.Context) error {
	r.targets = make([]Target, r.Shape.Threads)
	failed := make([]error, r.Shape.Threads)
	const atOnce = 64
	var group sync.WaitGroup
	for first := range min(atOnce, r.Shape.Threads) {
		group.Go(func() {
			for w := first; w < r.Shape.Threads && failed[first] == nil; w += atOnce {
				r.targets[w], failed[first] = r.Options.Open(ctx, w)
			}
		})
	}
	group.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// close closes the targets.
func (r *run) close() {
	for _, t := range r.targets {
		if t != nil {
			_ = t.Close()
		}
	}
}

// phases runs the phases and reports whether everything has been removed again.
func (r *run) phases(ctx context.Context) (gone bool, err error) {
	for _, p := range r.Shape.phases() {
		res, err := r.phase(ctx, p)
		// Locks are freed outside of the measured time.
		if p.name == writePhase {
			err = errors.Join(err, r.release(context.WithoutCancel(ctx)))
		}
		if err != nil {
			return false, err
		}
		if err := r.Visit(adminapi.BenchmarkUpdate{Result: &res}); err != nil {
			return false, err
		}
		if res.Main.Ops == 0 {
			f := res.Failures[0]
			return false, errs.New(errs.Unavailable, "nsbench.Benchmark", p.name, "nothing succeeded: "+f.Text).WithRemedy(f.Remedy)
		}
		gone = res.Main.Errors == 0 && (res.Dirs == nil || res.Dirs.Errors == 0)
	}
	return gone, nil
}

// phase runs one phase of all workers. Its time is from the start of all workers, which wait for one another, to
// the end of the last.
func (r *run) phase(ctx context.Context, p phase) (adminapi.BenchmarkResult, error) {
	for _, rec := range r.records {
		rec.reset()
	}
	ops := context.WithoutCancel(ctx) // operations that have begun are completed
	// All workers wait for start, so that none begins while the others are being made.
	start, ended := make(chan struct{}), make(chan time.Time, 1)
	var began time.Time
	var workers sync.WaitGroup
	for w := range r.Shape.Threads {
		workers.Go(func() {
			<-start
			r.work(ops, w, p, began)
		})
	}
	spent := r.cpu()
	began = time.Now()
	close(start)
	go func() {
		workers.Wait()
		if p.name == "deletion" && !r.stop.Load() {
			r.removeBase(ops, began)
		}
		ended <- time.Now()
	}()
	end, err := r.follow(ctx, p, ended)
	spent = r.cpu() - spent
	sum := newRecord(r.Series)
	for _, rec := range r.records {
		sum.merge(rec)
	}
	res := sum.result(p)
	res.Started, res.Time, res.CPU = began.Sub(r.began), end.Sub(began), spent
	return res, err
}

// cpu returns the processor time of the measured process, zero if unknown.
func (r *run) cpu() time.Duration {
	if r.CPU == nil {
		return 0
	}
	return r.CPU()
}

// removeBase removes the base directory. This is the last operation of a run, and it is counted.
func (r *run) removeBase(ctx context.Context, began time.Time) {
	start := time.Now()
	err := r.targets[0].Rmdir(ctx, r.Shape.Base)
	end := time.Now()
	r.records[0].add(asDirs, end.Sub(began), end.Sub(start), err)
}

// work runs a worker's steps, each in as many lanes as the shape has depth.
func (r *run) work(ctx context.Context, w int, p phase, began time.Time) {
	depth := r.Shape.Depth
	for _, st := range p.steps {
		if depth == 1 || st.items == 1 {
			r.lane(ctx, w, 0, st, began)
			continue
		}
		var lanes sync.WaitGroup
		for l := range depth {
			lanes.Go(func() { r.lane(ctx, w, l, st, began) })
		}
		lanes.Wait()
	}
}

// lane runs every depth-th item of a step, one after the other, and counts each. It ends early when the run is stopped.
func (r *run) lane(ctx context.Context, w, lane int, st step, began time.Time) {
	rec := r.records[w*r.Shape.Depth+lane]
	for i := lane; i < st.items; i += r.Shape.Depth {
		if r.stop.Load() {
			return
		}
		name := st.path(w, i) // made before the clock starts
		start := time.Now()
		err := st.do(r.targets[w], ctx, name)
		end := time.Now()
		rec.add(st.count, end.Sub(began), end.Sub(start), err)
	}
}

// follow reports the progress of a phase until it has ended. It returns an error if the phase was interrupted; then the
// workers have ended too.
func (r *run) follow(ctx context.Context, p phase, ended <-chan time.Time) (time.Time, error) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	var before int64 // operations at the last tick
	var rate float64 // smoothed, per second
	last := time.Now()
	for {
		select {
		case end := <-ended:
			return end, nil
		case <-ctx.Done():
			r.stop.Store(true)
			return <-ended, errs.Wrap(ctx.Err(), "nsbench.Benchmark", p.name)
		case now := <-ticker.C:
			var done int64
			for _, rec := range r.records {
				done += rec.done.Load()
			}
			rate = smooth(rate, float64(done-before)/now.Sub(last).Seconds())
			u := adminapi.BenchmarkProgress{Phase: p.name, Done: done, Total: p.total(r.Shape.Threads), Rate: rate}
			before, last = done, now
			if err := r.Visit(adminapi.BenchmarkUpdate{Progress: &u}); err != nil {
				r.stop.Store(true)
				return <-ended, err
			}
		}
	}
}

// smooth returns a rate that is readable while it changes: about the mean of the last second.
func smooth(before, now float64) float64 {
	if before == 0 {
		return now
	}
	return before + (now-before)/5
}

// each calls do for all workers concurrently, and returns one of the errors. NotFound is no error.
func (r *run) each(do func(worker int, t Target) error) error {
	failed := make([]error, r.Shape.Threads)
	var workers sync.WaitGroup
	for w, t := range r.targets {
		workers.Go(func() { failed[w] = do(w, t) })
	}
	workers.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// present returns err unless it is NotFound.
func present(err error) error {
	if errors.Is(err, errs.NotFound) {
		return nil
	}
	return err
}

// release frees the locks of the write phase, if the targets keep them. A file that could not be written has none.
func (r *run) release(ctx context.Context) error {
	err := r.each(func(w int, t Target) error {
		locks, ok := t.(Releaser)
		if !ok {
			return nil
		}
		var last error
		for i := range r.Shape.Subdirs * r.Shape.Files {
			if err := present(locks.Release(ctx, r.Shape.file(w, i))); err != nil {
				last = err
			}
		}
		return last
	})
	return errs.Wrap(err, "nsbench.Benchmark", "give locks back")
}

// sweep removes the files of the run that it has not removed itself. If that fails, the error names the command that
// does.
func (r *run) sweep(ctx context.Context) error {
	phases := r.Shape.phases()
	last := phases[len(phases)-1]
	err := r.each(func(w int, t Target) error {
		for _, st := range last.steps {
			for i := range st.items {
				if err := present(st.do(t, ctx, st.path(w, i))); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if baseErr := present(r.targets[0].Rmdir(ctx, r.Shape.Base)); err == nil {
		err = baseErr
	}
	if err == nil {
		return nil
	}
	return &errs.Error{Kind: errs.KindOf(err), Op: "nsbench.Benchmark", Subject: r.Shape.Base, Cause: err,
		Text: "could not be removed", Remedy: "remove it with `" + cleanCommand(r.Shape.Base) + "`"}
}
