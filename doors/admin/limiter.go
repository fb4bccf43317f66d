package admin

import (
	"context"
	"runtime"

	"hemera"
)

// limiter bounds the number of callers that read much of the namespace at the same time. A nil limiter has no bound.
// A buffered channel is the semaphore: its capacity is the bound, and a waiting caller can leave when its context
// ends.
type limiter chan struct{}

// newLimiter makes the limiter that all users share: the searches of users take at most half of the processors.
// At least one may run, also on a machine with one processor.
func newLimiter() limiter { return make(limiter, max(1, runtime.GOMAXPROCS(0)/2)) }

// acquire blocks until there is room, and returns the function that frees it. Its error is the context's.
// The caller calls release once. Callers are served in the order in which they came, as the runtime queues senders.
func (l limiter) acquire(ctx context.Context) (release func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	select {
	// A free slot in the channel is a place to read.
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// limiterOf is the limiter of a caller. An admin has none.
func (d *door) limiterOf(who hemera.Identity) limiter {
	if who.Admin {
		return nil
	}
	return d.users
}
