package manager

import (
	"context"
	"errors"
	"slices"
	"sync"

	"hemera/namespace"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// recorder records pieces in the namespace, but none on a disk that has left the cluster: no repair would look for it there.
//
// A change is decided on the view, and carries the version of the set of disks that it was decided on. A disk that leaves begins a
// new version in the namespace before it leaves the view, so a change that was decided before and comes later is refused there,
// and is decided again. Changes with pieces on the disk itself wait meanwhile; all others go on.
type recorder struct {
	tree namespace.Parts     // where pieces are recorded
	view func() *hemera.View // the cluster's newest

	mu      sync.Mutex   // guards leaving
	leaving []*departure // disks that leave now
}

// departure is a disk, or a node with all of its disks, that leaves the cluster. The other is 0.
type departure struct {
	disk hemera.DiskID
	node hemera.NodeID
	over chan struct{} // closed when it has left, or stays
}

// leave has changes with pieces on the disk, or the node's disks, wait until end. It returns what the namespace has there: no change
// adds to it before end.
func (r *recorder) leave(ctx context.Context, disk hemera.DiskID, node hemera.NodeID) (pieces, bytes int64, end func(), err error) {
	d := &departure{disk, node, make(chan struct{})}
	// Before the new version begins: a change that takes the new version must see the departure.
	r.mu.Lock()
	r.leaving = append(slices.Clone(r.leaving), d)
	r.mu.Unlock()
	end = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.leaving = slices.DeleteFunc(slices.Clone(r.leaving), func(other *departure) bool { return other == d })
		close(d.over)
	}
	pieces, bytes, err = r.tree.DiskSets.LeaveDisks(ctx, disk)
	if err != nil {
		end()
	}
	return pieces, bytes, end, err
}

// record has a change made of those of the pieces that are on disks of the cluster, and made again if disks left meanwhile.
func (r *recorder) record(ctx context.Context, pieces []hemera.Piece, change func(set uint64, remaining []hemera.Piece) error) error {
	for {
		// In this order: a departure that is not seen either has not begun its version yet, or has changed the view.
		set := r.tree.DiskSets.DiskSet()
		r.mu.Lock()
		leaving := r.leaving
		r.mu.Unlock()
		remaining, wait := r.remaining(pieces, leaving)
		if wait != nil {
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return errs.Wrap(ctx.Err(), "manager.Record", "")
			}
		}
		if err := change(set, remaining); !errors.Is(err, namespace.ErrDiskSet) {
			return err
		}
	}
}

// remaining returns the pieces on disks that are in the cluster. If one of them is on a disk that leaves now, wait ends when it has.
func (r *recorder) remaining(pieces []hemera.Piece, leaving []*departure) (list []hemera.Piece, wait <-chan struct{}) {
	view := r.view()
	for _, p := range pieces {
		d, ok := view.Disk(p.Disk)
		if !ok {
			continue
		}
		for _, l := range leaving {
			if l.disk == d.ID || l.node != 0 && l.node == d.Node {
				return nil, l.over
			}
		}
		list = append(list, p)
	}
	return list, nil
}

// commit commits what is on disks of the cluster, if that is enough; repair makes the rest.
func (r *recorder) commit(ctx context.Context, c namespace.Commit, least int) (e hemera.Entry, err error) {
	// A commit with fewer pieces than it has targets is no error if they are enough: it is as if the disk had failed.
	asked := c.Pieces
	err = r.record(ctx, asked, func(set uint64, remaining []hemera.Piece) error {
		if len(remaining) < len(asked) && len(remaining) < least {
			e, err = r.again(ctx, c)
			return err
		}
		c.Pieces, c.DiskSet = remaining, set
		e, err = r.tree.Commit(ctx, c)
		return err
	})
	return e, err
}

// again answers a commit that has too few pieces left: it may be a request that comes again.
func (r *recorder) again(ctx context.Context, c namespace.Commit) (hemera.Entry, error) {
	if now, _, err := r.tree.Resolve(ctx, c.ID); err == nil && now.Gen == c.Gen {
		return now, nil
	}
	return hemera.Entry{}, errs.New(errs.Conflict, "manager.Commit", c.Name, "a disk was removed from the cluster during the write").
		WithRemedy("write the file again")
}

// keptFiles is the namespace as the background work may change it.
type keptFiles struct {
	namespace.PieceIndex
	namespace.Inspector
	pieces *recorder
}

// MovePieces implements maint.Files.
func (k keptFiles) MovePieces(ctx context.Context, id hemera.FileID, gen hemera.Generation, drop, add []hemera.Piece) error {
	return k.pieces.record(ctx, add, func(set uint64, remaining []hemera.Piece) error {
		// Dropped pieces may be on removed disks: to leave those is what repair is for.
		if len(remaining) < len(add) {
			return errs.New(errs.Conflict, "maint.MovePieces", "fxid:"+id.Hex(), "the disk was removed from the cluster meanwhile")
		}
		return k.PieceIndex.MovePieces(ctx, namespace.PieceMove{File: id, Gen: gen, Drop: drop, Add: add, DiskSet: set})
	})
}
