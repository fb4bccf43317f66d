package sim

import (
	"context"
	"time"

	"hemera/namespace"
	"hemera/test/sim/simnet"
	"hemera/words/hemera"
)

// strained is the namespace as a manager under strain meets it: between the steps of moving a piece and
// of removing one time goes by, so that the two meet in every order.
// It delays the calls between maint and the namespace, where the order of two steps decides.
type strained struct {
	namespace.Removals
	w *world
}

// strain returns the tree for one life of the manager.
// A sabotage replaces a part of it.
func (w *world) strain(tree namespace.Parts) namespace.Parts {
	if w.plan.sabotage == ForgetBars {
		tree.PendingWrites = barless{tree.PendingWrites}
	}
	if w.plan.sabotage == EvictTooEarly {
		tree.PieceIndex = careless{tree.PieceIndex}
	}
	if w.plan.strain == 0 {
		return tree
	}
	tree.Removals = &strained{tree.Removals, w}
	return tree
}

// drag lets time go by, half of the time. It must not be called with a lock held: the clock stands still while
// another goroutine waits for that lock.
func (s *strained) drag(ctx context.Context) { s.w.drag(ctx) }

// drag strains the machines of a world for random times.
// Only under load: the judge must not wait for it.
func (w *world) drag(ctx context.Context) {
	if w.plan.strain > 0 && w.straining.Load() && w.coin(2) {
		simnet.Rest(ctx, w.upTo(w.plan.strain))
	}
}

// Unlinked lists pieces to remove, a while before they are.
func (s *strained) Unlinked(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error) {
	list, err := s.Removals.Unlinked(ctx, disk, limit)
	if len(list) > 0 {
		// After the list was made: what it names may change in between.
		s.drag(ctx)
	}
	return list, err
}

// ConfirmRemoved strikes removed pieces off the list, a while after they were removed.
func (s *strained) ConfirmRemoved(ctx context.Context, disk hemera.DiskID, pieces []hemera.PieceID) error {
	s.drag(ctx)
	return s.Removals.ConfirmRemoved(ctx, disk, pieces)
}

// IsUnlinked answers, a while before the copy is ordered.
func (s *strained) IsUnlinked(ctx context.Context, disk hemera.DiskID, p hemera.PieceID) (bool, error) {
	// A move onto a disk that still has to remove the old piece: the removal then takes the new one.
	if s.w.plan.sabotage == MoveOverRemovals {
		return false, nil
	}
	leaving, err := s.Removals.IsUnlinked(ctx, disk, p)
	s.drag(ctx)
	return leaving, err
}

// rotate has all disks but a few drained, and then others, so that pieces come back to where they were a
// moment ago.
// As many disks as a file has pieces stay in use, so that files always have room.
func (n *nemesis) rotate(ctx context.Context) {
	h := n.w.head.Load()
	if h == nil {
		return
	}
	disks := h.Cluster.View().Disks
	order := n.rng.Perm(len(disks))
	for place, i := range order {
		config := hemera.ConfigDrain
		if place < n.w.plan.mostPieces() {
			config = hemera.ConfigRW
		}
		err := h.Admin.SetDisk(ctx, disks[i].ID, "configstatus", string(config))
		n.did("disk %d is to be %s: %v", disks[i].ID, config, err)
	}
	n.pause(ctx, max(n.w.plan.strain, 4*time.Second))
}

// useAll ends every drain.
// Errors are failures: the manager runs, and nothing is wrong with the cluster any more.
func (n *nemesis) useAll(ctx context.Context) {
	h := n.w.head.Load()
	for _, d := range h.Cluster.View().Disks {
		if d.Config == hemera.ConfigRW {
			continue
		}
		if err := h.Admin.SetDisk(ctx, d.ID, "configstatus", string(hemera.ConfigRW)); err != nil {
			n.w.fail("disk %d cannot be used again: %v", d.ID, err)
		}
	}
}
