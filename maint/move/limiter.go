package move

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Limiter bounds the copies under way from and to one disk and in total, and locks files against two moves at once. It is safe for
// concurrent use.
//
// Copies are counted in units, so that a disk takes more small pieces at once than large ones. A small piece costs the wait for
// the device, which many can share. A large one costs the rate of the device.
//
// Copies that find no room wait in line, the most urgent first. A copy that ends frees its places, and one waiter at a time
// looks whether it can use them: the plan depends on the file, so not every waiter can. A waiter that cannot passes the turn
// on. Plans are made without the lock, on a copy of the loads, and are checked again before they are counted.
type Limiter struct {
	perDisk, total int // units of a disk, and copies; set by newLimiter

	mu      sync.Mutex
	load    map[hemera.DiskID]int           // units of the copies from and to each disk; none is 0
	moving  traffic                         // of those copies
	under   map[copyKey]int64               // bytes that are still to come of each copy
	files   map[hemera.FileID]chan struct{} // being relocated; closed when that ends
	freed   uint64                          // copies that have ended
	spare   int                             // units that ended copies freed and no waiter has taken
	waiters []*copyWaiter                   // the most urgent first, among equals the oldest
}

const (
	// CopiesPerDisk bounds the large copies under way from and to one disk: bounds by disk keep a spinning disk usable for clients.
	// Of small pieces a disk takes four times as many.
	CopiesPerDisk = 8
	// CopiesTotal bounds all copies under way, and so goroutines and orders in the manager.
	CopiesTotal = 512
)

// copyWaiter is a copy that waits for room.
type copyWaiter struct {
	turn  chan struct{} // buffered one
	tried uint64        // the value of freed at its last turn
	class Urgency
}

// newLimiter bounds copies to perDisk units for each disk and total for all.
func newLimiter(perDisk, total int) *Limiter {
	return &Limiter{perDisk: perDisk, total: total, load: map[hemera.DiskID]int{}, moving: newTraffic(),
		under: map[copyKey]int64{}, files: map[hemera.FileID]chan struct{}{}}
}

// planFunc plans a move. full are disks that take no more copies now; load is how many units each disk has. It fails with
// NoSpace when no disk is left, and with Overloaded when no disk is left to read from.
type planFunc func(full []hemera.DiskID, load map[hemera.DiskID]int) (Plan, error)

// acquire plans a move until there is one whose disks have room for another copy, and counts it until
// [Limiter.release]. It waits while all disks that would do are full, and behind copies that are more urgent. It fails
// like the plan if no disk is full, and when ctx ends.
func (l *Limiter) acquire(ctx context.Context, class Urgency, plan planFunc) (Plan, error) {
	var m Plan
	freed, wait := l.mustWait(class)
	if !wait {
		var err error
		if m, wait, err = l.try(class, plan); !wait {
			return m, err
		}
	}
	w := l.join(class, freed)
	defer l.leave(w)
	for {
		select {
		case <-w.turn:
		case <-ctx.Done():
			return Plan{}, ctx.Err()
		}
		m, wait, err := l.try(class, plan)
		if !wait {
			l.used(m, err)
			return m, err
		}
		l.passOn()
	}
}

// used ends the turn of a waiter. A large copy that ended makes room for several small ones: the next gets a turn, too.
func (l *Limiter) used(m Plan, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Without a plan the turn was for nothing, and all that was free still is.
	if err == nil {
		l.spare -= m.units()
	}
	if l.spare > 0 {
		l.next()
	}
}

// mustWait reports whether copies that are as urgent wait already, which get free room first. It also returns how many copies have
// ended.
func (l *Limiter) mustWait(class Urgency) (freed uint64, wait bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.freed, len(l.waiters) > 0 && l.waiters[0].class <= class
}

// try plans once. wait reports that there was no room, and may be later.
func (l *Limiter) try(class Urgency, plan planFunc) (m Plan, wait bool, err error) {
	for {
		full, load, room := l.now(class)
		if !room {
			return m, true, nil
		}
		m, err = plan(full, load)
		if err != nil {
			// Without a full disk the end of other copies would not help: the space itself is short of room, which is the error.
			return m, len(full) > 0 && (errors.Is(err, errs.NoSpace) || errors.Is(err, errs.Overloaded)), err
		}
		if l.count(class, m) {
			return m, false, nil
		}
		// The disk has become full meanwhile: plan again without it.
	}
}

// now returns the full disks and the loads. room is false when no copy at all may begin.
func (l *Limiter) now(class Urgency) (full []hemera.DiskID, load map[hemera.DiskID]int, room bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.under) >= l.total {
		return nil, nil, false
	}
	return l.full(class), maps.Clone(l.load), true
}

// count counts a planned move, if its disk still has room.
func (l *Limiter) count(class Urgency, m Plan) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.under) >= l.total || l.load[m.Add.Disk] >= l.limit(class) {
		return false
	}
	// The last copy of a disk may go beyond its limit by a part: a large one would else wait for ever behind small ones.
	l.weigh(m, 1)
	l.under[m.key()] = m.bytes()
	l.moving.add(m, m.bytes())
	return true
}

