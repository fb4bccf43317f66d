package poll

import (
	"math"
	"os"
	"sync/atomic"
	"time"
)

// gate is the state of one direction of a socket: whether it may have become ready since the last try, and who waits for
// that. One goroutine at a time waits or parks. Pollers, Close and SetDeadline signal it, from any goroutine.
type gate struct {
	state    atomic.Uint32 // one of the states below
	deadline atomic.Int64  // in Unix nanoseconds; 0 for none
	wake     chan struct{} // has one slot: only the goroutine that moved the state from waiting sends, so the send never blocks
	timer    *time.Timer   // the waiter's; nil before the first deadline, then reused
}

// States of a gate.
const (
	quiet   = iota // nothing since the last try
	ready          // try again
	waiting        // a goroutine waits on wake
	parked         // no goroutine waits: the caller of the next signal has to continue
)

// signal records a change, and wakes a waiter. It returns the state before. If that was parked, the caller owns the
// connection and has to resume it; the swap gives this state to one caller only. signal does not block.
func (g *gate) signal() uint32 {
	old := g.state.Swap(ready)
	if old == waiting {
		g.wake <- struct{}{}
	}
	return old
}

// take clears ready, and reports whether it was set. The caller must call it before the next try, so that an event during
// the try is not lost.
func (g *gate) take() bool { return g.state.CompareAndSwap(ready, quiet) }

// forever is the result of left without a deadline.
const forever = time.Duration(math.MaxInt64)

// left returns the time until the deadline, and whether the deadline is in the future. It uses the wall clock: if that is
// set back, a deadline may be late by as much.
func (g *gate) left() (time.Duration, bool) {
	at := g.deadline.Load()
	if at == 0 {
		return forever, true
	}
	left := time.Until(time.Unix(0, at))
	return left, left > 0
}

// wait blocks until the gate is signalled, or fails with os.ErrDeadlineExceeded once the deadline has passed. A signal
// from before the call counts. It may return without a signal, after SetDeadline; the caller tries again.
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
		<-g.wake // a signal came at the same moment: its message must not stay for the next wait
	}
	g.take()
	return nil
}

// setDeadline sets the deadline; the zero time removes it. It wakes a waiter, which then uses the new deadline.
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
