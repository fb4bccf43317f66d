package manager

import (
	"sync/atomic"
	"time"

	"hemera/words/hemera"
)

// nonces are the numbers that this life of the manager gives to capabilities; also the seeds of random choices. A capability that is signed again,
// or for other disks, keeps its number.
type nonces struct {
	before uint64        // the first one comes after it
	last   atomic.Uint64 // that was given
}

// newNonces returns numbers that no earlier life has given.
func newNonces(now time.Time) *nonces {
	// From the clock and not from 1: a capability of the process before this one can still be committed, and must not
	// name a write of this process.
	n := &nonces{before: uint64(now.UnixNano())}
	n.last.Store(n.before)
	return n
}

// next gives a number.
func (n *nonces) next() uint64 { return n.last.Add(1) }

// gave reports whether this life gave the number.
func (n *nonces) gave(nonce uint64) bool { return n.before < nonce && nonce <= n.last.Load() }

// promised returns the size up to which no quota refuses a commit whose claim is not known; -1 if nothing is promised.
func (n *nonces) promised(c *hemera.Capability) int64 {
	// The room of a conversion was not claimed, so it is counted with all others. A write of this life has its claim, never
	// had one, or has lost it to another write: then the room is promised to others.
	if c.Convert || n.gave(c.Nonce) {
		return -1
	}
	// The claims of an earlier life are forgotten: the capability says what was promised.
	return c.Size
}
