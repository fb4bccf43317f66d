package accounts

import "time"

// A kept write has no client any more, and may be committed when a person says so. Its claim stays, so that its user does not have the
// room of the kept bytes beside all of its quota.

// KeptMax bounds the claims of kept writes: what 32 nodes keep. Those beyond it count when they are committed.
const KeptMax = 1 << 14

// Keep has the claim of a write under way, or of a kept one, hold what a content of the bytes takes, until the time at the latest. It
// reports whether there is such a claim. If too many are kept, the claim is given back.
func (c *Claims) Keep(id ClaimID, bytes, physical int64, until time.Time) (known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.claims[id]
	switch {
	case one == nil:
		return false
	case one.kept == nil && len(c.kept) >= KeptMax:
		c.release(id)
		return true
	}
	c.remove(id)
	// A commit that was refused is not in the usage.
	one.settled = false
	c.putKept(id, one, bytes, physical, until)
	return true
}

// KeepNew holds a claim for a kept write that has none, whether it fits or not; one without standings holds nothing, and promises
// nothing to the commit. It reports whether there is room for one more. A claim that is there stays as it is.
func (c *Claims) KeepNew(id ClaimID, fresh *Claim, bytes, physical int64, until time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claims[id] != nil {
		return true
	}
	if len(c.kept) >= KeptMax {
		return false
	}
	c.putKept(id, fresh, bytes, physical, until)
	return true
}

// putKept counts a claim as that of a kept write. mu is held.
func (c *Claims) putKept(id ClaimID, one *Claim, bytes, physical int64, until time.Time) {
	amount := one.Taking(bytes, physical)
	one.kept = &amount
	c.put(id, one)
	if c.kept == nil {
		c.kept = map[ClaimID]time.Time{}
	}
	c.kept[id] = until
	c.keeps.Store(int64(len(c.kept)))
}

// ReleaseKept gives the claim of a kept write back, if there is one.
func (c *Claims) ReleaseKept(id ClaimID) {
	// Most clusters keep none, and this is called for each write that ends.
	if c.keeps.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.kept[id]; ok {
		c.release(id)
	}
}

// ExpireKept gives the claims of kept writes back whose time is over.
func (c *Claims) ExpireKept(now time.Time) {
	if c.keeps.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, until := range c.kept {
		if now.After(until) {
			c.release(id)
		}
	}
}
