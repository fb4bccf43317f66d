package adminapi

import (
	"time"

	"hemera/words/hemera"
)

// TokenInfo describes a join token.
type TokenInfo struct {
	ID            string
	Made, Expires time.Time
	Left          int // how many more nodes it admits
	From          []string
	Used          []TokenUse
}

// TokenUse is a node that a token admitted.
type TokenUse struct {
	Node hemera.NodeID
	From string // the address it came from
	At   time.Time
}