// weigh adds the units of the move to the loads of its disks, times sign. mu is held.
func (l *Limiter) weigh(m Plan, sign int) {
	// A disk that is read counts like the one that is written: each moves all bytes of a piece.
	units := sign * m.units()
	for _, t := range append(m.reads(), m.Add) {
		// Loads that are 0 are removed: the table has disks with copies only, however many the cluster ever had.
		if l.load[t.Disk] += units; l.load[t.Disk] <= 0 {
			delete(l.load, t.Disk)
		}
	}
}

// arrived notes how many bytes of the piece are there. They no longer count as load of the links.
func (l *Limiter) arrived(m Plan, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A report may be late, of a copy that has ended, or of one that began again.
	left, ok := l.under[m.key()]
	if now := m.bytes() - bytes; ok && now >= 0 && now < left {
		l.under[m.key()] = now
		l.moving.add(m, now-left)
	}
}

// traffic returns the bytes that nodes have still to send and to receive for the copies under way.
func (l *Limiter) traffic() traffic {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.moving.clone()
}

// limit returns how many units of copies of a class a disk takes. Copies of files that can lose no more pieces may use a part
// that others cannot fill. Balancing takes half, so that more urgent copies that come later find room at once.
func (l *Limiter) limit(class Urgency) int {
	switch {
	case class == 0:
		return l.perDisk + l.perDisk/4
	case class >= UrgencyBalance:
		return max(1, l.perDisk/2)
	}
	return l.perDisk
}

// full lists the disks that take no more copies of the class. mu is held.
func (l *Limiter) full(class Urgency) (ids []hemera.DiskID) {
	limit := l.limit(class)
	for id, n := range l.load {
		if n >= limit {
			ids = append(ids, id)
		}
	}
	return ids
}

// release ends a move, and gives the first waiter a turn.
func (l *Limiter) release(m Plan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moving.add(m, -l.under[m.key()])
	delete(l.under, m.key())
	l.weigh(m, -1)
	l.freed++
	l.spare += m.units()
	l.next()
}

// join puts a waiter into the line, behind all that are as urgent. freed is the number of ended copies that the waiter has seen: if
// one has ended since, the first waiter gets a turn at once.
func (l *Limiter) join(class Urgency, freed uint64) *copyWaiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &copyWaiter{turn: make(chan struct{}, 1), tried: freed, class: class}
	at := slices.IndexFunc(l.waiters, func(o *copyWaiter) bool { return o.class > class })
	if at < 0 {
		at = len(l.waiters)
	}
	l.waiters = slices.Insert(l.waiters, at, w)
	// Without a copy under way nothing would ever end the wait.
	if len(l.under) == 0 {
		w.tried = l.freed
		w.turn <- struct{}{}
	} else if freed < l.freed {
		l.next()
	}
	return w
}

// leave takes a waiter out of the line. A turn that it was given and did not use goes to the next.
func (l *Limiter) leave(w *copyWaiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters = slices.DeleteFunc(l.waiters, func(o *copyWaiter) bool { return o == w })
	select {
	case <-w.turn:
		l.next()
	default:
	}
}

// passOn gives the next waiter a turn that this one could not use.
func (l *Limiter) passOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next()
}

// next gives a turn to the first waiter that has had none since the last copy ended. mu is held.
func (l *Limiter) next() {
	for _, w := range l.waiters {
		if w.tried < l.freed {
			w.tried = l.freed
			select {
			case w.turn <- struct{}{}:
			default: // it has one that it did not take yet, and will see the new room then
			}
			return
		}
	}
	l.spare = 0 // no waiter can use it now
}

// LockFile locks a file for one relocation, or for the removal of an orphan: two relocations at once could put two of its
// pieces on one disk. It does not wait, and reports whether the file is locked now for the caller.
func (l *Limiter) LockFile(id hemera.FileID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, locked := l.files[id]; locked {
		return false
	}
	l.files[id] = make(chan struct{})
	return true
}

// UnlockFile ends what LockFile began.
func (l *Limiter) UnlockFile(id hemera.FileID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.files[id])
	delete(l.files, id)
}

// AwaitFile waits until the lock of a file ends, or ctx does, whose error it returns. Another may have locked the file again.
func (l *Limiter) AwaitFile(ctx context.Context, id hemera.FileID) error {
	l.mu.Lock()
	held := l.files[id]
	l.mu.Unlock()
	if held == nil {
		return ctx.Err()
	}
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// FileLocked reports whether a piece of the file is being relocated.
func (l *Limiter) FileLocked(id hemera.FileID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, locked := l.files[id]
	return locked
}

// Busy returns how many copies are under way, and how many disks take no more of them.
func (l *Limiter) Busy() (copies, full int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.under), len(l.full(UrgencyDrain))
}
