package pebblekv

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// compactionScheduler lets as many compactions run at a time as Pebble wishes, but none before the store is open: Pebble's
// Open waits for those that it has begun, which after a crash takes seconds for nothing that a start needs. After a failed
// one it lets none begin for retryPause, because Pebble tries again at once. Otherwise it does what Pebble's own scheduler
// does. Options.PebbleScheduler does without it.
type compactionScheduler struct {
	db   pebble.DBForCompaction // set by Register; not used before begin
	kick chan struct{}          // has one slot: grant looks again
	end  chan struct{}          // closed by Unregister
	idle sync.WaitGroup         // the goroutine of grant

	mu          sync.Mutex // guards these; taken last, below Pebble's own
	open        bool       // compactions may begin
	running     int        // compactions under way
	pausedUntil time.Time  // none begins before
}

// scheduleInterval is how often grant looks for waiting compactions, besides whenever one ends. Nothing tells it when a pause
// ends, or when begin was called.
const scheduleInterval = 100 * time.Millisecond

// retryPause is how long after a failure the next compaction begins. Each try costs I/O
// and a message, and Pebble itself would try again at once.
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

// Register implements pebble.CompactionScheduler. Pebble's Open calls it once.
func (c *compactionScheduler) Register(_ int, db pebble.DBForCompaction) {
	c.db = db
	c.idle.Go(c.grant)
}

// Unregister implements pebble.CompactionScheduler. Pebble's Close calls it once. At return no compaction begins any more.
func (c *compactionScheduler) Unregister() {
	c.mu.Lock()
	c.open = false
	c.mu.Unlock()
	close(c.end)
	c.idle.Wait()
}

// TrySchedule implements pebble.CompactionScheduler. Pebble calls it when it has a compaction that it wants to begin.
func (c *compactionScheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	return c.acquire(), c
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler. It does not block: a kick that is there already
// does for this one too.
func (c *compactionScheduler) UpdateGetAllowedWithoutPermission() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// pause has no compaction begin for retryPause. Those under way go on.
func (c *compactionScheduler) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pausedUntil = time.Now().Add(retryPause)
}

// acquire counts one more compaction, and reports whether it may begin. The caller releases it when it has ended.
func (c *compactionScheduler) acquire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open || time.Now().Before(c.pausedUntil) || c.running >= c.db.GetAllowedWithoutPermission() {
		return false
	}
	c.running++
	return true
}

// release ends the count of a compaction that has ended, or that did not begin.
func (c *compactionScheduler) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
}

// grant is the scheduler's goroutine: it begins what was refused before and can run now. It holds no lock while it calls
// Pebble, which takes its own mutex in these calls.
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

// Done implements pebble.CompactionGrantHandle. Pebble calls it when a compaction has ended, well or not.
func (c *compactionScheduler) Done() {
	c.release()
	c.UpdateGetAllowedWithoutPermission()
}
