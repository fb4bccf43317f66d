package admin

import (
	"context"
	"runtime"

	"hemera"
)

// turns has room for as many as may read much of the namespace at the same time. Nil has room for all.
type turns chan struct{}

// newTurns are those of users: however many searches they have, these use half of the processors.
func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)/2)) }

// take waits for a turn. Its error is the context's.
func (t turns) take(ctx context.Context) (over func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// turnsOf are the turns that who waits for; an admin does not.
func (d *door) turnsOf(who hemera.Identity) turns {
	if who.Admin {
		return nil
	}
	return d.users
}
