package lifecycle

import (
	"time"

	"hemera/words/hemera"
)

// Tree is a directory with lifecycle rules of its own.
type Tree struct {
	Dir hemera.FileID
	// Since is since when accesses to files below it are noted; zero while its rules do not ask for them.
	Since time.Time
	// Scanned is the time at which the files below it were looked through last; zero before the first time, and after a change of the rules.
	Scanned time.Time
	// Changed is the time at which its rules were set last; zero where that is not known.
	Changed time.Time `json:",omitzero"`
	// By is the user that it is charged to, or the admins.
	By hemera.Setter `json:",omitzero"`
}
