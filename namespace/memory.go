package namespace

import (
	"cmp"
	"sync/atomic"

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
func (r *spaceRules) rule(space hemera.SpaceName) string {
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
