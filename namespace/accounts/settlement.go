package accounts

import (
	"math"
	"slices"

	"hemera/rules/quota"
	"hemera/words/hemera"
)

// Settlement says which claim a change turns into usage. The zero value is of a change that commits no write of a user: it leaves room
// for all claims.
type Settlement struct {
	Claim    ClaimID
	Promised bool // the open promised all that the change takes; counts if the claim is not known, as after a restart
}

// Promise is the promise of an open to its write: up to that no quota refuses the commit.
type Promise struct {
	Accounts []quota.Account
	Amount   hemera.QuotaAmount
}

// beyond returns what of an account's gain the promise does not cover. Each amount is covered as a whole or not at all.
func (p *Promise) beyond(a quota.Account, want hemera.QuotaAmount) hemera.QuotaAmount {
	if p == nil || !slices.Contains(p.Accounts, a) {
		return want
	}
	for _, d := range [...]struct {
		want     *int64
		promised int64
	}{{&want.Files, p.Amount.Files}, {&want.Bytes, p.Amount.Bytes}, {&want.Physical, p.Amount.Physical}} {
		if *d.want <= d.promised {
			*d.want = 0
		}
	}
	return want
}

// everything returns the promise of an open that is not known any more.
func everything(limits []quota.Standing) *Promise {
	p := &Promise{Amount: hemera.QuotaAmount{Files: math.MaxInt64, Bytes: math.MaxInt64, Physical: math.MaxInt64}}
	for _, s := range limits {
		p.Accounts = append(p.Accounts, s.Account)
	}
	return p
}

// settle counts the claim as used from now on: a commit, which reads the usage in its transaction, must not find it in both. It returns
// the standings with all other claims, and what the claim promised; nil is a promise of nothing.
func (c *Claims) settle(s Settlement, limits []quota.Standing) ([]quota.Standing, *Promise) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.claims[s.Claim]
	switch {
	case own == nil && s.Promised:
		return c.unsettled(limits), everything(limits)
	case own == nil:
		return c.unsettled(limits), nil
	}
	if !own.settled {
		// Once: a commit whose answer was lost is sent again.
		own.settled = true
		own.addTo(c.settled, 1)
	}
	return c.unsettled(limits), own.promise()
}

// unsettled returns the standings with the claims of writes that are not in the usage. mu is held.
func (c *Claims) unsettled(limits []quota.Standing) []quota.Standing {
	limits = slices.Clone(limits)
	for i, s := range limits {
		// A settled claim is counted by its commit, so it must not count as a claim as well. Changes see each other in what is stored.
		limits[i].Used = s.Used.Add(c.held[s.Account]).Add(c.settled[s.Account].Negate())
	}
	return limits
}

// Gain is the growth that a change under judgement brings to an account, if any.
type Gain struct {
	quota.Account
	Amount hemera.QuotaAmount
}

// Holding is the room that a change that commits no write takes of limits, until it is visible: else a write that was opened from the usage of
// before would be promised the same room. The zero value holds nothing.
type Holding struct {
	claims *Claims
	gains  []Gain
}

// hold counts the gains until the holding ends.
func (c *Claims) hold(gains []Gain) Holding {
	if len(gains) == 0 {
		return Holding{}
	}
	h := Holding{c, gains}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changing == nil {
		c.changing = sums{}
	}
	h.count(1)
	return h
}

// count adds the gains, times 1 or -1. The claims' mu is held.
func (h *Holding) count(times int64) {
	for _, g := range h.gains {
		h.claims.changing.add(g.Account, g.Amount, times)
	}
}

// End ends it: the change is visible, or has failed. Later calls do nothing.
func (h *Holding) End() {
	c := h.claims
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h.count(-1)
	var most hemera.QuotaAmount
	for _, g := range h.gains {
		most = hemera.QuotaAmount{Files: max(most.Files, g.Amount.Files), Bytes: max(most.Bytes, g.Amount.Bytes), Physical: max(most.Physical, g.Amount.Physical)}
	}
	c.returned.add(most)
	*h = Holding{}
}
