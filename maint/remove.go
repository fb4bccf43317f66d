package maint

import (
	"context"
	"sync"
	"time"

	"hemera"
	"hemera/errs"
)

const (
	// removeBatch is how many pieces one disk is told to remove at once.
	removeBatch = 512
	// removeRest is how long the remover rests when nobody wakes it.
	removeRest = 5 * time.Second
)

// remover has disks remove pieces that no file has any more. Each disk with such pieces has one
// batch under way; a disk that hangs holds up nobody else.
type remover struct {
	engine *Engine

	mu   sync.Mutex
	busy map[hemera.DiskID]bool
}

func (r *remover) name() string { return "remove" }

func (r *remover) step(ctx context.Context) (time.Duration, error) {
	for _, d := range r.engine.Cluster.View().Disks {
		if !d.Active || d.Config == hemera.ConfigOff || r.isBusy(d.ID) {
			continue
		}
		pieces, err := r.engine.Files.Unlinked(ctx, d.ID, removeBatch)
		if err != nil {
			return removeRest, errs.Wrap(err, "maint.remove", "disk "+d.ID.String())
		}
		if len(pieces) > 0 {
			r.setBusy(d.ID, true)
			r.engine.group.Go(func() {
				removed := r.batch(ctx, d, pieces)
				r.setBusy(d.ID, false)
				if removed > 0 {
					r.engine.Wake()
				}
			})
		}
	}
	return removeRest, nil
}

// batch removes pieces of one disk and forgets those that are gone. What fails stays on the list.
func (r *remover) batch(ctx context.Context, d hemera.Disk, pieces []hemera.PieceID) int {
	gone := make([]bool, len(pieces))
	var wg sync.WaitGroup
	for i, p := range pieces {
		wg.Go(func() {
			_, err := r.engine.Orders.Do(ctx, d.Node, hemera.Order{Kind: hemera.OrderRemove, Disk: d.ID, Piece: p})
			gone[i] = err == nil
		})
	}
	wg.Wait()
	var done []hemera.PieceID
	for i, p := range pieces {
		if gone[i] {
			done = append(done, p)
		}
	}
	if len(done) == 0 {
		return 0
	}
	if err := r.engine.Files.Forget(ctx, d.ID, done); err != nil {
		r.engine.Log.Error("removed pieces could not be forgotten", "disk", d.ID, "error", err)
		return 0
	}
	return len(done)
}

func (r *remover) isBusy(id hemera.DiskID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy[id]
}

func (r *remover) setBusy(id hemera.DiskID, busy bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if busy {
		r.busy[id] = true
	} else {
		delete(r.busy, id)
	}
}
