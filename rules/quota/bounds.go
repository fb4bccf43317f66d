package quota

import (
	"slices"

	"hemera/words/hemera"
)

// Bounds reports whether a limit is about the files of who. Limits of projects are for all users, and a default limit applies to
// each user or group without a limit of its own.
func Bounds(limit hemera.QuotaKey, who hemera.Identity) bool {
	switch limit.Kind {
	case hemera.QuotaUser:
		return limit.ID == who.UID || limit.ID == hemera.QuotaDefault
	case hemera.QuotaGroup:
		return limit.ID == who.GID || limit.ID == hemera.QuotaDefault || slices.Contains(who.Groups, limit.ID)
	}
	return true
}
