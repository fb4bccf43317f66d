package maint

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera/maint/move"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	pageFiles = 512 // files of one page of a list
	// stallRest is the rest of a job that moved nothing.
	stallRest = 5 * time.Second
)

// base has what all workers share: the services that they ask, the moves of pieces, and the work that outlasts a step.
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

// newBase makes the base of an engine. It sets the defaults of options that are zero.
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
	// It blocks for as long as the work takes, until ctx ends. When it fails, the error is logged and the next step tries again.
	Step(ctx context.Context) (rest time.Duration, err error)
}

// jobLister is a Worker whose work is shown to admins as jobs.
type jobLister interface {
	listJobs(ctx context.Context) ([]adminapi.JobStatus, error)
}

// SetLostAfter sets how long a disk is out of reach before its pieces are made again elsewhere. It holds for disks that are
// away already too.
func (s *base) SetLostAfter(grace time.Duration) {
	s.grace.Store(int64(grace))
	s.Wake()
}

// lostAfter returns how long a disk is out of reach before its pieces are made again elsewhere.
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

// inUse reports whether a file was left alone because other work has it, or because it has changed.
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

// before returns the piece id just before p in order.
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

// pause waits, and reports false if ctx ended first.
func pause(ctx context.Context, rest time.Duration) bool {
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// wakeDelay gathers wake-ups, so that a burst of them costs one step. wakeShare is how many times as
// long as its step a worker rests at least, so that a large cluster's does not take a processor.
const (
	wakeDelay = 20 * time.Millisecond
	wakeShare = 4
	wakeMax   = 500 * time.Millisecond
)
