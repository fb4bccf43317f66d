package namespace

import (
	"cmp"
	"sync/atomic"

	"hemera/namespace/accounts"
	"hemera/rules/recycle"
	"hemera/tape/catalogue"
)

// memory is what transactions look at beside records. One part owns each field and changes it; all guard themselves.
type memory struct {
	holds  *holds               // of Pieces
	ended  *endedWrites         // of Writes
	spaces *spaceRules          // of Bins
	tapes  *catalogue.Catalogue // its rules
}

// spaceRules are the rules of spaces for what is removed. [Bins] sets them; changes read them.
type spaceRules struct {
	of atomic.Pointer[func(space string) string] // nil: spaces have none
}

// use replaces the rules.
func (r *spaceRules) use(of func(space string) string) { r.of.Store(&of) }

// rule returns the rule of a space, off if it has none.
func (r *spaceRules) rule(space string) string {
	if of := r.of.Load(); of != nil {
		return cmp.Or((*of)(space), recycle.Off)
	}
	return recycle.Off
}

// claims are what writes under way have claimed of limits. [QuotaAdmin] sets them; changes read them.
type claims struct {
	inUse atomic.Pointer[claimsInUse] // nil: no write under way claims anything
}

// claimsInUse is how changes and writes under way count each other.
type claimsInUse struct {
	claims accounts.Claims
	hold   accounts.Hold
}

// use replaces both ways.
func (c *claims) use(of accounts.Claims, hold accounts.Hold) { c.inUse.Store(&claimsInUse{of, hold}) }

// of returns what the change has to leave to writes under way, and what has opens count the change meanwhile.
func (c *claims) of(w *changeWork) (claims accounts.Claims, hold accounts.Hold) {
	if use := c.inUse.Load(); use != nil {
		claims, hold = use.claims, use.hold
	}
	if w.settle != nil {
		claims = w.settle
		// The claim of a write counts already.
		if !w.unclaimed {
			hold = nil
		}
	}
	return claims, hold
}
