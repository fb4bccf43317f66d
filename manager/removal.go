package manager

import (
	"context"
	"sync"

	"hemera/namespace"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A piece must not be recorded on a disk that was removed: nobody would look for it there, nor make it
// again. So a caller that records pieces looks at the view and writes while it holds [recorder].mu for reading, and
// a disk leaves the view while the lock is held for writing.

// recorder records pieces in the namespace, but none on a disk that has left the cluster.
type recorder struct {
	tree namespace.Parts     // where pieces are recorded
	view func() *hemera.View // the cluster's newest; read under mu
	mu   sync.RWMutex        // holds: over the change in the namespace, on purpose; see above
}

// lock keeps others from recording pieces until [recorder.unlock]. A disk may leave the cluster meanwhile.
func (r *recorder) lock()   { r.mu.Lock() }
func (r *recorder) unlock() { r.mu.Unlock() }

// remaining returns the pieces on disks that are in the cluster. mu is held.
func (r *recorder) remaining(pieces []hemera.Piece) (list []hemera.Piece) {
	view := r.view()
	for _, p := range pieces {
		if _, ok := view.Disk(p.Disk); ok {
			list = append(list, p)
		}
	}
	return list
}

// commit commits what is on disks of the cluster, if that is enough; repair makes the rest.
func (r *recorder) commit(ctx context.Context, c namespace.Commit, least int) (hemera.Entry, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	// A commit with fewer pieces than it has targets is no error if they are enough: it is as if the disk had failed.
	asked := len(c.Pieces)
	c.Pieces = r.remaining(c.Pieces)
	if len(c.Pieces) == asked || len(c.Pieces) >= least {
		return r.tree.Commit(ctx, c)
	}
	if now, _, err := r.tree.Resolve(ctx, c.ID); err == nil && now.Gen == c.Gen {
		return now, nil // it was committed, and this is the request again
	}
	return hemera.Entry{}, errs.New(errs.Conflict, "manager.Commit", c.Name, "a disk was removed from the cluster during the write").
		WithRemedy("write the file again")
}

// keptFiles is the namespace as the background work may change it.
type keptFiles struct {
	namespace.Parts
	pieces *recorder
}

// MovePieces implements maint.Files.
func (k keptFiles) MovePieces(ctx context.Context, id hemera.FileID, gen hemera.Generation, drop, add []hemera.Piece) error {
	k.pieces.mu.RLock()
	defer k.pieces.mu.RUnlock()
	// Dropped pieces may be on removed disks: to leave those is what repair is for.
	if len(k.pieces.remaining(add)) < len(add) {
		return errs.New(errs.Conflict, "maint.MovePieces", "fxid:"+id.Hex(), "the disk was removed from the cluster meanwhile")
	}
	return k.Parts.MovePieces(ctx, id, gen, drop, add)
}
