package maint

import (
	"context"
	"sync"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// removeBatch bounds the pieces that one disk gets to remove at once.
	removeBatch = 512
	// removeRest is the longest rest between two steps.
	removeRest = 5 * time.Second
	// holdRest is the same while a disk holds pieces. Some may have to go for lack of room.
	holdRest = time.Second
	// removePause is the pause of a disk that removed none of a batch. Each failure is a line in its node's log, and
	// success at other disks wakes the remover many times a second.
	removePause = 30 * time.Second
)

// remover has disks remove pieces that no file has any more. Each disk with such pieces has one
// batch under way, so a stalled disk delays no other.
type remover struct {
	base *base
	room *room // wanted on disks that hold pieces

	mu   sync.Mutex
	busy map[hemera.DiskID]bool // with a batch under way

	paused map[hemera.DiskID]time.Time // until then, guarded by mu
}

// newRemover makes a remover without a batch under way.
func newRemover(b *base, r *room) *remover {
	return &remover{base: b, room: r, busy: map[hemera.DiskID]bool{}, paused: map[hemera.DiskID]time.Time{}}
}

func (r *remover) Name() string { return "remove" }

// Step begins a batch at each disk that has pieces to remove and no batch under way.
func (r *remover) Step(ctx context.Context) (time.Duration, error) {
	view, rest := r.base.Cluster.View(), removeRest
	for _, d := range view.Disks {
		// The removals of a read-only disk wait until it takes writes again.
		if !d.Active || d.Config == hemera.ConfigOff || d.Health == hemera.HealthReadOnly || !r.ready(d.ID) {
			continue
		}
		pieces, holds, err := r.due(ctx, view, d)
		if err != nil {
			return removeRest, errs.Wrap(err, "maint.Remove", "disk "+d.ID.String())
		}
		if holds {
			rest = holdRest
		}
		if len(pieces) > 0 {
			// Not in the step: a disk that does not answer holds up its own batch and nothing else.
			r.begin(d.ID)
			r.base.Panics.Go(&r.base.group, "maint.Remove", "disk "+d.ID.String(), func() {
				removed := 0
				defer func() {
					r.end(d.ID, removed)
					if removed > 0 {
						r.base.Wake()
					}
				}()
				removed = r.batch(ctx, d, pieces)
			})
		}
	}
	return rest, nil
}

// batch removes pieces of one disk and forgets those that are gone. A piece that fails stays on the list.
func (r *remover) batch(ctx context.Context, d hemera.Disk, pieces []hemera.PieceID) int {
	gone := make([]bool, len(pieces))
	var wg sync.WaitGroup
	for i, p := range pieces {
		// One order for each piece: the node runs them in the lane of the disk, and answers each by itself.
		r.base.Panics.Go(&wg, "maint.Remove", p.String(), func() {
			_, err := r.base.Orders.Do(ctx, d.Node, hemera.Order{Kind: hemera.OrderRemove, Disk: d.ID, Piece: p})
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
	// Forgotten only after the node has answered. After a crash in between the removal is ordered again, and a
	// piece that is missing counts as removed.
	if err := r.base.Removals.ConfirmRemoved(ctx, d.ID, done); err != nil {
		r.base.Log.Error("removed pieces could not be forgotten", "disk", d.ID, "error", err)
		return 0
	}
	return len(done)
}

// ready reports whether a batch of the disk may begin.
func (r *remover) ready(id hemera.DiskID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.busy[id] && !r.base.Now().Before(r.paused[id])
}

// begin notes that the disk has a batch under way.
func (r *remover) begin(id hemera.DiskID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy[id] = true
}

// end makes way for the disk's next batch: at once, or after a pause when nothing was removed.
func (r *remover) end(id hemera.DiskID, removed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, id)
	// Success ends the pause: the disk may have been repaired.
	delete(r.paused, id)
	if removed == 0 {
		r.paused[id] = r.base.Now().Add(removePause)
	}
}
