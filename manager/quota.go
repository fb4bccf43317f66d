package manager

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"hemera/cluster"
	"hemera/namespace"
	"hemera/namespace/accounts"
	"hemera/rules/layout"
	"hemera/rules/quota"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// quotaAdmin implements hemera.QuotaAdmin.
type quotaAdmin struct {
	tree    namespace.Parts
	cluster *cluster.Cluster
	pending *pending // whose claims count
	ops     *operations
}

// SetQuota implements hemera.QuotaAdmin.
func (a *quotaAdmin) SetQuota(ctx context.Context, key hemera.QuotaKey, limits hemera.QuotaAmount) (err error) {
	defer a.ops.begin("SetQuota").end(&err)
	if err := a.cluster.Marks.AwaitCurrent(ctx); err != nil {
		return err
	}
	return a.tree.SetQuota(ctx, hemera.SystemIdentity(), key, limits)
}

// RemoveQuota implements hemera.QuotaAdmin.
func (a *quotaAdmin) RemoveQuota(ctx context.Context, key hemera.QuotaKey) (err error) {
	defer a.ops.begin("RemoveQuota").end(&err)
	if err := a.cluster.Marks.AwaitCurrent(ctx); err != nil {
		return err
	}
	return a.tree.RemoveQuota(ctx, hemera.SystemIdentity(), key)
}

// Quotas implements hemera.QuotaAdmin.
func (a *quotaAdmin) Quotas(ctx context.Context, path string) (rows []hemera.QuotaRow, err error) {
	defer a.ops.begin("Quotas").end(&err)
	return a.tree.Quotas(ctx, hemera.SystemIdentity(), path)
}

// Allowance is the limit that leaves who the fewest bytes for new files below the path, and what is used
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
	limit, used = quota.Tightest(a.pending.claims.with(prep.Quota), quota.Cost{Data: int64(policy.Layout.Data), Pieces: int64(policy.Layout.Pieces)})
	return limit, used, nil
}

// RoomBelow is the room that who has for new files below the path, "" for the room of all disks. The free bytes are those of
// disks that take new pieces now, so a disk that is full or read-only counts in Total and not in Free. NotFound and Denied as
// for an open there.
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

