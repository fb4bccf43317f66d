package cluster

import (
	"context"
	"slices"
	"time"

	"hemera/platform/kv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A manager whose state is lost with all backups begins with an empty store, and its namespace is made again from the
// pieces on disks. Until an admin says that this is done, the cluster is being rebuilt: clients change nothing, as what
// they would write may be there already, and nodes and disks come back under the ids that they had.

// idClaimMax bounds the ids that nodes may claim for themselves and their disks, so that a wrong one does not use up the rest.
const idClaimMax = 1 << 24

// rebuildRecord is there while the namespace is being rebuilt.
type rebuildRecord struct{ Begun time.Time }

func (rebuildRecord) key() string { return "rebuild" }

// Prepared makes an empty store that of a cluster which is to be rebuilt. Ids of new nodes and disks leave out what
// those of before may have had. It must run before Open.
func Prepared(ctx context.Context, store kv.Reader, w kv.Writer, now time.Time) error {
	c := newState(store, w, Options{})
	err := c.update(ctx, func(ch *change) error {
		ch.put(nextRecord{Node: 1 + idsLeftOut, Disk: 1 + idsLeftOut})
		ch.put(rebuildRecord{now})
		return nil
	}, func() {})
	return errs.Wrap(err, "cluster.Prepared", "")
}

// Rebuilding returns since when the namespace is being rebuilt; zero if it is not. It does not block.
func (c *Cluster) Rebuilding() time.Time {
	if t := c.state.rebuilding.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

// EndRebuild ends the rebuild: clients may change the namespace from now on. NotFound if there is none.
func (c *Admin) EndRebuild(ctx context.Context) error {
	return c.state.update(ctx, func(ch *change) error {
		if c.state.rebuilding.Load() == nil {
			return errs.New(errs.NotFound, "cluster.EndRebuild", "", "the namespace is not being rebuilt").
				WithRemedy("after a restore, and after `finish`, `hemera ns rebuild forget` ends the search for what was lost")
		}
		ch.delete(rebuildRecord{})
		return nil
	}, nil)
}

// checkRebuilt is Unavailable while the namespace is being rebuilt: clients wait, as for a manager that is not there.
func (c *Marks) checkRebuilt() error {
	if c.state.rebuilding.Load() == nil {
		return nil
	}
	return errs.New(errs.Unavailable, "cluster.Change", "", "the namespace is being rebuilt").
		WithRemedy("an admin ends this with `hemera ns rebuild finish`")
}

// returning reports whether a node that this store does not know may be one of before. Its certificate was checked by the
// transport, or it is of this process. mu is held.
func (c *Leases) returning(id hemera.NodeID) bool {
	_, removed := c.state.removed[id]
	return c.state.rebuilding.Load() != nil && id != 0 && id < idClaimMax && !removed
}

// claim returns the id that a disk had before, if the cluster is being rebuilt and nothing else has the id by now; else
// the next one. Ids mean nothing to pieces: they are for people, who know their disks by them. mu is held.
func (c *Leases) claim(ch *change, next *nextRecord, d hemera.NodeDisk) hemera.DiskID {
	taken := c.state.disks[d.ID] != nil || slices.ContainsFunc(ch.puts, func(r record) bool {
		other, ok := r.(diskRecord)
		return ok && other.ID == d.ID
	})
	if d.ID == 0 || d.ID >= idClaimMax || taken || c.state.rebuilding.Load() == nil {
		next.Disk++
		return next.Disk - 1
	}
	next.Disk = max(next.Disk, d.ID+1)
	return d.ID
}
