package maint

import (
	"context"
	"errors"
	"hemera/maint/move"
	"hemera/maint/orders"
	"hemera/platform/contain"
	"hemera/words/errs"
	"hemera/words/hemera"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// LostAfter is how long a disk is out of reach before its pieces are made again elsewhere.
	LostAfter = 5 * time.Minute
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
	move.Files
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
	move.Removals
	// Unlinked are pieces to be removed now; ConfirmRemoved forgets those that are gone.
	Unlinked(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error)
	ConfirmRemoved(ctx context.Context, disk hemera.DiskID, pieces []hemera.PieceID) error
	// Held are pieces that stay for readers for a while, those that go first at the front; DiskHeld counts them.
	Held(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error)
	DiskHeld(ctx context.Context, disk hemera.DiskID) (pieces, bytes int64, err error)
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

// Options is what an engine is made of; the first six are required.
type Options struct {
	Files    Files
	Removals Removals
	Findings Findings
	Cluster  Cluster
	Orders   *orders.Dispatcher // the only way to nodes
	Signer   move.Signer
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

// base is what all workers share: the services that they ask, the moves of pieces, and the work that outlasts a step.
// It calls no worker. It is safe for concurrent use.
type base struct {
	Options
	mover    *move.Mover     // of all copies of all jobs
	setbacks setbacks        // pieces that are not tried for now
	grace    atomic.Int64    // how long a disk is waited for, in nanoseconds
	wakeups  []chan struct{} // one for each worker, buffered one; not changed after New
	group    sync.WaitGroup  // work that outlasts a step
	stopping chan struct{}   // closed when Run's context has ended
}

// newBase fills in what the options leave open.
func newBase(o Options) *base {
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
	s := &base{Options: o, stopping: make(chan struct{})}
	s.grace.Store(int64(o.LostAfter))
	s.mover = move.New(move.Options{Files: o.Files, Removals: o.Removals, Cluster: o.Cluster, Orders: o.Orders, Signer: o.Signer,
		Writers: o.Writers, Now: o.Now, Panics: o.Panics, Recorded: s.Wake, Stopping: s.stopping})
	return s
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

// SetLostAfter sets how long a disk is out of reach before its pieces are made again elsewhere. It holds for disks that are
// away already too.
func (s *base) SetLostAfter(grace time.Duration) {
	s.grace.Store(int64(grace))
	s.Wake()
}

// lostAfter is how long a disk is out of reach before its pieces are made again elsewhere.
func (s *base) lostAfter() time.Duration { return time.Duration(s.grace.Load()) }

// about names a file in the report of a panic.
func about(id hemera.FileID) string { return "fxid:" + id.Hex() }

// Wake has every worker look now whether something is due: a piece was unlinked, a file committed
// incomplete, a disk set to drain. It does not block.
func (s *base) Wake() {
	for _, b := range s.wakeups {
		select {
		case b <- struct{}{}:
		// One is pending already, and the step that it begins sees everything that happened before it.
		default:
		}
	}
}

// isBad reports whether the outcome of a repair says that the piece is bad and that nothing good is left for it.
func isBad(err error) bool { return errors.Is(err, errs.NoReplicas) || errors.Is(err, errs.Corrupt) }

// pieceOn names a piece of the entry.
func pieceOn(e hemera.Entry, p hemera.Piece) hemera.BadPiece {
	return hemera.BadPiece{Disk: p.Disk, Piece: hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}}
}

// inUse reports whether a file was left alone because somebody else works on it, or has changed it.
func inUse(err error) bool {
	return errors.Is(err, errs.Conflict) || errors.Is(err, errs.Locked)
}

// has reports whether the entry has the piece on the disk.
func has(e hemera.Entry, p hemera.PieceID, disk hemera.DiskID) bool {
	return e.ID == p.File && e.Gen == p.Gen && slices.Contains(e.Pieces, hemera.Piece{Index: p.Index, Disk: disk})
}

// inventory asks the disk's node for the pieces that the disk has, from the one after after.
func (s *base) inventory(ctx context.Context, d hemera.Disk, after hemera.PieceID, limit int) ([]hemera.PieceStat, error) {
	r, err := s.Orders.Do(ctx, d.Node, hemera.Order{Kind: hemera.OrderInventory, Disk: d.ID, After: after, Limit: limit})
	return r.Pieces, err
}

// onDisk reports whether the disk has the piece now.
func (s *base) onDisk(ctx context.Context, d hemera.Disk, p hemera.PieceID) (bool, error) {
	stats, err := s.inventory(ctx, d, before(p), 1)
	return len(stats) > 0 && stats[0].ID == p, err
}

// before is the piece id just before p in order.
func before(p hemera.PieceID) hemera.PieceID {
	switch {
	case p.Index > 0:
		p.Index--
	case p.Gen > 0:
		p.Gen, p.Index = p.Gen-1, math.MaxUint8
	default:
		p = hemera.PieceID{File: p.File - 1, Gen: math.MaxUint64, Index: math.MaxUint8}
	}
	return p
}
