package maint

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hemera/maint/orders"
	"hemera/platform/contain"
	"hemera/words/hemera"
)

const (
	// LostAfter is how long a disk is out of reach before its pieces are made again elsewhere.
	LostAfter = 5 * time.Minute
	// copiesPerDisk bounds the large copies under way from and to one disk, and copiesTotal all copies. Of small pieces
	// a disk takes four times as many; see copyLimiter.
	// Bounds by disk keep a spinning disk usable for clients; the total bounds goroutines and orders in the manager.
	copiesPerDisk = 8
	copiesTotal   = 512
	// AuditInterval is how often each disk is compared with the namespace.
	AuditInterval = 7 * 24 * time.Hour
	// OrphanAge is how old a sealed piece that no file has must be, by its node's clock, to be removed:
	// any write it may belong to is over by then. Since that clock may be wrong, the manager must also
	// have known of it for suspectTime, in which a head asks for a commit or cancels the write.
	OrphanAge   = hemera.UnsealedLifetime
	suspectTime = 2*hemera.PendingHold + time.Minute
)

// Files is what the engine asks of the namespace; namespace.Parts has it.
type Files interface {
	Resolve(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error) // the entry and its path now; NotFound
	// MovePieces records pieces in place of others, durably. Conflict if the file has another generation or not all of
	// drop, if too few pieces would be left, or if a disk is still to remove the piece that it gets.
	MovePieces(ctx context.Context, id hemera.FileID, gen hemera.Generation, drop, add []hemera.Piece) error
	// DiskFiles and Incomplete are pages by id, after after; a page that is empty is the end.
	DiskFiles(ctx context.Context, disk hemera.DiskID, after hemera.FileID, limit int) ([]hemera.Entry, error)
	DiskUsage(ctx context.Context, disk hemera.DiskID) (pieces, bytes int64, err error)
	Incomplete(ctx context.Context, after hemera.FileID, limit int) ([]hemera.Entry, error)
}

// Findings is what the namespace has to say of what audits and reads find.
type Findings interface {
	// NewerThanRestore reports whether the piece may be of a change that was lost when the namespace was restored.
	NewerThanRestore(p hemera.PieceID, sealed time.Time) bool
	// ClaimOrphan bars the write that the piece may belong to. False if a file has the piece. Overloaded while too
	// many writes are barred.
	ClaimOrphan(ctx context.Context, disk hemera.DiskID, p hemera.PieceID) (bool, error)
	// MarkBroken and BrokenPieces keep the list of pieces that cannot be repaired, durably.
	MarkBroken(ctx context.Context, b hemera.BadPiece, broken bool) error
	BrokenPieces(ctx context.Context, limit int) ([]hemera.BadPiece, error)
}

// Removals is the pieces that disks are to remove, now or later.
type Removals interface {
	// Unlinked are pieces to be removed now; ConfirmRemoved forgets those that are gone.
	Unlinked(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error)
	ConfirmRemoved(ctx context.Context, disk hemera.DiskID, pieces []hemera.PieceID) error
	// Held are pieces that stay for readers for a while, those that go first at the front; DiskHeld counts them.
	Held(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error)
	DiskHeld(ctx context.Context, disk hemera.DiskID) (pieces, bytes int64, err error)
	// IsUnlinked reports whether the disk is to remove the piece, now or later.
	IsUnlinked(ctx context.Context, disk hemera.DiskID, p hemera.PieceID) (bool, error)
}

// Cluster is what the engine asks of the cluster; cluster.Cluster has it.
type Cluster interface {
	View() *hemera.View
	// Removed lists disks taken out by an admin, ForgetDisk forgets one, SetEmpty ends a drain.
	Removed() []hemera.DiskID
	ForgetDisk(ctx context.Context, id hemera.DiskID) error
	SetEmpty(ctx context.Context, id hemera.DiskID) error
	// Survey is when a disk was audited and is to be; SetAudit makes that durable.
	Survey(id hemera.DiskID) hemera.DiskSurvey
	SetAudit(ctx context.Context, id hemera.DiskID, s hemera.DiskSurvey) error
	// Whole makes durable that a disk that came back as an older copy has all that the namespace has on it.
	Whole(ctx context.Context, id hemera.DiskID) error
}

// Signer signs read capabilities for the sources of copies and for who copies; capability.Keyring is one.
type Signer interface {
	MintFor(c hemera.Capability, also ...hemera.NodeID) (string, error)
}

// Options is what an engine is made of; the first six are required.
type Options struct {
	Files    Files
	Removals Removals
	Findings Findings
	Cluster  Cluster
	Orders   *orders.Dispatcher // the only way to nodes
	Signer   Signer
	// Writers counts client writes under way by disk, to stay out of their way; may be nil.
	Writers func(hemera.DiskID) int
	// LostAfter and OrphanAge replace the constants when above zero.
	LostAfter, OrphanAge time.Duration
	// BalanceDelay is how long after the start nothing is balanced, so that nodes can report their disks; zero is a minute.
	BalanceDelay time.Duration
	Now          func() time.Time
	Log          *slog.Logger
	// Paused reports that nothing is to be repaired, drained, removed or audited for now: what the namespace has is not
	// complete. May be nil.
	Paused func() bool
	// Conversions is what files are converted with; the zero value converts nothing.
	Conversions Conversions
	// Lifecycle is what the rules of directories are followed with; the zero value follows none.
	Lifecycle Lifecycle
	// Panics contains panics of steps, jobs and the work on one file. May be nil.
	Panics *contain.Panics
	// Workers are run beside the engine's own.
	Workers []Worker
}

