package manager

import (
	"sync/atomic"
	"time"
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
