package read

import "sync"

// callCount counts the calls that use a thing, for the one that ends it. The zero value is ready.
type callCount struct {
	mu    sync.Mutex
	calls int
	ended bool
	idle  chan struct{} // made by Stop if calls are in progress; closed by the last of them
}

// Begin reports whether the thing can be used. If so, Done must follow.
func (c *callCount) Begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.calls++
	}
	return !c.ended
}

// Done ends a use.
func (c *callCount) Done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls--
	if c.calls == 0 && c.idle != nil {
		close(c.idle)
	}
}

// Stop refuses new uses. It reports whether it is the first.
func (c *callCount) Stop() bool {
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
func (c *callCount) Wait() {
	c.mu.Lock()
	idle := c.idle
	c.mu.Unlock()
	if idle != nil {
		<-idle
	}
}
