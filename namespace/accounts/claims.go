package accounts

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera/rules/quota"
	"hemera/words/hemera"
)

// A write claims room at its open and uses it at its commit, which may be hours later. In between, opens and changes count what is
// claimed beside what is used, so that writes at the same time do not each get the same last bytes. Claims are in memory only: they end
// with the process, as the locks of the writes do.

// ClaimID names the claim of one write: it is the nonce of the write's capability. Zero names none.
type ClaimID uint64

// Claim is the room that a write asks limits for. [Claims] owns it as soon as it is taken.
type Claim struct {
	Standings []quota.Standing   // limits and usage, as they were read before the lock of the name was acquired
	Want      quota.Want         // beyond what the file uses now; negative for a write that makes the file smaller
	Since     hemera.QuotaAmount // what [Claims.Returned] was before the standings were read
	Base      hemera.QuotaAmount // bytes that the file uses now
	// Unpromised has the commit of the write judged in full: no open has found that the claim fits, or its room may be
	// promised to others since.
	Unpromised bool

	kept    *hemera.QuotaAmount // what the write takes, if it is kept without its client: more than was announced, or less
	settled bool                // its write is in the usage, and the claim still held
}

// Taking returns what the write takes beyond what the file uses, with a content of the bytes whose pieces have the physical bytes.
func (c *Claim) Taking(bytes, physical int64) hemera.QuotaAmount {
	return hemera.QuotaAmount{Files: c.Want.Files, Bytes: max(0, bytes-c.Base.Bytes), Physical: max(0, physical-c.Base.Physical)}
}

// held returns the room that the claim takes from others meanwhile; a write that makes its file smaller gives room back at its commit.
func (c *Claim) held() hemera.QuotaAmount {
	if c.kept != nil {
		return *c.kept
	}
	return c.granted()
}

// granted returns the amount that the open promised.
func (c *Claim) granted() hemera.QuotaAmount {
	return hemera.QuotaAmount{Files: c.Want.Files, Bytes: max(0, c.Want.Bytes), Physical: max(0, c.Want.Physical)}
}

// promise returns the amount that the open promised, and the accounts; nil is a promise of nothing.
func (c *Claim) promise() *Promise {
	if c.Unpromised {
		return nil
	}
	p := &Promise{Amount: c.granted()}
	for _, s := range c.Standings {
		p.Accounts = append(p.Accounts, s.Account)
	}
	return p
}

// addTo adds what the claim holds to the sum of each of its accounts, times 1 or -1.
func (c *Claim) addTo(s sums, times int64) {
	h := c.held()
	for _, of := range c.Standings {
		s.add(of.Account, h, times)
	}
}

// Claims has the room that writes under way, kept writes and changes that are not visible yet take of limits. Opens add to it, and
// [Ledger.Decide] reads it within changes, so no call waits for anything but the lock. A write without limits is not in it. The
// zero value is empty. Its methods may be called from any goroutine.
//
// The table has at most one claim for each write under way, which the manager bounds, and KeptMax of kept writes.
type Claims struct {
	mu       sync.Mutex            // guards all but the counters; no other lock is acquired while it is held
	claims   map[ClaimID]*Claim    // of writes under way, and of kept ones
	kept     map[ClaimID]time.Time // when the claims of kept writes end
	held     sums                  // of all claims
	settled  sums                  // the part of held that is in the usage as well
	changing sums                  // of changes that commit no write, and may not be visible yet; see hold
	keeps    atomic.Int64          // the size of kept; read without mu
	returned returned              // read without mu, before the standings of an open are
}

// returned is the sum of the claims that were given back, of all accounts since the start. It only grows, if it does not wrap.
type returned struct{ files, bytes, physical atomic.Int64 }

// Returned returns the sum of what was given back. It reads three counters one by one. A claim that is given back meanwhile may be
// seen in part: then a claim may be called stale that fits.
func (c *Claims) Returned() hemera.QuotaAmount {
	r := &c.returned
	return hemera.QuotaAmount{Files: r.files.Load(), Bytes: r.bytes.Load(), Physical: r.physical.Load()}
}

// add adds what was given back.
func (r *returned) add(a hemera.QuotaAmount) {
	r.files.Add(a.Files)
	r.bytes.Add(a.Bytes)
	r.physical.Add(a.Physical)
}

