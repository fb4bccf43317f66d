package pebblekv

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// compactionScheduler allows as many compactions at a time as Pebble wants, but none before the store is open: Pebble's
// Open waits for those that it has begun. After a crash that takes seconds and is not needed for a start. After a failed
// compaction it allows none for retryPause, because Pebble tries again at once. Otherwise it acts like Pebble's own
// scheduler. Options.PebbleScheduler disables it.
type compactionScheduler struct {
	db   pebble.DBForCompaction // set by Register, before begin
	kick chan struct{}          // has one slot: grant checks again
	end  chan struct{}          // closed by Unregister
	idle sync.WaitGroup         // the goroutine of grant

	mu          sync.Mutex // guards these; taken last, below Pebble's own
	open        bool       // compactions may begin
	running     int        // compactions under way
	pausedUntil time.Time  // none begins before
}

// scheduleInterval is the time between two checks of grant for waiting compactions. It also checks when one ends. No
// event tells it the end of a pause, or a call of begin.
const scheduleInterval = 100 * time.Millisecond

// retryPause is the time between a failure and the next compaction. Each try costs I/O and a message, and Pebble itself
// would try again at once.
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

// TrySchedule implements pebble.CompactionScheduler. Pebble calls it to begin a compaction.
func (c *compactionScheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	return c.acquire(), c
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler. It does not block: if a kick is already
// pending, it is enough.
func (c *compactionScheduler) UpdateGetAllowedWithoutPermission() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// pause prevents new compactions for retryPause. Those under way continue.
func (c *compactionScheduler) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pausedUntil = time.Now().Add(retryPause)
}

// acquire counts one more compaction and returns true if it may begin. The caller releases it when it has ended.
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

// grant runs on the scheduler's goroutine: it begins compactions that were refused before and can run now. It holds no
// lock while it calls Pebble, which takes its own mutex in these calls.
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

// Done implements pebble.CompactionGrantHandle. Pebble calls it when a compaction has ended, successful or not.
func (c *compactionScheduler) Done() {
	c.release()
	c.UpdateGetAllowedWithoutPermission()
}
