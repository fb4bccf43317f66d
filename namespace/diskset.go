package namespace

import (
	"context"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// A piece must not be recorded on a disk that left the cluster: no repair looks for it there. The namespace does not know disks,
// but it orders changes. So a caller takes the version of the set of disks before it looks at the disks, and puts it into its
// change, which is refused if the version is another one by then. A disk that leaves begins a new version in a change of its
// own: what was recorded before is counted there, and what was decided before and comes later is refused.

// ErrDiskSet is the error of a change that was decided on an earlier set of disks. Nothing was changed: the caller decides again.
var ErrDiskSet = errs.New(errs.Unavailable, "namespace.Update", "", "disks left the cluster meanwhile")

// DiskSet returns the version of the set of disks, which is never 0. It does not block.
func (n *Pieces) DiskSet() uint64 { return n.engine.memory.diskSet.Load() + 1 }

// LeaveDisks begins a new version of the set of disks, and returns what the namespace has on the disks that leave at that instant.
// From then on changes that were decided on an earlier version fail with [ErrDiskSet]. It waits until what it counted is durable.
func (n *Pieces) LeaveDisks(ctx context.Context, disks ...hemera.DiskID) (pieces, bytes int64, err error) {
	err = n.engine.update(ctx, func(t tx) error {
		// The change may run several times.
		pieces, bytes = 0, 0
		for _, d := range disks {
			u, err := t.pieces().usage(d)
			if err != nil {
				return err
			}
			pieces, bytes = pieces+u.Pieces, bytes+u.Bytes
		}
		t.memory.diskSet.Add(1)
		return nil
	})
	return pieces, bytes, err
}

// checkDiskSet fails with [ErrDiskSet] if the set of disks is not the one of the version; 0 is any.
func (t tx) checkDiskSet(version uint64) error {
	if version != 0 && version != t.memory.diskSet.Load()+1 {
		return ErrDiskSet
	}
	return nil
}
