package xrootd

import (
	"errors"
	"time"

	"hemera/rules/wire"
)

// watch ends silent sessions, pings quiet ones, and closes unused ones. It runs in a goroutine of its own.
func (c *Conn) watch() {
	// A quarter of the shortest time: each action is late by at most that.
	tick := time.NewTicker(min(c.opts.Stall, c.opts.Ping, c.opts.Idle) / 4)
	defer tick.Stop()
	for {
		select {
		case <-c.down:
			return
		case now := <-tick.C:
			c.check(now)
		}
	}
}

// watchAction is an action on a session; one at a time, the most urgent first.
type watchAction int

const (
	watchNothing watchAction = iota
	watchPing                // it is used and quiet
	watchStalled             // a request has waited too long in silence
	watchIdle                // it has been unused for long
)

// check carries out nextAction. It must not block, because it has to notice blocked sends.
func (c *Conn) check(now time.Time) {
	switch c.nextAction(now) {
	case watchStalled:
		c.fail(errors.New("the server has not answered in time"))
	case watchIdle:
		c.fail(errors.New("closed because it was not used"))
	case watchPing:
		k := &call{finish: func(*call) {}}
		select {
		case slot := <-c.free: // send must not wait for a slot here; a full session is not quiet
			c.free <- slot
		default:
			return
		}
		if c.send(noContext, k, wire.Ping{}) == nil {
			c.contained(c.flush) // it may block, and this goroutine must not
		}
	}
}

// nextAction returns the action for the session at a time.
func (c *Conn) nextAction(now time.Time) watchAction {
	heard := time.Unix(0, c.heard.Load())
	c.mu.Lock()
	defer c.mu.Unlock()
	inFlight := 0 // including abandoned calls, whose answers are still expected
	for _, k := range c.calls {
		if k == nil {
			continue
		}
		inFlight++
		// Any byte of the session counts: a server that answers others will come to this one.
		from := latest(k.since, heard, k.late)
		if now.Sub(from) > k.silenceMax {
			return watchStalled
		}
	}
	switch quiet := now.Sub(heard); {
	case inFlight > 0: // the answer will show whether it is alive
		return watchNothing
	case c.users.Load() == 0 && quiet > c.opts.Idle:
		return watchIdle
	case c.users.Load() > 0 && quiet > c.opts.Ping:
		return watchPing
	}
	return watchNothing
}

// unused reports whether the session has no open file and no request in flight, so that it can end.
func (c *Conn) unused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.calls {
		if k != nil {
			return false
		}
	}
	return c.users.Load() == 0
}

// latest returns the last of some times.
func latest(times ...time.Time) time.Time {
	out := times[0]
	for _, t := range times[1:] {
		if t.After(out) {
			out = t
		}
	}
	return out
}
