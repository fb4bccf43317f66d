package quota

import (
	"slices"

	"hemera/words/hemera"
)

// Bounds reports whether a limit applies to the files of the user. Limits of projects apply to all users, and a default
// limit to each user or group without a limit of its own.
func Bounds(limit hemera.QuotaKey, who hemera.Identity) bool {
	switch limit.Kind {
	case hemera.QuotaUser:
		return limit.ID == who.UID || limit.ID == hemera.QuotaDefault
	case hemera.QuotaGroup:
		return limit.ID == who.GID || limit.ID == hemera.QuotaDefault || slices.Contains(who.Groups, limit.ID)
	}
	return true
}
