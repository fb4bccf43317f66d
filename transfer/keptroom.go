package transfer

import (
	"slices"

	"hemera/words/hemera"
)

// Bounds of the writes that a node keeps for a person, of one user and in all.
const (
	keptUserMax  = 64
	keptMax      = 512
	keptUserSize = 32 << 30
	keptSize     = 256 << 30
)

// keptRoom is the room that one kept write counts for.
type keptRoom struct {
	user  hemera.Account
	bytes int64
	stays bool // what was promised does not make way, and counts for nothing
}

// overKept returns which of the kept writes, which are sorted with the oldest first, are to be removed so that all bounds hold.
func overKept(kept []keptRoom) (remove []int) {
	type sum struct {
		count int
		bytes int64
	}
	all, ofUser := sum{}, map[hemera.Account]sum{}
	// From the newest on, everything stays that fits.
	for i, k := range slices.Backward(kept) {
		if k.stays {
			continue
		}
		user := ofUser[k.user]
		user, total := sum{user.count + 1, user.bytes + k.bytes}, sum{all.count + 1, all.bytes + k.bytes}
		if user.count > keptUserMax || user.bytes > keptUserSize || total.count > keptMax || total.bytes > keptSize {
			remove = append(remove, i)
			continue
		}
		ofUser[k.user], all = user, total
	}
	return remove
}
