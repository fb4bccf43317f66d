package node

import (
	"hash/fnv"
	"math/rand/v2"
	"time"

	"hemera/words/hemera"
)

// Pauses between attempts to register.
const (
	// rejoinSpread is the time over which the nodes of a cluster spread their first attempts after they have lost a lease, most often all at once:
	// the manager is being started again.
	rejoinSpread = 100 * time.Millisecond
	// rejoinMin and rejoinMax bound the pause after an attempt in vain, which doubles each time.
	rejoinMin = 100 * time.Millisecond
	rejoinMax = 2 * time.Second
	// rejoinLease is the shortest time of a lease after whose loss a node tries at once. A manager that takes a registration and breaks off gets the
	// next one after a pause.
	rejoinLease = hemera.HeartbeatInterval
)

// rejoin decides when a node that has no lease tries to register. All pauses have a part that differs between nodes, so that they do not come at the
// same moment again and again. It is not safe for concurrent use.
type rejoin struct {
	dice   *rand.Rand
	failed int // attempts in vain, or that led to a short lease, in a row
}

// newRejoin returns the decision of the node at an address, as after a long lease. The address alone seeds the dice: a simulation can be repeated.
func newRejoin(addr string) rejoin {
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(addr)) // never fails
	return rejoin{dice: rand.New(rand.NewPCG(seed.Sum64(), 0))}
}

// upTo returns a time from 0 to most.
func (r *rejoin) upTo(most time.Duration) time.Duration {
	return time.Duration(r.dice.Int64N(int64(most)))
}

// after returns the pause before the next attempt. lasted is the time that the lease lasted; zero if there was none.
func (r *rejoin) after(lasted time.Duration) time.Duration {
	if lasted >= rejoinLease {
		r.failed = 0
		return r.upTo(rejoinSpread)
	}
	pause := min(rejoinMin<<min(r.failed, 10), rejoinMax)
	r.failed++
	return pause/2 + r.upTo(pause/2)
}