// Engine does the background work. Its methods may be called concurrently.
type Engine struct {
	Options
	copies   *copyLimiter // all copies of all jobs
	setbacks setbacks     // pieces that are not tried for now
	grace    atomic.Int64 // how long a disk is waited for, in nanoseconds
	*broken
	*mover
	*checker
	*explainer
	room room // for opens that held pieces are in the way of

	auditor   *auditor       // a worker too; kept for Fsck
	piecer    *pieceRepairer // a worker too; kept for RepairPieces
	drainer   *drainer       // a worker too; kept for Holds
	converter *converter     // a worker too; kept for requests
	workers   []Worker
	wakeups   []chan struct{} // one for each worker, buffered one
	group     sync.WaitGroup  // work that outlasts a step
	stopping  chan struct{}   // closed when Run's context has ended
}

// Worker is one kind of background work.
type Worker interface {
	// Name is the worker's name in logs.
	Name() string
	// Step does what is due now, with bounded memory, and returns how long the worker may rest; a wake-up ends the rest.
	// An error is logged, and the next step tries again.
	Step(ctx context.Context) (rest time.Duration, err error)
}

// jobLister is a Worker whose work is shown to admins as jobs.
type jobLister interface {
	listJobs(ctx context.Context) ([]hemera.JobStatus, error)
}

// New returns an engine; Run makes it work.
func New(o Options) *Engine {
	if o.LostAfter <= 0 {
		o.LostAfter = LostAfter
	}
	if o.OrphanAge <= 0 {
		o.OrphanAge = OrphanAge
	}
	if o.BalanceDelay <= 0 {
		o.BalanceDelay = balanceDelay
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Writers == nil {
		o.Writers = func(hemera.DiskID) int { return 0 }
	}
	e := &Engine{Options: o, copies: newCopyLimiter(copiesPerDisk*unitsLarge, copiesTotal), stopping: make(chan struct{})}
	e.grace.Store(int64(o.LostAfter))
	e.broken, e.mover, e.checker, e.explainer = &broken{engine: e}, &mover{e}, &checker{e}, &explainer{e}
	e.piecer, e.converter, e.drainer = newPieceRepairer(e), newConverter(e), newDrainer(e)
	e.auditor = &auditor{engine: e, seen: map[hemera.DiskID]time.Time{}, suspects: suspects{after: min(e.OrphanAge, suspectTime)}}
	e.workers = append(e.standard(), o.Workers...)
	for range e.workers {
		e.wakeups = append(e.wakeups, make(chan struct{}, 1))
	}
	return e
}

// SetLostAfter sets how long a disk is out of reach before its pieces are made again elsewhere. It holds for disks that are
// away already too.
func (e *Engine) SetLostAfter(grace time.Duration) {
	e.grace.Store(int64(grace))
	e.Wake()
}

// lostAfter is how long a disk is out of reach before its pieces are made again elsewhere.
func (e *Engine) lostAfter() time.Duration { return time.Duration(e.grace.Load()) }

// standard are the workers of every engine. Their jobs are listed in this order.
func (e *Engine) standard() []Worker {
	// A list and not a registry: each kind is a type with a Step, and a test adds its own by Options.Workers.
	return []Worker{
		&watcher{engine: e}, newRemover(e), e.drainer, &repairer{engine: e, job: newJob("repair", 0, e.Now)}, e.piecer, e.auditor,
		e.converter, newLifecycler(e), newBalancer(e),
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

// wakeDelay gathers wake-ups, so that a burst of them costs one step. wakeShare is how many times as
// long as its step a worker rests at least, so that a large cluster's does not take a processor.
const (
	wakeDelay = 20 * time.Millisecond
	wakeShare = 4
	wakeMax   = 500 * time.Millisecond
)

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

// pausedRest is how often a worker that is paused looks whether it may go on.
const pausedRest = time.Second

// step runs a step of a worker, unless it is paused. Orders of nodes that are away end in any case.
func (e *Engine) step(ctx context.Context, w Worker) (rest time.Duration, err error) {
	if _, watches := w.(*watcher); !watches && e.Paused != nil && e.Paused() {
		return pausedRest, nil
	}
	// What is to be done follows from the namespace and the view: the next step decides it again.
	err = e.Panics.Do("maint.Step", w.Name(), func() (err error) {
		rest, err = w.Step(ctx)
		return err
	})
	return rest, err
}

// about names a file in the report of a panic.
func about(id hemera.FileID) string { return "fxid:" + id.Hex() }

// Wake has every worker look now whether something is due: a piece was unlinked, a file committed
// incomplete, a disk set to drain. It does not block.
func (e *Engine) Wake() {
	for _, b := range e.wakeups {
		select {
		case b <- struct{}{}:
		// One is pending already, and the step that it begins sees everything that happened before it.
		default:
		}
	}
}

// Jobs lists running and recent drains and repairs.
func (e *Engine) Jobs(ctx context.Context) (list []hemera.JobStatus, err error) {
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

// watcher ends the orders of nodes that are offline or were removed: their callers decide again.
type watcher struct{ engine *Engine }

func (w *watcher) Name() string { return "watch" }

// Step ends the orders of nodes that are not online. A node that comes back registers and gets new ones.
func (w *watcher) Step(context.Context) (time.Duration, error) {
	view := w.engine.Cluster.View() // one picture for all nodes
	for _, id := range w.engine.Orders.Busy() {
		if n, ok := view.Node(id); !ok || n.Status != hemera.NodeOnline {
			w.engine.Orders.Fail(id)
		}
	}
	return time.Second, nil
}
