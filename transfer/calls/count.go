// Package calls counts the calls that use a thing, for the one call that ends it: what is open stays open until the last of them
// has returned.
package calls

import "sync"

// Count counts the calls that use a thing, for the one that ends it. The zero value is ready.
type Count struct {
	mu    sync.Mutex
	calls int
	ended bool
	idle  chan struct{} // made by Stop if calls are in progress; closed by the last of them
}

// Begin reports whether the thing can be used. If so, Done must follow.
func (c *Count) Begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.calls++
	}
	return !c.ended
}

// Done ends a use.
func (c *Count) Done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls--
	if c.calls == 0 && c.idle != nil {
		close(c.idle)
	}
}

// Stop refuses new uses. It reports whether it is the first.
func (c *Count) Stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.ended
	c.ended = true
	if first && c.calls > 0 {
		c.idle = make(chan struct{})
	}
	return first
}

// Wait blocks until the uses in progress have ended. Stop comes before it.
func (c *Count) Wait() {
	c.mu.Lock()
	idle := c.idle
	c.mu.Unlock()
	if idle != nil {
		<-idle
	}
}
