package maint

import (
	"context"
	"sync"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Engine does the background work. Its methods may be called concurrently.
type Engine struct {
	*base
	*broken
	*checker
	*explainer
	room *room // for opens that held pieces are in the way of

	auditor   *auditor       // a worker too; kept for Fsck
	piecer    *pieceRepairer // a worker too; kept for RepairPieces
	drainer   *drainer       // a worker too; kept for Holds
	converter *converter     // a worker too; kept for requests
	workers   []Worker       // not changed after New
}

// New returns an engine; Run makes it work.
func New(o Options) *Engine {
	e := &Engine{base: newBase(o), room: new(room)}
	e.broken = &broken{base: e.base}
	e.piecer, e.converter, e.drainer = newPieceRepairer(e.base, e.broken), newConverter(e.base), newDrainer(e.base)
	e.checker = &checker{base: e.base, broken: e.broken, piecer: e.piecer}
	e.auditor = newAuditor(e.checker)
	e.explainer = &explainer{base: e.base, piecer: e.piecer, drainer: e.drainer, converter: e.converter}
	e.workers = append(e.standard(), o.Workers...)
	for range e.workers {
		e.wakeups = append(e.wakeups, make(chan struct{}, 1))
	}
	return e
}

// standard returns the workers of every engine. Their jobs are listed in this order.
func (e *Engine) standard() []Worker {
	// A list and not a registry: each kind is a type with a Step, and a test adds its own by Options.Workers.
	return []Worker{
		&watcher{base: e.base}, newRemover(e.base, e.room), e.drainer, newRepairer(e.base), e.piecer, e.auditor,
		e.converter, newLifecycler(e.base, e.converter), newBalancer(e.base),
	}
}

// Run works until the context ends, and returns when all work has stopped. It is called once.
func (e *Engine) Run(ctx context.Context) error {
	// stopping outlives steps: copies that have begun use it to end with the engine and not with their job.
	defer context.AfterFunc(ctx, func() { close(e.stopping) })()
	var loops sync.WaitGroup
	for i, w := range e.workers {
		loops.Go(func() { e.loop(ctx, w, e.wakeups[i]) }) // its steps are contained
	}
	loops.Wait()
	e.group.Wait()
	return nil
}

// loop runs one worker. A wake-up ends its rest after a delay that gathers more of them.
func (e *Engine) loop(ctx context.Context, w Worker, wakeup <-chan struct{}) {
	for ctx.Err() == nil {
		// It measures the processor's work, so it is the process's clock and not Now.
		started := time.Now()
		rest, err := e.step(ctx, w)
		pause := max(wakeDelay, wakeShare*time.Since(started))
		if err != nil && ctx.Err() == nil {
			e.Log.Error("background work failed", "worker", w.Name(), "error", err)
			// A worker that fails at once would fill the log.
			rest = max(rest, stallRest)
		}
		timer := time.NewTimer(rest)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-wakeup:
			// The pause gathers wake-ups. It is cut, as a slow step must not make removals of large clusters wait for minutes.
			timer.Reset(min(pause, wakeMax))
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
		}
		timer.Stop()
	}
}

// pausedRest is the interval at which a paused worker looks whether it may continue.
const pausedRest = time.Second

// step runs a step of a worker, unless it is paused. Orders of nodes that are away end in any case.
func (e *Engine) step(ctx context.Context, w Worker) (rest time.Duration, err error) {
	if _, watches := w.(*watcher); !watches && e.Paused != nil && e.Paused() {
		return pausedRest, nil
	}
	// The work follows from the namespace and the view: the next step decides it again.
	err = e.Panics.Do("maint.Step", w.Name(), func() (err error) {
		rest, err = w.Step(ctx)
		return err
	})
	return rest, err
}

// Jobs lists running and recent drains and repairs.
func (e *Engine) Jobs(ctx context.Context) (list []adminapi.JobStatus, err error) {
	for _, w := range e.workers {
		l, ok := w.(jobLister)
		if !ok {
			continue
		}
		jobs, err := l.listJobs(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, jobs...)
	}
	return list, nil
}

// RepairPieces has pieces verified and repaired that a read, a scrub or an audit found bad. It does not wait. It leaves out a piece
// that waits already, or for which there is no room, and reports whether all had room.
func (e *Engine) RepairPieces(bad ...hemera.BadPiece) bool { return e.piecer.repairSoon(bad...) }

// Bad returns the number of bad pieces that wait for repair or are being repaired, without those that are broken.
func (e *Engine) Bad() int { return e.piecer.unjudged() }

// Fsck compares every disk with the namespace now, and puts right what can be only with repair.
// Disks that cannot be read count as offline.
func (e *Engine) Fsck(ctx context.Context, repair bool) (adminapi.FsckReport, error) {
	return e.auditor.run(ctx, e.Cluster.View().Disks, repair)
}

// StopConversion ends a request. NotFound.
func (e *Engine) StopConversion(ctx context.Context, id uint64) error {
	return e.converter.stop(ctx, id)
}

// ConversionJobs lists the requests with the states of their jobs, oldest first.
func (e *Engine) ConversionJobs() []adminapi.ConversionStatus { return e.converter.statuses() }

// MakeRoom has held pieces go from disks that could take so many bytes without them. It reports whether there is such
// a disk: the caller tries again soon.
func (e *Engine) MakeRoom(ctx context.Context, disks []hemera.Disk, bytes int64) (bool, error) {
	found := false
	for _, d := range disks {
		// It has room already, so held pieces are not what keeps the write from it.
		if d.Free >= bytes {
			continue
		}
		_, held, err := e.Removals.DiskHeld(ctx, d.ID)
		if err != nil {
			return false, errs.Wrap(err, "maint.MakeRoom", "disk "+d.ID.String())
		}
		if d.Free+held >= bytes {
			found = true
			e.room.wish(d.ID, bytes, e.Now())
		}
	}
	if found {
		e.Wake()
	}
	return found, nil
}
