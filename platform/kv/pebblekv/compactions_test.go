package pebblekv

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// backlog is a database with compactions to run, two at a time.
type backlog struct {
	mu      sync.Mutex
	waiting int
	handles []pebble.CompactionGrantHandle
}

func (b *backlog) GetAllowedWithoutPermission() int { return 2 }

func (b *backlog) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting > 0, pebble.WaitingCompaction{}
}

func (b *backlog) Schedule(h pebble.CompactionGrantHandle) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == 0 {
		return false
	}
	b.waiting--
	b.handles = append(b.handles, h)
	return true
}

func (b *backlog) running() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.handles)
}

func (b *backlog) finish() {
	b.mu.Lock()
	h := b.handles[0]
	b.handles = b.handles[1:]
	b.mu.Unlock()
	h.Done()
}

// TestCompactionsWaitForTheStart: no compaction begins before the store is open, then all do, two at a time.
func TestCompactionsWaitForTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backlog{waiting: 3}
		p := newCompactionScheduler()
		p.Register(1, b)
		later := func() int { time.Sleep(2 * scheduleInterval); synctest.Wait(); return b.running() }
		if ok, _ := p.TrySchedule(); ok || later() != 0 {
			t.Error("a compaction began before the store was open")
		}
		p.begin()
		if n := later(); n != 2 {
			t.Errorf("%d run after the start", n)
		}
		if ok, _ := p.TrySchedule(); ok {
			t.Error("a third runs")
		}
		b.finish()
		if n := later(); n != 2 || b.waiting != 0 {
			t.Errorf("%d run after one ended", n)
		}
		b.finish()
		b.finish()
		ok, h := p.TrySchedule()
		if !ok {
			t.Error("none may run when none does")
		}
		h.Done()
		p.Unregister()
		if ok, _ := p.TrySchedule(); ok {
			t.Error("one may begin after the end")
		}
	})
}

// TestCompactionsRest: after a failure no compaction begins for a while, and then they do.
func TestCompactionsRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backlog{}
		p := newCompactionScheduler()
		p.Register(1, b)
		p.begin()
		p.pause()
		if ok, _ := p.TrySchedule(); ok {
			t.Error("a compaction began at once after a failure")
		}
		b.mu.Lock()
		b.waiting = 1
		b.mu.Unlock()
		time.Sleep(retryPause - scheduleInterval)
		synctest.Wait()
		if n := b.running(); n != 0 {
			t.Errorf("%d began too soon", n)
		}
		time.Sleep(3 * scheduleInterval)
		synctest.Wait()
		if n := b.running(); n != 1 {
			t.Errorf("%d run after the rest", n)
		}
		b.finish()
		p.Unregister()
	})
}
