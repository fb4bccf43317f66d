package session

import (
	"context"
	"errors"
	"sync/atomic"

	"hemera/tape/device"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// writer writes one recalled file. The tape goroutine sends chunks and then ends it; a goroutine of its own does the rest.
type writer struct {
	r      *recall
	job    tapeapi.Work
	chunks chan []byte // has room for all buffers, so the tape never waits for one writer
	ended  error       // what the tape said, set before chunks is closed
	failed atomic.Bool // the disk cannot take the file
}

// startWriter starts to write a file. It holds one of the open files of the session until it is committed.
func (r *recall) startWriter(ctx context.Context, job tapeapi.Work) *writer {
	w := &writer{r: r, job: job, chunks: make(chan []byte, r.o.Limits.Buffers)}
	r.writers.Go(func() {
		w.run(ctx)
		<-r.open
	})
	return w
}

// end tells the writer that no more comes, and whether that was all.
func (w *writer) end(err error) {
	w.ended = err
	close(w.chunks)
}

// run writes, verifies and commits, and tells the results how it went.
func (w *writer) run(ctx context.Context) {
	var target Target
	var failed error // of the disk
	if w.job.Kind != tapeapi.Verify {
		failed = w.do(func() (err error) {
			target, err = w.r.o.Sink.Create(ctx, w.job)
			return err
		})
	}
	// The tape goroutine looks at this between two buffers.
	w.failed.Store(failed != nil)
	sums := newSums(w.job)
	for b := range w.chunks {
		// Buffers come until the channel is closed, also for a file that failed.
		if failed == nil {
			failed = w.do(func() error {
				sums.write(b)
				if target == nil {
					return nil
				}
				return target.Write(ctx, b)
			})
			w.failed.Store(failed != nil)
		}
		w.r.f.buffered.Add(-int64(len(b)))
		w.r.pool.put(b)
	}
	// A tape that ended well has still to be compared with the catalogue.
	bad := w.ended
	if bad == nil {
		bad = w.do(sums.verify)
	}
	switch {
	case ctx.Err() != nil: // the job is given back
		w.abort(ctx, target)
	case failed != nil:
		w.abort(ctx, target)
		w.fail(failure(w.job, failed))
	case errors.Is(bad, errs.Internal): // it says nothing of the copy
		w.abort(ctx, target)
		w.fail(failure(w.job, bad))
	case bad != nil:
		w.abort(ctx, target)
		if !driveFailed(bad) { // else the copy may be good, and the job is given back
			w.fail(tapeapi.Failure{Job: w.job.JobKey, Error: device.Cause(bad), Copy: true})
		}
	default:
		if target != nil {
			failed = w.do(func() error { return target.Commit(ctx) })
		}
		// A commit that failed has nothing to abort.
		if failed != nil {
			w.fail(failure(w.job, failed))
			return
		}
		w.r.told.in <- result{job: w.job}
	}
}

// do does one step of the file, which fails if it panics.
func (w *writer) do(step func() error) error {
	return w.r.o.Panics.Do("session.Recall", w.job.Path, step)
}

// fail reports a job that failed.
func (w *writer) fail(f tapeapi.Failure) { w.r.told.in <- result{job: w.job, failure: &f} }

// abort removes what was written.
func (w *writer) abort(ctx context.Context, target Target) {
	if target != nil {
		// What is left of it expires.
		_ = w.do(func() error {
			target.Abort(context.WithoutCancel(ctx))
			return nil
		})
	}
}
