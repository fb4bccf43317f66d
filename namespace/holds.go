package namespace

import (
	"sync"
	"sync/atomic"
	"time"

	"hemera/words/hemera"
)

// holds says how long pieces of replaced and removed content stay on their disks. [Pieces] sets it; removals read it.
type holds struct {
	hold atomic.Int64 // as Options.Hold, in nanoseconds
	due  dueTimes     // hints about held pieces
}

// time returns how long pieces are held from now on.
func (h *holds) time() time.Duration { return time.Duration(h.hold.Load()) }

// set sets how long pieces are held from now on.
func (h *holds) set(hold time.Duration) { h.hold.Store(int64(hold)) }

// dueTimes remembers, by disk, until when no held piece can be due, because disks ask often. It is a hint in
// memory: a disk that is not in it is looked up.
type dueTimes struct {
	mu   sync.Mutex
	next map[hemera.DiskID]time.Time // nothing is due before
}

// passed reports whether a piece of the disk may be due. A hint further away than the hold is from a longer one.
func (d *dueTimes) passed(disk hemera.DiskID, now time.Time, hold time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := d.next[disk]
	return !now.Before(next) || next.After(now.Add(hold))
}

// set says that no piece of the disk is due before next.
func (d *dueTimes) set(disk hemera.DiskID, next time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.next == nil {
		d.next = map[hemera.DiskID]time.Time{}
	}
	d.next[disk] = next
}
