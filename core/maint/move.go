package maint

import (
	"context"
	"errors"
	"slices"

	"hemera"
	"hemera/errs"
)

// relocate makes one piece of the entry anew somewhere and records it in place of drop. It returns
// the bytes copied. Conflict means that the file changed meanwhile: nothing is left to do for it
// here. The view is read when the copy's turn comes. A copy that has begun goes on when ctx ends, and
// is recorded: its node does not stop it, and what it makes would be no file's.
func (e *Engine) relocate(ctx context.Context, entry hemera.Entry, w wants) (int64, error) {
	if !e.gate.hold(entry.ID) {
		return 0, errs.New(errs.Conflict, "maint.Relocate", "fxid:"+entry.ID.Hex(), "another piece of the file is being moved")
	}
	defer e.gate.release(entry.ID)
	entry, path, err := e.current(ctx, entry, w)
	if err != nil {
		return 0, err
	}
	w.seed = uint64(entry.ID)<<8 ^ uint64(entry.Gen) ^ uint64(w.index)<<56
	m, err := e.choose(ctx, entry, w)
	if err != nil {
		return 0, err
	}
	defer e.gate.leave(m)
	m.path = path
	ctx, cancel := e.lasting(ctx)
	defer cancel()
	order, err := e.copyOrder(m)
	if err != nil {
		return 0, err
	}
	result, err := e.Orders.follow(ctx, m.add.Node, order, w.watch)
	if err != nil {
		return 0, err
	}
	err = e.Files.MovePieces(ctx, entry.ID, entry.Gen, m.drop, []hemera.Piece{{Index: m.add.Index, Disk: m.add.Disk}})
	if errors.Is(err, errs.Conflict) {
		// The copy belongs to no file. Should this fail, the audit finds it.
		_, _ = e.Orders.Do(ctx, m.add.Node, hemera.Order{Kind: hemera.OrderRemove, Disk: m.add.Disk, Piece: m.key().piece})
	}
	if err != nil {
		return 0, err
	}
	e.Wake() // the dropped piece is to be removed
	return result.Bytes, nil
}

// lasting is a context that ends when Run does, and not before.
func (e *Engine) lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-e.stopping:
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
func (e *Engine) choose(ctx context.Context, entry hemera.Entry, w wants) (move, error) {
	for {
		m, err := e.gate.enter(ctx, func(full []hemera.DiskID, counts map[hemera.DiskID]int) (move, error) {
			w.full, w.writes = full, func(id hemera.DiskID) int { return counts[id] + e.Writers(id) }
			return plan(e.Cluster.View(), entry, w)
		})
		if err != nil {
			return m, err
		}
		leaving, err := e.Files.IsUnlinked(ctx, m.add.Disk, m.key().piece)
		if err == nil && !leaving {
			return m, nil
		}
		e.gate.leave(m)
		if err != nil {
			return m, err
		}
		w.leaving = append(w.leaving, m.add.Disk)
	}
}

// current is the entry as it is now. Conflict when the work was decided on another.
func (e *Engine) current(ctx context.Context, old hemera.Entry, w wants) (hemera.Entry, string, error) {
	now, path, err := e.Files.Resolve(ctx, old.ID)
	if err != nil && !errors.Is(err, errs.NotFound) {
		return now, path, err
	}
	stale := err != nil || now.Gen != old.Gen
	for _, p := range w.drop {
		stale = stale || !slices.Contains(now.Pieces, p)
	}
	if stale || len(w.drop) == 0 && !slices.Contains(missing(now), w.index) {
		return now, path, errs.New(errs.Conflict, "maint.Relocate", "fxid:"+old.ID.Hex(), "the file changed meanwhile")
	}
	return now, path, nil
}

// copyOrder tells the destination to pull the piece, with the right to read its sources.
func (e *Engine) copyOrder(m move) (hemera.Order, error) {
	entry := m.entry
	// A tree that was moved may have files whose path is longer than paths may be. In a piece it is for
	// people only, to whom the end says most.
	path := m.path[max(0, len(m.path)-hemera.PathMax):]
	token, err := e.Signer.MintFor(hemera.Capability{
		File: entry.ID, Gen: entry.Gen, Parent: entry.Parent, Name: entry.Name, Path: path, Access: hemera.AccessRead,
		Layout: entry.Layout, Space: entry.Space, Size: entry.Size, Mode: entry.Mode, Sums: entry.Checksums,
		Targets: m.sources, Who: hemera.SystemIdentity(), Expires: e.Now().Add(hemera.CapabilityLifetime),
	}, m.add.Node)
	if err != nil {
		return hemera.Order{}, err
	}
	return hemera.Order{
		Kind: hemera.OrderCopy, Piece: m.key().piece, Disk: m.add.Disk, Sources: m.sources, Token: token,
	}, nil
}
