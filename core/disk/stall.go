package disk

import (
	"sync"
	"time"
)

const (
	// lookPatience is how long a look may take before the disk counts as stalled.
	lookPatience = 2 * time.Second
	// silence is how long calls may wait without one returning before the disk counts as stalled.
	silence = 30 * time.Second
)

// silentSince is when the device last answered, if calls wait for it and have for longer than
// silence; else zero.
func (c *condition) silentSince() time.Time {
	if c.gauge.idle() {
		return time.Time{}
	}
	last := time.Unix(0, c.gauge.moved.Load())
	if time.Since(last) < silence {
		return time.Time{}
	}
	return last
}

// Hangs reports whether calls to the disk do not return, as far as is known.
func (d *Disk) Hangs() bool {
	return d.condition.stalls.Load() > 0 || !d.condition.silentSince().IsZero()
}

// Stalled notes that a call to the disk should have returned long ago: until over is called the disk
// is failing, and no piece is made on it.
func (d *Disk) Stalled() (over func()) { return d.condition.stalled() }

func (c *condition) stalled() (over func()) {
	c.log.Error("disk does not answer", "disk", c.tree.path)
	c.stalls.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health = c.health.stall(c.clock())
	return sync.OnceFunc(func() {
		c.log.Warn("disk answers again", "disk", c.tree.path)
		c.stalls.Add(-1)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.health = c.health.resume()
	})
}

// look observes the disk, no longer than lookPatience. A caller that comes while one look runs on has the picture
// before.
func (c *condition) look() {
	if !c.looking.CompareAndSwap(false, true) {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.observe()
		c.looking.Store(false)
	}()
	t := time.NewTimer(lookPatience)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		over := c.stalled()
		go func() {
			<-done
			over()
		}()
	}
}

// Look is Status, but waits for the device as long as it takes.
func (d *Disk) Look() Status {
	d.condition.observe()
	return d.status()
}
