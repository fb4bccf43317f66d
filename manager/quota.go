package manager

import (
	"context"
	"math"

	"hemera/cluster"
	"hemera/namespace"
	"hemera/namespace/accounts"
	"hemera/rules/layout"
	"hemera/rules/quota"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// quotaAdmin implements adminapi.QuotaAdmin.
type quotaAdmin struct {
	tree    namespace.Parts
	cluster *cluster.Cluster
	pending *pending // whose claims count
	ops     *operations
}

// SetQuota implements adminapi.QuotaAdmin.
func (a *quotaAdmin) SetQuota(ctx context.Context, key hemera.QuotaKey, limits hemera.QuotaAmount) (err error) {
	defer a.ops.begin("SetQuota").end(&err)
	if err := a.cluster.Marks.AwaitCurrent(ctx); err != nil {
		return err
	}
	return a.tree.SetQuota(ctx, hemera.SystemIdentity(), key, limits)
}

// RemoveQuota implements adminapi.QuotaAdmin.
func (a *quotaAdmin) RemoveQuota(ctx context.Context, key hemera.QuotaKey) (err error) {
	defer a.ops.begin("RemoveQuota").end(&err)
	if err := a.cluster.Marks.AwaitCurrent(ctx); err != nil {
		return err
	}
	return a.tree.RemoveQuota(ctx, hemera.SystemIdentity(), key)
}

// Quotas implements adminapi.QuotaAdmin.
func (a *quotaAdmin) Quotas(ctx context.Context, path string) (rows []hemera.QuotaRow, err error) {
	defer a.ops.begin("Quotas").end(&err)
	return a.tree.Quotas(ctx, hemera.SystemIdentity(), path)
}

// Allowance returns the limit that leaves who the fewest bytes for new files below the path, and what is used
// of it, writes under way included, in bytes of content. The limit is 0 where there is none.
func (a *quotaAdmin) Allowance(ctx context.Context, who hemera.Identity, path string) (limit, used int64, err error) {
	defer a.ops.begin("Allowance").end(&err)
	// The path need not exist: the limits are those of the nearest directory above it.
	prep, err := a.tree.PrepareBelow(ctx, who, path)
	if err != nil || len(prep.Quota) == 0 {
		return 0, 0, err
	}
	// The layout says how many bytes on disk one byte of content costs, which limits on physical bytes count.
	policy, err := decide(a.cluster.View(), &prep, &hemera.Capability{Who: who}, hemera.Wish{})
	if err != nil {
		return 0, 0, errs.Wrap(err, "manager.Allowance", path)
	}
	limit, used = quota.Tightest(a.pending.claims.With(prep.Quota), quota.Cost{Data: int64(policy.Layout.Data), Pieces: int64(policy.Layout.Pieces)})
	return limit, used, nil
}

// RoomBelow returns the room for new files of the user below the path, "" for the room of all disks. The free bytes are those of disks that take new
// pieces now, so a disk that is full or read-only counts in Total and not in Free. NotFound and Denied as for an open there.
func (a *quotaAdmin) RoomBelow(ctx context.Context, who hemera.Identity, path string) (hemera.PathRoom, error) {
	// One view for all sums, so that they fit each other.
	view := a.cluster.View()
	var active, writable []hemera.Disk
	largest := int64(0)
	for _, d := range view.Disks {
		if d.Active {
			active = append(active, d)
		}
		if d.Writable() {
			writable = append(writable, d)
			largest = max(largest, d.Free)
		}
	}
	// Room counts a filesystem once, also if several disks are folders of it.
	all := view.Room(active)
	room := hemera.PathRoom{Name: hemera.DefaultSpace, Total: all.Capacity, Used: all.Used,
		Free: view.Room(writable).Free, Disks: int64(len(writable)), LargestFree: largest}
	if path == "" {
		return room, nil
	}
	limit, used, err := a.Allowance(ctx, who, path)
	if err != nil {
		return hemera.PathRoom{}, err
	}
	if limit > 0 {
		// A usage beyond the limit leaves nothing, and not less than nothing.
		left := max(0, limit-used)
		room.Quota, room.Total, room.Used = limit, limit, used
		room.Free, room.LargestFree = min(room.Free, left), min(room.LargestFree, left)
	}
	return room, nil
}

// sizeMax returns the size that quotas let a write reach: the announced one, or the room that the limits leave now,
// claims of writes under way counted, besides what the file has: its commit gives that back. Of physical bytes it is the
// size whose pieces fit, all of them. Zero: no limit holds. It bounds what nodes take; writes at the same time may be
// given the same room, so the commit looks again.
func (o *opener) sizeMax(prep *namespace.Prepared, c *hemera.Capability) int64 {
	if len(prep.Quota) == 0 {
		return 0
	}
	bytes, physical := quota.Left(o.pending.claims.With(prep.Quota))
	// Nothing is limited, or only the number of files.
	if bytes < 0 && physical < 0 {
		return 0
	}
	// The tighter of the two. What the file has is given back by its commit, unless that is kept as a version: then it goes on
	// to count. Pieces that the file lacks are not given back: they take no room yet.
	e, has, most := &prep.Entry, hemera.QuotaAmount{}, int64(hemera.FileSizeMax)
	if !prep.Versioned {
		has.Bytes, has.Physical = e.Size, layout.Used(e.Layout, e.Size, e.Pieces)
	}
	if bytes >= 0 {
		most = min(most, has.Bytes+min(bytes, hemera.FileSizeMax))
	}
	if physical >= 0 {
		most = min(most, layout.SizeWithin(c.Layout, has.Physical+min(physical, math.MaxInt64-has.Physical)))
	}
	return max(1, c.Size, most)
}

// claimFor returns what a write asks of quotas; nil where no limit holds. Without a size in the request the content may
// have any size: then something must be left, and the commit asks again.
func claimFor(prep *namespace.Prepared, since hemera.QuotaAmount, r hemera.OpenRequest, c *hemera.Capability) *accounts.Claim {
	if len(prep.Quota) == 0 {
		return nil
	}
	// Open: the size is not known, so that any room that is left will do.
	want := quota.Want{Open: r.Size == 0}
	e := &prep.Entry
	// A rewrite adds no file, unless what was there stays as a version.
	if !prep.Existing || prep.Versioned {
		want.Files, e = 1, &hemera.Entry{}
	}
	base := hemera.QuotaAmount{Bytes: e.Size, Physical: layout.Used(e.Layout, e.Size, e.Pieces)}
	if r.Size > 0 {
		want.Bytes = c.Size - base.Bytes
		want.Physical = bytesAt(c, c.Size) - base.Physical
	}
	return &accounts.Claim{Standings: prep.Quota, Want: want, Since: since, Base: base}
}

// bytesAt returns how many bytes the pieces at the capability's targets have when the size is written.
func bytesAt(c *hemera.Capability, size int64) (sum int64) {
	for _, t := range c.Targets {
		sum += layout.PieceSize(c.Layout, size, t.Index)
	}
	return sum
}

// claim names the claim of a write; zero if it has none, or if there is no write.
func (w *write) claim() accounts.ClaimID {
	if w == nil || !w.limited {
		return 0
	}
	return accounts.ClaimID(w.nonce)
}

// errOutdated is for a claim that may or may not fit: others committed and gave their claims back
// after its standings were read, which so show neither. They are to be read again.
var errOutdated = errs.New(errs.Overloaded, "manager.Open", "", "usage of the quota changes faster than it can be read").
	WithRemedy("try again")

// claimed turns the answer to a claim into an error: OverQuota, or errOutdated.
func claimed(d quota.Decision, stale bool) error {
	if !d.Allowed {
		return errs.New(errs.OverQuota, "manager.Claim", "quota of "+d.Whose, d.Why).WithRemedy(d.Remedy)
	}
	if stale {
		return errOutdated
	}
	return nil
}