// sums are amounts by account. No sum is zero, so they are as many as the present load needs.
type sums map[quota.Account]hemera.QuotaAmount

// add adds an amount to the sum of an account, times 1 or -1.
func (s sums) add(a quota.Account, h hemera.QuotaAmount, times int64) {
	sum := s[a].Add(hemera.QuotaAmount{Files: times * h.Files, Bytes: times * h.Bytes, Physical: times * h.Physical})
	if sum == (hemera.QuotaAmount{}) {
		delete(s, a)
		return
	}
	s[a] = sum
}

// Take puts the claim fresh, which may be nil, in the place of the one that replaced names, if there is one. Nothing changes if fresh
// exceeds a limit beside the claims that are there: then the decision says so. Nothing changes either if others gave claims back after
// the standings of fresh were read, and it may not fit because of them: then stale is true, and the caller reads the standings again.
func (c *Claims) Take(id ClaimID, fresh *Claim, replaced ClaimID) (d quota.Decision, stale bool) {
	if fresh == nil && replaced == 0 {
		return quota.Decision{Allowed: true}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The old claim goes first, so that a client that comes back to its own write is not in its own way.
	old := c.remove(replaced)
	d, stale = c.fits(fresh)
	if !d.Allowed || stale {
		c.put(replaced, old)
		return d, stale
	}
	c.put(id, fresh)
	// The write of the old claim may be in the usage by now, and not in the standings of others that read them before.
	if old != nil {
		c.returned.add(old.held())
	}
	return d, stale
}

// Hold puts a claim that was taken in an earlier life of the table back, whether it fits or not: it was promised then. A claim that is
// there stays as it is.
func (c *Claims) Hold(id ClaimID, promised *Claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claims[id] == nil {
		c.put(id, promised)
	}
}

// fits decides whether a claim has room beside those that are held. mu is held.
func (c *Claims) fits(fresh *Claim) (d quota.Decision, stale bool) {
	if fresh == nil {
		return quota.Decision{Allowed: true}, false
	}
	standings := c.counted(fresh.Standings)
	if d = quota.Decide(standings, fresh.Want); !d.Allowed {
		return d, false
	}
	// What was given back since the standings were read: if its writes were committed, the standings lack it. Counted on
	// top it is an upper bound, and a claim that fits below that fits in any case.
	unseen := c.Returned().Add(fresh.Since.Negate())
	for i := range standings {
		standings[i].Used = standings[i].Used.Add(unseen)
	}
	return d, !quota.Decide(standings, fresh.Want).Allowed
}

// Release gives a claim back, if there is one. If its write was committed that shows in standings read from now on.
func (c *Claims) Release(id ClaimID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release(id)
}

// release does what Release does, with mu held.
func (c *Claims) release(id ClaimID) {
	old := c.remove(id)
	if old == nil {
		return
	}
	if old.kept != nil {
		delete(c.kept, id)
		c.keeps.Store(int64(len(c.kept)))
	}
	if len(old.Standings) > 0 {
		c.returned.add(old.held())
	}
}

// put counts a claim, which may be nil. mu is held.
func (c *Claims) put(id ClaimID, one *Claim) {
	if one == nil {
		return
	}
	if c.claims == nil {
		c.claims, c.held, c.settled = map[ClaimID]*Claim{}, sums{}, sums{}
	}
	c.claims[id] = one
	one.addTo(c.held, 1)
	if one.settled {
		one.addTo(c.settled, 1)
	}
}

// remove takes a claim out of the sums, and returns it; nil if there is none. mu is held.
func (c *Claims) remove(id ClaimID) *Claim {
	one := c.claims[id]
	if one == nil {
		return nil
	}
	delete(c.claims, id)
	one.addTo(c.held, -1)
	if one.settled {
		one.addTo(c.settled, -1)
	}
	return one
}

// With returns the standings as they are when claims and changes under way count.
func (c *Claims) With(standings []quota.Standing) []quota.Standing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counted(standings)
}

// counted does what With does, with mu held.
func (c *Claims) counted(standings []quota.Standing) []quota.Standing {
	// The slice is the namespace's answer, which a retry may still use.
	standings = slices.Clone(standings)
	for i, s := range standings {
		standings[i].Used = s.Used.Add(c.held[s.Account]).Add(c.changing[s.Account])
	}
	return standings
}
