package move

import (
	"context"
	"errors"
	"slices"
	"time"

	"hemera/maint/orders"
	"hemera/platform/contain"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Options are the services that a Mover asks. All are required but Panics.
type Options struct {
	Files    Files
	Removals Removals
	Cluster  Cluster
	Orders   *orders.Dispatcher
	Signer   Signer
	Writers  func(hemera.DiskID) int // writes of clients under way on a disk, to stay out of their way
	Now      func() time.Time
	Panics   *contain.Panics
	Recorded func()          // called when a move was recorded: the dropped piece is to be removed. It does not block.
	Stopping <-chan struct{} // closed to end the copies that have begun
}

// Files reads and records where the pieces of files are. Calls block for the store.
type Files interface {
	// Resolve returns the entry and its path now. It fails with NotFound if the file does not exist.
	Resolve(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error)
	// MovePieces records pieces in place of others, durably. It fails with Conflict if the file has another generation or not
	// all of drop, if too few pieces would be left, or if a disk is still to remove the piece that it gets.
	MovePieces(ctx context.Context, id hemera.FileID, gen hemera.Generation, drop, add []hemera.Piece) error
}

// Removals lists the pieces that disks are to remove. It blocks for the store, and fails only if that does.
type Removals interface {
	// IsUnlinked reports whether the disk is to remove the piece, now or later.
	IsUnlinked(ctx context.Context, disk hemera.DiskID, p hemera.PieceID) (bool, error)
}

// Cluster has the nodes and disks.
type Cluster interface {
	View() *hemera.View
}

// Signer signs read capabilities for the sources of copies and for who copies; capability.Keyring is one. It answers from memory.
type Signer interface {
	// MintFor returns the signed capability. It fails with Unavailable while there is no key, and with TooLarge.
	MintFor(c hemera.Capability, also ...hemera.NodeID) (string, error)
}

// Mover makes pieces elsewhere. It plans a move, has the destination's node copy, and records the result. It is safe for
// concurrent use.
type Mover struct {
	*Limiter
	o Options
}

// New makes a Mover.
func New(o Options) *Mover {
	return &Mover{newLimiter(CopiesPerDisk*unitsLarge, CopiesTotal), o}
}

// about names a file in the report of a panic.
func about(id hemera.FileID) string { return "fxid:" + id.Hex() }

// Relocate makes one piece of the entry again on another disk and records it in place of drop. It returns
// the bytes copied. Conflict means that the file changed meanwhile: nothing is left to do for it
// here. Locked means that another of its pieces is being made: the caller comes again. The view is read when the copy's turn
// comes. A copy that has begun goes on when ctx ends, and is recorded: its node does not stop it, and what it makes would be no
// file's. If the work on the file panics, Relocate fails with Internal.
func (mv *Mover) Relocate(ctx context.Context, entry hemera.Entry, w Spec) (bytes int64, err error) {
	err = mv.o.Panics.Do("maint.Relocate", about(entry.ID), func() (err error) {
		bytes, err = mv.makeElsewhere(ctx, entry, w)
		return err
	})
	return bytes, err
}

// makeElsewhere does the work of Relocate. A panic is contained there.
func (mv *Mover) makeElsewhere(ctx context.Context, entry hemera.Entry, w Spec) (int64, error) {
	if !mv.LockFile(entry.ID) {
		return 0, errs.New(errs.Locked, "maint.Relocate", "fxid:"+entry.ID.Hex(), "another piece of the file is being moved")
	}
	// Held over the copy, which may take minutes: other work on the file fails with Locked at once and comes later.
	defer mv.UnlockFile(entry.ID)
	// The work was decided on a page of a list, which may be minutes old.
	entry, path, err := mv.current(ctx, entry, w)
	if err != nil {
		return 0, err
	}
	w.Seed = uint64(entry.ID)<<8 ^ uint64(entry.Gen) ^ uint64(w.Index)<<56 // spreads pieces; the same choice if it is made again
	m, err := mv.choose(ctx, entry, w)
	if err != nil {
		return 0, err
	}
	m.Path = path
	// From here on only the end of the engine stops it.
	ctx, cancel := mv.Lasting(ctx)
	defer cancel()
	result, err := mv.copy(ctx, m, w.Watch)
	if err != nil {
		return 0, err
	}
	// The copy is sealed and durable at its node before it is recorded: a crash between the two leaves an orphan, never
	// a record without a piece.
	err = mv.o.Files.MovePieces(ctx, entry.ID, entry.Gen, m.Drop, []hemera.Piece{{Index: m.Add.Index, Disk: m.Add.Disk}})
	if errors.Is(err, errs.Conflict) {
		// The copy belongs to no file. Should this fail, the audit finds it.
		_, _ = mv.o.Orders.Do(ctx, m.Add.Node, hemera.Order{Kind: hemera.OrderRemove, Disk: m.Add.Disk, Piece: m.key().piece})
	}
	if err != nil {
		return 0, err
	}
	mv.o.Recorded()
	return result.Bytes, nil
}

// copy has the destination's node make the planned piece, and releases the move. The record in the namespace, which follows, does
// not use the disks, so the next copy need not wait for it.
func (mv *Mover) copy(ctx context.Context, m Plan, watch func(int64)) (hemera.OrderResult, error) {
	// Also if it fails: the places are for the copy alone.
	defer mv.release(m)
	order, err := mv.CopyOrder(m)
	if err != nil {
		return hemera.OrderResult{}, err
	}
	return mv.o.Orders.Follow(ctx, m.Add.Node, order, func(bytes int64) {
		mv.arrived(m, bytes)
		if watch != nil {
			watch(bytes)
		}
	})
}

// Lasting returns a context that ends when work stops, and not with ctx. The caller must call the function that it returns.
func (mv *Mover) Lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-mv.o.Stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// choose waits for the copy's turn and plans it. It does not choose a disk that is still to remove this very piece: the copy would
// find the piece there and be done, then the removal would take it, and MovePieces could not know. No removal can come after the
// look: the file is locked, only pieces that an entry has are unlinked, and no disk that has one is chosen.
func (mv *Mover) choose(ctx context.Context, entry hemera.Entry, w Spec) (Plan, error) {
	for {
		m, err := mv.acquire(ctx, w.Urgency, func(full []hemera.DiskID, load map[hemera.DiskID]int) (Plan, error) {
			// Large copies and client writes weigh the same: both use the disk at its speed.
			w.full, w.load, w.traffic = full, load, mv.traffic()
			w.Writes = func(id hemera.DiskID) int { return (load[id]+unitsLarge-1)/unitsLarge + mv.o.Writers(id) }
			view := mv.o.Cluster.View()
			if w.Urgency < UrgencyDrain {
				bytes := layout.PieceSize(entry.Layout, entry.Size, w.Index) * int64(layout.Needed(entry.Layout, entry.Size))
				w.Writes = w.traffic.evenly(view, entry, bytes, w.Writes)
			}
			// Here, so that a plan that panics ends its turn.
			var m Plan
			err := mv.o.Panics.Do("maint.Plan", about(entry.ID), func() (err error) {
				m, err = NewPlan(view, entry, w)
				return err
			})
			return m, err
		})
		if err != nil {
			return m, err
		}
		// Not in the plan, which has to be pure: it reads the namespace for the one disk that was chosen.
		leaving := true
		err = mv.o.Panics.Do("maint.Relocate", about(entry.ID), func() (err error) {
			leaving, err = mv.o.Removals.IsUnlinked(ctx, m.Add.Disk, m.key().piece)
			return err
		})
		if err == nil && !leaving {
			return m, nil
		}
		mv.release(m)
		if err != nil {
			return m, err
		}
		w.leaving = append(w.leaving, m.Add.Disk)
	}
}

// current returns the entry as it is now. It fails with Conflict if the work was decided on another.
func (mv *Mover) current(ctx context.Context, old hemera.Entry, w Spec) (hemera.Entry, string, error) {
	now, path, err := mv.o.Files.Resolve(ctx, old.ID)
	if err != nil && !errors.Is(err, errs.NotFound) {
		return now, path, err
	}
	stale := err != nil || now.Gen != old.Gen
	for _, p := range w.Drop {
		stale = stale || !slices.Contains(now.Pieces, p)
	}
	// Without a piece to drop the move makes a missing one. Other work has made it meanwhile.
	if stale || len(w.Drop) == 0 && !slices.Contains(layout.Missing(now.Layout, now.Size, now.Pieces), w.Index) {
		return now, path, errs.New(errs.Conflict, "maint.Relocate", "fxid:"+old.ID.Hex(), "the file changed meanwhile")
	}
	return now, path, nil
}

// CopyOrder tells the destination to pull the piece, with the right to read its sources.
func (mv *Mover) CopyOrder(m Plan) (hemera.Order, error) {
	entry := m.Entry
	// A tree that was moved may have files whose path is longer than paths may be. In a piece it is for
	// people only, to whom the end says most.
	path := m.Path[max(0, len(m.Path)-hemera.PathMax):]
	token, err := mv.o.Signer.MintFor(hemera.Capability{
		File: entry.ID, Gen: entry.Gen, Parent: entry.Parent, Name: entry.Name, Path: path, Access: hemera.AccessRead,
		Layout: entry.Layout, Space: entry.Space, Size: entry.Size, Mode: entry.Mode, Sums: entry.Checksums,
		Targets: m.Sources, Who: hemera.SystemIdentity(),
		Owner: &hemera.FileOwner{UID: entry.UID, GID: entry.GID, Mode: entry.Mode}, Expires: mv.o.Now().Add(hemera.CapabilityLifetime),
	}, m.Add.Node)
	if err != nil {
		return hemera.Order{}, err
	}
	return hemera.Order{
		Kind: hemera.OrderCopy, Piece: m.key().piece, Disk: m.Add.Disk, Sources: m.Sources, Token: token,
	}, nil
}
