package maint

import (
	"context"
	"errors"
	"sync"
	"time"

	"hemera/maint/move"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// balanceCopies is how many moves of a space are under way at most.
	balanceCopies = 64
	// balanceTick is how long a run waits for a disk that has moved as much as it may.
	balanceTick = 100 * time.Millisecond
)

// balanceMoves begins the moves of one space's pieces, no faster than the rate of the space allows. Its methods are called by
// the goroutine of one run, but for those of the job.
type balanceMoves struct {
	base  *base
	space string
	*balanceJob
	ledger *balanceLedger
	slots  chan struct{} // as many as moves may be under way
	group  sync.WaitGroup
}

// candidate is a piece that may be moved.
type candidate struct {
	entry  hemera.Entry // as its page had it; the mover reads it again
	piece  hemera.Piece // where the page had it
	shares bool         // with another piece of the file a node or a zone
}

// size returns the bytes that the move takes.
func (c candidate) size() int64 { return layout.PieceSize(c.entry.Layout, c.entry.Size, c.piece.Index) }

// place plans the move of a piece to one of the disks, if the file's pieces lie no worse then.
func (m *balanceMoves) place(view *hemera.View, c candidate, allow func(hemera.DiskID) bool) (move.Plan, error) {
	return move.NewPlan(view, c.entry, move.Spec{Index: c.piece.Index, Drop: []hemera.Piece{c.piece}, Allow: allow, Spread: true,
		Seed: uint64(c.entry.ID)<<8 ^ uint64(c.entry.Gen), Writes: m.base.Writers})
}

// begin begins a move when there is a slot, and reports false if ctx ended before.
func (m *balanceMoves) begin(ctx context.Context, c candidate, to hemera.DiskID) bool {
	select {
	case m.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	// The rate is read for each piece, so that a change holds at once.
	view := m.base.Cluster.View()
	space, _ := view.Space(m.space)
	_, rate := space.Balancer.Limits()
	m.ledger.begin(c.piece.Disk, to, c.size(), rate)
	m.base.Panics.Go(&m.group, "maint.Balance", about(c.entry.ID), func() {
		defer func() { <-m.slots }()
		part := m.balanceJob.begin(c.size())
		// It waits for its turn behind all that is more urgent, and has the destination that was counted or none.
		bytes, err := m.base.mover.Relocate(ctx, c.entry, move.Spec{Index: c.piece.Index, Drop: []hemera.Piece{c.piece}, Urgency: move.UrgencyBalance,
			Allow: func(id hemera.DiskID) bool { return id == to }, Spread: true, Watch: part.to})
		counted := part.end()
		m.ledger.end(c.piece.Disk, to, c.size(), err == nil)
		switch {
		case err == nil:
			m.moved(bytes, counted)
			m.counted(c.size())
		case inUse(err) || errors.Is(err, errs.NoSpace) || ctx.Err() != nil:
			// The file or the disk changed, or the run was called off: the next look sees what is left.
		default:
			m.failed(err)
		}
	})
	return true
}
