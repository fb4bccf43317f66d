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
	// balanceCopies bounds the moves of a space that are under way.
	balanceCopies = 64
	// balanceTick is the wait for a disk that has moved as much as its rate allows.
	balanceTick = 100 * time.Millisecond
)

// balanceMoves begins the moves of one space's pieces, no faster than the rate of the space allows. Its methods are called by
// the goroutine of one run, except for those of the job.
type balanceMoves struct {
	base  *base
	space hemera.SpaceName
	*balanceJob
	ledger *balanceLedger
	slots  chan struct{} // as many as moves may be under way
	group  sync.WaitGroup
}

// candidate is a piece that may be moved.
type candidate struct {
	entry  hemera.Entry // as of its page; the mover reads it again
	piece  hemera.Piece // as of its page
	shares bool         // another piece of the file is on the same node or in the same zone
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
		// The copy waits behind all more urgent ones. Its destination is the one that was counted, or none.
		bytes, err := m.base.mover.Relocate(ctx, c.entry, move.Spec{Index: c.piece.Index, Drop: []hemera.Piece{c.piece}, Urgency: move.UrgencyBalance,
			Allow: func(id hemera.DiskID) bool { return id == to }, Spread: true, Watch: part.to})
		counted := part.end()
		m.ledger.end(c.piece.Disk, to, c.size(), err == nil)
		switch {
		case err == nil:
			m.moved(bytes, counted)
			m.counted(c.size())
		case inUse(err) || errors.Is(err, errs.NoSpace) || ctx.Err() != nil:
			// The file or the disk changed, or the run was cancelled: the next look finds what is left.
		default:
			m.failed(err)
		}
	})
	return true
}
