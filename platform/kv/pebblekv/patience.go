package pebblekv

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// patience lets as many compactions run at a time as Pebble wishes, but none until the store is open:
// Pebble's Open waits for those that it has begun, which after a crash is seconds for nothing that a
// start needs. After one that failed it lets none begin for a while, because Pebble tries again at once.
// Otherwise it does what Pebble's own scheduler does.
type patience struct {
	db   pebble.DBForCompaction
	kick chan struct{}
	end  chan struct{}
	idle sync.WaitGroup

	mu      sync.Mutex
	open    bool
	running int
	resting time.Time // none begins before
}

// patienceEvery is how often what waits is looked at, besides whenever a compaction ends.
const patienceEvery = 100 * time.Millisecond

// restTime is how long after a failure the next compaction begins.
const restTime = 5 * time.Second

var (
	_ pebble.CompactionScheduler   = (*patience)(nil)
	_ pebble.CompactionGrantHandle = (*patience)(nil)
)

func newPatience() *patience {
	return &patience{kick: make(chan struct{}, 1), end: make(chan struct{})}
}

// begin lets compactions run from now on.
func (p *patience) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = true
}

// Register implements pebble.CompactionScheduler.
func (p *patience) Register(_ int, db pebble.DBForCompaction) {
	p.db = db
	p.idle.Go(p.grant)
}

// Unregister implements pebble.CompactionScheduler.
func (p *patience) Unregister() {
	p.mu.Lock()
	p.open = false
	p.mu.Unlock()
	close(p.end)
	p.idle.Wait()
}

// TrySchedule implements pebble.CompactionScheduler.
func (p *patience) TrySchedule() (bool, pebble.CompactionGrantHandle) { return p.take(), p }

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler.
func (p *patience) UpdateGetAllowedWithoutPermission() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// rest has no compaction begin for a while.
func (p *patience) rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resting = time.Now().Add(restTime)
}

// take takes the right to one more compaction.
func (p *patience) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open || time.Now().Before(p.resting) || p.running >= p.db.GetAllowedWithoutPermission() {
		return false
	}
	p.running++
	return true
}

func (p *patience) giveBack() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
}

// grant begins what was refused before and can run now. No lock is held while Pebble is asked.
func (p *patience) grant() {
	ticker := time.NewTicker(patienceEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-p.kick:
		case <-p.end:
			return
		}
		for p.take() {
			if waiting, _ := p.db.GetWaitingCompaction(); !waiting || !p.db.Schedule(p) {
				p.giveBack()
				break
			}
		}
	}
}

// Started implements pebble.CompactionGrantHandle.
func (p *patience) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle.
func (p *patience) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements pebble.CompactionGrantHandle.
func (p *patience) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done implements pebble.CompactionGrantHandle.
func (p *patience) Done() {
	p.giveBack()
	p.UpdateGetAllowedWithoutPermission()
}
