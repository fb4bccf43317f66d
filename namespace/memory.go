package namespace

import (
	"cmp"
	"sync/atomic"

	"hemera/namespace/accounts"
	"hemera/rules/recycle"
	"hemera/tape/catalogue"
	"hemera/words/hemera"
)

// memory has the state in memory that transactions read beside records. One part owns each field and changes it; all
// guard themselves.
type memory struct {
	diskSet atomic.Uint64        // version of the set of disks, from 0; changed in transactions only
	holds   *holds               // of Pieces
	ended   *endedWrites         // of Writes
	spaces  *spaceRules          // of Bins
	tapes   *catalogue.Catalogue // its rules
}

// spaceRules are the rules of spaces for what is removed. [Bins] sets where they are; changes read them.
type spaceRules struct {
	views atomic.Pointer[hemera.Views] // nil: spaces have none
}

// rule returns the rule of a space, off if it has none. A space that was removed has none, and its bin goes on under the last one.
func (r *spaceRules) rule(space string) string {
	views := r.views.Load()
	if views == nil {
		return recycle.Off
	}
	v := views.Newest()
	if v == nil {
		return recycle.Off
	}
	is, _ := v.Space(space)
	return cmp.Or(is.Recycle, recycle.Off)
}

// claims returns the claims of writes under way. [QuotaAdmin] sets them; changes read them.
type claims struct {
	inUse atomic.Pointer[claimsInUse] // nil: no write under way claims anything
}

// claimsInUse has the functions by which changes and writes under way count each other.
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
