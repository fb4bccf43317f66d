package poll

import (
	"math"
	"os"
	"sync/atomic"
	"time"
)

// gate is one direction of a socket: whether it may have become ready since somebody last tried, and
// who waits for that. One goroutine at a time waits.
type gate struct {
	state    atomic.Uint32
	deadline atomic.Int64  // in Unix nanoseconds; 0 for none
	wake     chan struct{} // has room for one token, sent to a waiter only
	timer    *time.Timer   // the waiter's; made once
}

// States of a gate.
const (
	quiet   = iota // nothing since the last try
	ready          // try again
	waiting        // a goroutine waits on wake
	parked         // nobody waits: the next signal's caller has to go on
)

// signal tells that something changed. It returns what the gate was; after parked the caller has the
// connection.
func (g *gate) signal() uint32 {
	old := g.state.Swap(ready)
	if old == waiting {
		g.wake <- struct{}{}
	}
	return old
}

// take clears ready, and reports whether it was set.
func (g *gate) take() bool { return g.state.CompareAndSwap(ready, quiet) }

// forever stands for no deadline.
const forever = time.Duration(math.MaxInt64)

// left is the time until the deadline, and whether it is still to come.
func (g *gate) left() (time.Duration, bool) {
	at := g.deadline.Load()
	if at == 0 {
		return forever, true
	}
	left := time.Until(time.Unix(0, at))
	return left, left > 0
}

// wait returns when the gate was signalled, or the deadline passed.
func (g *gate) wait() error {
	var late <-chan time.Time
	left, ok := g.left()
	if !ok {
		return os.ErrDeadlineExceeded
	}
	if left < forever {
		if g.timer == nil {
			g.timer = time.NewTimer(left)
		} else {
			g.timer.Reset(left)
		}
		defer g.timer.Stop()
		late = g.timer.C
	}
	// An event came since the last try: there is no need to wait.
	if !g.state.CompareAndSwap(quiet, waiting) {
		g.take()
		return nil
	}
	select {
	case <-g.wake:
	case <-late:
		if g.state.CompareAndSwap(waiting, quiet) {
			return os.ErrDeadlineExceeded
		}
		<-g.wake
	}
	g.take()
	return nil
}

// setDeadline also has who waits now look at it.
func (g *gate) setDeadline(t time.Time) {
	at := int64(0)
	if !t.IsZero() {
		at = t.UnixNano()
	}
	g.deadline.Store(at)
	if g.state.CompareAndSwap(waiting, ready) {
		g.wake <- struct{}{}
	}
}