// sizeMax is how large quotas let a write become: what was announced, or what the limits leave now, claims of writes under
// way counted, besides what the file has: its commit gives that back. Of physical bytes it is the size whose pieces fit, all
// of them. Zero: no limit holds. It bounds what nodes take; writes at the same time may be given the same room, so the commit
// looks again.
func (o *opener) sizeMax(prep *namespace.Prepared, c *hemera.Capability) int64 {
	if len(prep.Quota) == 0 {
		return 0
	}
	bytes, physical := quota.Left(o.pending.claims.with(prep.Quota))
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

// claim is what a write may come to use beyond what its file uses now, and whose limits that
// touches. It counts from the open to the commit, so that writes at the same time do not each take
// the same last bytes; it dies with the process like everything pending.
type claim struct {
	standings []quota.Standing   // limits and usage as they were read before the lock of the name was taken
	want      quota.Want         // beyond what the file uses now; negative for a write that makes the file smaller
	since     hemera.QuotaAmount // what claims.returned was before the standings were read
	base      hemera.QuotaAmount // bytes that the file uses now
	// kept is what the write takes that is kept without its client: it may be more than was announced, or less.
	kept    *hemera.QuotaAmount
	settled bool // its write is in the usage, and this claim still held
}

// claimFor is what a write asks of quotas; nil where no limit holds. Without a size in the request
// nobody knows what will come: then something must be left, and the commit asks again.
func claimFor(prep *namespace.Prepared, since hemera.QuotaAmount, r hemera.OpenRequest, c *hemera.Capability) *claim {
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
	return &claim{standings: prep.Quota, want: want, since: since, base: base}
}

// bytesAt returns how many bytes the pieces at the capability's targets have when the size is written.
func bytesAt(c *hemera.Capability, size int64) (sum int64) {
	for _, t := range c.Targets {
		sum += layout.PieceSize(c.Layout, size, t.Index)
	}
	return sum
}

// of is what the write takes with the size.
func (c *claim) of(permit *hemera.Capability, size int64) (a hemera.QuotaAmount) {
	if c == nil {
		return a
	}
	return hemera.QuotaAmount{Files: c.want.Files, Bytes: max(0, size-c.base.Bytes), Physical: max(0, bytesAt(permit, size)-c.base.Physical)}
}

// held is what the claim takes from others meanwhile; a write that gives back does so at its commit.
func (c *claim) held() hemera.QuotaAmount {
	if c.kept != nil {
		return *c.kept
	}
	return c.granted()
}

// granted is what the open promised.
func (c *claim) granted() hemera.QuotaAmount {
	return hemera.QuotaAmount{Files: c.want.Files, Bytes: max(0, c.want.Bytes), Physical: max(0, c.want.Physical)}
}

// claimed is the claim of a write that may not be there.
func (w *write) claimed() *claim {
	if w == nil {
		return nil
	}
	return w.claim
}

// claims are what the writes under way come to, by whose quota they touch. Writes without a claim
// do not meet its lock.
type claims struct {
	mu       sync.Mutex                           // guards held and settled, and the settled flag of each claim
	held     map[quota.Account]hemera.QuotaAmount // of all writes under way; no account in it is zero
	settled  map[quota.Account]hemera.QuotaAmount // the part of held that is in the usage as well
	changing map[quota.Account]hemera.QuotaAmount // of changes that are no writes and may not be visible yet; see hold
	returned returned                             // read without mu, before the standings of an open are
}

// returned is what the claims that were given back came to, of all accounts since the start. It only
// grows, if it does not wrap.
type returned struct{ files, bytes, physical atomic.Int64 }

// load reads the three counters one by one. A claim that is given back meanwhile may be seen in part, which errs on the
// side of trying again.
func (r *returned) load() hemera.QuotaAmount {
	return hemera.QuotaAmount{Files: r.files.Load(), Bytes: r.bytes.Load(), Physical: r.physical.Load()}
}

// add adds what was given back.
func (r *returned) add(a hemera.QuotaAmount) {
	r.files.Add(a.Files)
	r.bytes.Add(a.Bytes)
	r.physical.Add(a.Physical)
}

// errOutdated is for a claim that may or may not fit: others committed and gave their claims back
// after its standings were read, which so show neither. They are to be read again.
var errOutdated = errs.New(errs.Overloaded, "manager.Open", "", "usage of the quota changes faster than it can be read").
	WithRemedy("try again")

// take puts a claim in another's place, unless with those that are there it exceeds a limit: then
// everything stays as it is. Either may be nil. OverQuota, or errOutdated.
func (c *claims) take(fresh, replaced *claim) error {
	if fresh == nil && replaced == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The old claim goes first, so that a client that comes back to its own write is not in its own way.
	c.add(replaced, -1)
	if err := c.fits(fresh); err != nil {
		c.add(replaced, 1)
		return err
	}
	c.add(fresh, 1)
	return nil
}

// fits decides whether a claim has room beside those that are held. OverQuota, errOutdated. mu is held.
func (c *claims) fits(fresh *claim) error {
	if fresh == nil {
		return nil
	}
	standings := c.counted(fresh.standings)
	if d := quota.Decide(standings, fresh.want); !d.Allowed {
		return errs.New(errs.OverQuota, "manager.Claim", "quota of "+d.Whose, d.Why).WithRemedy(d.Remedy)
	}
	// What was given back since the standings were read: if its writes were committed, the standings lack it. Counted on
	// top it is an upper bound, and a claim that fits below that fits in any case.
	unseen := c.returned.load().Add(fresh.since.Negate())
	for i := range standings {
		standings[i].Used = standings[i].Used.Add(unseen)
	}
	if !quota.Decide(standings, fresh.want).Allowed {
		return errOutdated
	}
	return nil
}

// with is what is used when the writes under way count.
func (c *claims) with(standings []quota.Standing) []quota.Standing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counted(standings)
}

// counted is with for who holds the lock.
func (c *claims) counted(standings []quota.Standing) []quota.Standing {
	// The slice is the namespace's answer, which a retry may still use.
	standings = slices.Clone(standings)
	for i, s := range standings {
		standings[i].Used = s.Used.Add(c.held[s.Account]).Add(c.changing[s.Account])
	}
	return standings
}

