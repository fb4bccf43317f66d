package maint

import (
	"context"
	"errors"
	"slices"

	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// mover makes a piece elsewhere: it plans the move, has the destination's node copy, and records the result.
type mover struct{ engine *Engine }

// relocate makes one piece of the entry again somewhere and records it in place of drop. It returns
// the bytes copied. Conflict means that the file changed meanwhile: nothing is left to do for it
// here. Locked means that another of its pieces is being made: the caller comes again. The view is read when the copy's turn
// comes. A copy that has begun goes on when ctx ends, and is recorded: its node does not stop it, and what it makes would be no
// file's. If the work on the file panics, relocate fails with Internal.
func (mv *mover) relocate(ctx context.Context, entry hemera.Entry, w moveSpec) (bytes int64, err error) {
	err = mv.engine.Panics.Do("maint.Relocate", about(entry.ID), func() (err error) {
		bytes, err = mv.makeElsewhere(ctx, entry, w)
		return err
	})
	return bytes, err
}

// makeElsewhere is relocate without its boundary.
func (mv *mover) makeElsewhere(ctx context.Context, entry hemera.Entry, w moveSpec) (int64, error) {
	if !mv.engine.copies.lockFile(entry.ID) {
		return 0, errs.New(errs.Locked, "maint.Relocate", "fxid:"+entry.ID.Hex(), "another piece of the file is being moved")
	}
	// Held over the copy, which may take minutes: other work on the file fails with Locked at once and comes later.
	defer mv.engine.copies.unlockFile(entry.ID)
	// The work was decided on a page of a list, which may be minutes old.
	entry, path, err := mv.current(ctx, entry, w)
	if err != nil {
		return 0, err
	}
	w.seed = uint64(entry.ID)<<8 ^ uint64(entry.Gen) ^ uint64(w.index)<<56 // spreads pieces; the same choice if it is made again
	m, err := mv.choose(ctx, entry, w)
	if err != nil {
		return 0, err
	}
	m.path = path
	// From here on only the end of the engine stops it.
	ctx, cancel := mv.lasting(ctx)
	defer cancel()
	result, err := mv.copy(ctx, m, w.watch)
	if err != nil {
		return 0, err
	}
	// The copy is sealed and durable at its node before it is recorded: a crash between the two leaves an orphan, never
	// a record without a piece.
	err = mv.engine.Files.MovePieces(ctx, entry.ID, entry.Gen, m.drop, []hemera.Piece{{Index: m.add.Index, Disk: m.add.Disk}})
	if errors.Is(err, errs.Conflict) {
		// The copy belongs to no file. Should this fail, the audit finds it.
		_, _ = mv.engine.Orders.Do(ctx, m.add.Node, hemera.Order{Kind: hemera.OrderRemove, Disk: m.add.Disk, Piece: m.key().piece})
	}
	if err != nil {
		return 0, err
	}
	mv.engine.Wake() // the dropped piece is to be removed
	return result.Bytes, nil
}

// copy has the destination's node make the planned piece, and releases the move. What follows, the record in the
// namespace, does not concern the disks: the next copy need not wait for it.
func (mv *mover) copy(ctx context.Context, m plannedMove, watch func(int64)) (hemera.OrderResult, error) {
	// Also if it fails: the places are for the copy alone.
	defer mv.engine.copies.release(m)
	order, err := mv.copyOrder(m)
	if err != nil {
		return hemera.OrderResult{}, err
	}
	return mv.engine.Orders.Follow(ctx, m.add.Node, order, func(bytes int64) {
		mv.engine.copies.arrived(m, bytes)
		if watch != nil {
			watch(bytes)
		}
	})
}

// lasting is a context that ends when Run does, and not before.
func (mv *mover) lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-mv.engine.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// choose waits for the copy's turn and plans it. A disk that is still to remove this very piece is no
// destination: the copy would find the piece there and be done, then the removal would take it, and when
// the removal is forgotten nothing is left to tell MovePieces of it. No removal can come after the look,
// since the file is held, and only pieces that an entry has are unlinked: its disks are none to choose.
func (mv *mover) choose(ctx context.Context, entry hemera.Entry, w moveSpec) (plannedMove, error) {
	for {
		m, err := mv.engine.copies.acquire(ctx, w.class, func(full []hemera.DiskID, load map[hemera.DiskID]int) (plannedMove, error) {
			// Large copies and client writes weigh the same: both use the disk at its speed.
			w.full, w.load, w.traffic = full, load, mv.engine.copies.traffic()
			w.writes = func(id hemera.DiskID) int { return (load[id]+unitsLarge-1)/unitsLarge + mv.engine.Writers(id) }
			view := mv.engine.Cluster.View()
			if w.class < urgencyDrain {
				bytes := layout.PieceSize(entry.Layout, entry.Size, w.index) * int64(layout.Needed(entry.Layout, entry.Size))
				w.writes = w.traffic.evenly(view, entry, bytes, w.writes)
			}
			// Here, so that a plan that panics ends its turn.
			var m plannedMove
			err := mv.engine.Panics.Do("maint.Plan", about(entry.ID), func() (err error) {
				m, err = plan(view, entry, w)
				return err
			})
			return m, err
		})
		if err != nil {
			return m, err
		}
		// Not in the plan, which has to be pure: it reads the namespace for the one disk that was chosen.
		leaving := true
		err = mv.engine.Panics.Do("maint.Relocate", about(entry.ID), func() (err error) {
			leaving, err = mv.engine.Removals.IsUnlinked(ctx, m.add.Disk, m.key().piece)
			return err
		})
		if err == nil && !leaving {
			return m, nil
		}
		mv.engine.copies.release(m)
		if err != nil {
			return m, err
		}
		w.leaving = append(w.leaving, m.add.Disk)
	}
}

// current is the entry as it is now. Conflict when the work was decided on another.
func (mv *mover) current(ctx context.Context, old hemera.Entry, w moveSpec) (hemera.Entry, string, error) {
	now, path, err := mv.engine.Files.Resolve(ctx, old.ID)
	if err != nil && !errors.Is(err, errs.NotFound) {
		return now, path, err
	}
	stale := err != nil || now.Gen != old.Gen
	for _, p := range w.drop {
		stale = stale || !slices.Contains(now.Pieces, p)
	}
	// Without a piece to drop the move makes a missing one: somebody else has made it meanwhile.
	if stale || len(w.drop) == 0 && !slices.Contains(layout.Missing(now.Layout, now.Size, now.Pieces), w.index) {
		return now, path, errs.New(errs.Conflict, "maint.Relocate", "fxid:"+old.ID.Hex(), "the file changed meanwhile")
	}
	return now, path, nil
}

// copyOrder tells the destination to pull the piece, with the right to read its sources.
func (mv *mover) copyOrder(m plannedMove) (hemera.Order, error) {
	entry := m.entry
	// A tree that was moved may have files whose path is longer than paths may be. In a piece it is for
	// people only, to whom the end says most.
	path := m.path[max(0, len(m.path)-hemera.PathMax):]
	token, err := mv.engine.Signer.MintFor(hemera.Capability{
		File: entry.ID, Gen: entry.Gen, Parent: entry.Parent, Name: entry.Name, Path: path, Access: hemera.AccessRead,
		Layout: entry.Layout, Space: entry.Space, Size: entry.Size, Mode: entry.Mode, Sums: entry.Checksums,
		Targets: m.sources, Who: hemera.SystemIdentity(),
		Owner: &hemera.FileOwner{UID: entry.UID, GID: entry.GID, Mode: entry.Mode}, Expires: mv.engine.Now().Add(hemera.CapabilityLifetime),
	}, m.add.Node)
	if err != nil {
		return hemera.Order{}, err
	}
	return hemera.Order{
		Kind: hemera.OrderCopy, Piece: m.key().piece, Disk: m.add.Disk, Sources: m.sources, Token: token,
	}, nil
}
