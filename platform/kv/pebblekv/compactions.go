package pebblekv

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// compactionScheduler lets as many compactions run at a time as Pebble wishes, but none before the store is open: Pebble's
// Open waits for those that it has begun, which after a crash takes seconds for nothing that a start needs. After a failed
// one it lets none begin for retryPause, because Pebble tries again at once. Otherwise it does what Pebble's own scheduler
// does. DESIGN.md says how to do without it.
type compactionScheduler struct {
	db   pebble.DBForCompaction
	kick chan struct{}
	end  chan struct{}
	idle sync.WaitGroup

	mu          sync.Mutex
	open        bool
	running     int
	pausedUntil time.Time // none begins before
}

// scheduleInterval is how often what waits is looked at, besides whenever a compaction ends.
const scheduleInterval = 100 * time.Millisecond

// retryPause is how long after a failure the next compaction begins.
const retryPause = 5 * time.Second

var (
	_ pebble.CompactionScheduler   = (*compactionScheduler)(nil)
	_ pebble.CompactionGrantHandle = (*compactionScheduler)(nil)
)

func newCompactionScheduler() *compactionScheduler {
	return &compactionScheduler{kick: make(chan struct{}, 1), end: make(chan struct{})}
}

// begin lets compactions run from now on.
func (c *compactionScheduler) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = true
}

// Register implements pebble.CompactionScheduler.
func (c *compactionScheduler) Register(_ int, db pebble.DBForCompaction) {
	c.db = db
	c.idle.Go(c.grant)
}

// Unregister implements pebble.CompactionScheduler.
func (c *compactionScheduler) Unregister() {
	c.mu.Lock()
	c.open = false
	c.mu.Unlock()
	close(c.end)
	c.idle.Wait()
}

// TrySchedule implements pebble.CompactionScheduler.
func (c *compactionScheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	return c.acquire(), c
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler.
func (c *compactionScheduler) UpdateGetAllowedWithoutPermission() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// rest has no compaction begin for a while.
func (c *compactionScheduler) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pausedUntil = time.Now().Add(retryPause)
}

// take takes the right to one more compaction.
func (c *compactionScheduler) acquire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open || time.Now().Before(c.pausedUntil) || c.running >= c.db.GetAllowedWithoutPermission() {
		return false
	}
	c.running++
	return true
}

func (c *compactionScheduler) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
}

// grant begins what was refused before and can run now. No lock is held while Pebble is asked.
func (c *compactionScheduler) grant() {
	ticker := time.NewTicker(scheduleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-c.kick:
		case <-c.end:
			return
		}
		for c.acquire() {
			if waiting, _ := c.db.GetWaitingCompaction(); !waiting || !c.db.Schedule(c) {
				c.release()
				break
			}
		}
	}
}

// Started implements pebble.CompactionGrantHandle.
func (c *compactionScheduler) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle.
func (c *compactionScheduler) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements pebble.CompactionGrantHandle.
func (c *compactionScheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done implements pebble.CompactionGrantHandle.
func (c *compactionScheduler) Done() {
	c.release()
	c.UpdateGetAllowedWithoutPermission()
}
