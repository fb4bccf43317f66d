package manager

import (
	"context"
	"log/slog"
	"time"

	"hemera/cluster"
	"hemera/maint"
	"hemera/namespace"
	"hemera/platform/fairshare"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// recycler implements adminapi.RecycleBin over the namespace, and holds the bounds of bins in the background.
//
// Changes wait until the store is known to be current, as those of [changes] do, and wake the background work when they leave
// pieces to remove. What a user may see and do is decided in the namespace.
type recycler struct {
	tree    namespace.Parts
	cluster *cluster.Cluster
	engine  *maint.Engine      // removes the pieces of what is purged
	turns   *fairshare.Limiter // of users that read much of a bin
	ops     *operations
	log     *slog.Logger
}

// Erase implements adminapi.RecycleBin.
func (r *recycler) Erase(ctx context.Context, who hemera.Identity, path string, kind hemera.EntryKind) (err error) {
	defer r.ops.begin("Erase").end(&err)
	if err := r.cluster.Marks.AwaitCurrent(ctx); err != nil {
		return err
	}
	// Its pieces are unlinked, and no other call would look for them soon.
	defer r.engine.Wake()
	return r.tree.Erase(ctx, who, path, kind)
}

// ListRecycled implements adminapi.RecycleBin.
// The time that is counted includes that of its caller, which gets the entries one by one.
func (r *recycler) ListRecycled(ctx context.Context, who hemera.Identity, q adminapi.RecycleQuery, visit func(adminapi.Recycled) error) (err error) {
	defer r.ops.begin("ListRecycled").end(&err)
	// From the beginning: what a user does not see is read as well.
	return fairshare.List(ctx, r.turns, who, true, func(visit func(adminapi.Recycled) error) error { return r.tree.ListRecycled(ctx, who, q, visit) }, visit)
}

// Restore implements adminapi.RecycleBin. It leaves nothing to remove, so no worker is woken.
func (r *recycler) Restore(ctx context.Context, who hemera.Identity, q adminapi.RestoreRequest) (path string, err error) {
	defer r.ops.begin("Restore").end(&err)
	if err := r.cluster.Marks.AwaitCurrent(ctx); err != nil {
		return "", err
	}
	return r.tree.Restore(ctx, who, q)
}

// Purge implements adminapi.RecycleBin.
func (r *recycler) Purge(ctx context.Context, who hemera.Identity, id hemera.FileID) (err error) {
	defer r.ops.begin("Purge").end(&err)
	if err := r.cluster.Marks.AwaitCurrent(ctx); err != nil {
		return err
	}
	defer r.engine.Wake()
	return r.tree.Purge(ctx, who, id)
}

// RestoreVersion implements adminapi.RecycleBin.
func (r *recycler) RestoreVersion(ctx context.Context, who hemera.Identity, path, version string) (err error) {
	defer r.ops.begin("RestoreVersion").end(&err)
	if err := r.cluster.Marks.AwaitCurrent(ctx); err != nil {
		return err
	}
	return r.tree.RestoreVersion(ctx, who, path, version)
}

// ListBins implements adminapi.RecycleBin.
func (r *recycler) ListBins(ctx context.Context, who hemera.Identity) (list []adminapi.Bin, err error) {
	defer r.ops.begin("ListBins").end(&err)
	return r.tree.ListBins(ctx, who)
}

const (
	// expireTime is the interval at which bins are looked at.
	expireTime = time.Minute
	// expireLimit is about the number of entries that one step purges. A full step is followed by another.
	expireLimit = 1000
)

// expire holds the bounds of bins until the context ends.
func (r *recycler) expire(ctx context.Context) error {
	return every(ctx, expireTime, func() { r.expireAll(ctx) })
}

// expireAll purges all that the rules do not keep any more. An entry that fails is tried again with the next tick.
func (r *recycler) expireAll(ctx context.Context) {
	// A store that may be older than the cluster says nothing about what is old.
	if r.cluster.Marks.Current() != nil {
		return
	}
	// Steps follow each other without a pause, but each is bounded, and changes of clients come between its batches.
	for purged := expireLimit; purged >= expireLimit; {
		var err error
		purged, err = r.tree.Expire(ctx, expireLimit)
		if err != nil {
			if ctx.Err() == nil {
				r.log.Warn("recycle bins were not looked through, will try again", "error", err)
			}
			return
		}
		if purged > 0 {
			r.engine.Wake() // there are pieces to remove
			r.log.Info("purged from recycle bins", "entries", purged)
		}
	}
}