// settle counts a claim as used from now on: a commit, which reads the usage in its transaction, must not find it in both.
// It returns the standings with all other claims, and what the claim promised. own is nil for a write that found no limits at
// its open: it was promised nothing.
func (c *claims) settle(own *claim, limits []quota.Standing) ([]quota.Standing, *accounts.Promise) {
	c.mu.Lock()
	defer c.mu.Unlock()
	promise := &accounts.Promise{}
	if own != nil {
		promise.Amount = own.granted()
		for _, s := range own.standings {
			promise.Accounts = append(promise.Accounts, s.Account)
		}
	}
	if own != nil && !own.settled {
		// Once: a commit whose answer was lost is sent again.
		own.settled = true
		c.settled = own.addTo(c.settled, 1)
	}
	return c.unsettled(limits), promise
}

// unsettled returns the standings with the claims of writes that are not in the usage. mu is held.
func (c *claims) unsettled(limits []quota.Standing) []quota.Standing {
	limits = slices.Clone(limits)
	for i, s := range limits {
		// A settled claim is counted by its commit, so it must not count as a claim as well. Changes see each other in what is stored.
		limits[i].Used = s.Used.Add(c.held[s.Account]).Add(c.settled[s.Account].Negate())
	}
	return limits
}

// left returns standings for a change that is not the commit of a write: it leaves room for all writes under way.
func (c *claims) left(limits []quota.Standing) ([]quota.Standing, *accounts.Promise) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unsettled(limits), nil
}

// hold counts what a change that is no write takes, until it is visible.
func (c *claims) hold(gains []accounts.Gain) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var most hemera.QuotaAmount
	sums := func(times int64) {
		for _, g := range gains {
			c.changing = addAmount(c.changing, g.Account, g.Amount, times)
		}
	}
	for _, g := range gains {
		most = hemera.QuotaAmount{Files: max(most.Files, g.Amount.Files), Bytes: max(most.Bytes, g.Amount.Bytes), Physical: max(most.Physical, g.Amount.Physical)}
	}
	sums(1)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		sums(-1)
		c.returned.add(most)
	}
}

// keep has a claim hold what its write takes, which is kept without its client. A commit that was refused is not in the usage.
func (c *claims) keep(own *claim, amount hemera.QuotaAmount) {
	if own == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(own, -1)
	own.kept, own.settled = &amount, false
	c.add(own, 1)
}

// begin counts a claim, whether it fits or not.
func (c *claims) begin(fresh *claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(fresh, 1)
}

// release gives a claim back. If its write was committed that shows in standings read from now on.
func (c *claims) release(old *claim) {
	if old == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(old, -1)
	c.returned.add(old.held())
}

// add counts a claim, or takes it out again with times -1. mu is held.
func (c *claims) add(one *claim, times int64) {
	if one == nil {
		return
	}
	c.held = one.addTo(c.held, times)
	if one.settled {
		c.settled = one.addTo(c.settled, times)
	}
}

// addTo adds to each of the claim's accounts what it holds, so many times.
func (c *claim) addTo(sums map[quota.Account]hemera.QuotaAmount, times int64) map[quota.Account]hemera.QuotaAmount {
	h := c.held()
	for _, s := range c.standings {
		sums = addAmount(sums, s.Account, h, times)
	}
	return sums
}

// addAmount adds an amount to the sum of an account, so many times.
func addAmount(sums map[quota.Account]hemera.QuotaAmount, a quota.Account, h hemera.QuotaAmount, times int64) map[quota.Account]hemera.QuotaAmount {
	if sums == nil {
		sums = make(map[quota.Account]hemera.QuotaAmount)
	}
	sum := sums[a].Add(hemera.QuotaAmount{Files: times * h.Files, Bytes: times * h.Bytes, Physical: times * h.Physical})
	if sums[a] = sum; sum == (hemera.QuotaAmount{}) {
		// Accounts without anything under way leave the map, so it is as large as the present load.
		delete(sums, a)
	}
	return sums
}
