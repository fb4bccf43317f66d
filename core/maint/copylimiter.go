package maint

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"hemera"
	"hemera/errs"
)

// copyLimiter bounds the copies under way to one disk and in total, knows which they are, and locks files against two
// relocations at once.
//
// Copies that find no room wait in line. A copy that ends frees one place, and one waiter at a time looks whether it can
// use that place: the plan depends on the file, so not every waiter can. A waiter that cannot passes the turn on. Plans are
// made without the lock, on a copy of the counts, and are checked again before they are counted.
type copyLimiter struct {
	perDisk, total int // copies; set by newCopyLimiter

	mu      sync.Mutex
	counts  map[hemera.DiskID]int  // copies under way to each disk; none is 0
	under   map[copyKey]bool       // those copies
	files   map[hemera.FileID]bool // being relocated
	freed   uint64                 // how many copies have ended
	waiters []*copyWaiter          // oldest first
}

// copyWaiter is a copy that waits for room.
type copyWaiter struct {
	turn  chan struct{} // buffered one
	tried uint64        // what freed was when it was given its last turn
}

// copyKey names a copy under way: a piece and where it goes.
type copyKey struct {
	disk  hemera.DiskID
	piece hemera.PieceID
}

// newCopyLimiter bounds copies to perDisk for each disk and total for all.
func newCopyLimiter(perDisk, total int) *copyLimiter {
	return &copyLimiter{perDisk: perDisk, total: total, counts: map[hemera.DiskID]int{}, under: map[copyKey]bool{},
		files: map[hemera.FileID]bool{}}
}

// planCopy plans a move. full are disks that take no more copies now; counts is how many each disk has. It fails with
// NoSpace when no disk is left.
type planCopy func(full []hemera.DiskID, counts map[hemera.DiskID]int) (plannedMove, error)

// acquire plans a move until there is one whose disk has room for another copy, and counts it until
// [copyLimiter.release]. It waits while all disks that would do are full. It fails like the plan if no disk is full, and
// when ctx ends.
func (l *copyLimiter) acquire(ctx context.Context, plan planCopy) (plannedMove, error) {
	m, wait, err := l.try(plan)
	if !wait {
		return m, err
	}
	w := l.join()
	defer l.leave(w)
	for {
		// A copy may have ended between the look and the wait, so the waiter looks once more by itself.
		m, wait, err = l.try(plan)
		if !wait {
			return m, err
		}
		l.passOn()
		select {
		case <-w.turn:
		case <-ctx.Done():
			return plannedMove{}, ctx.Err()
		}
	}
}

// try plans once. wait reports that there was no room, and may be later.
func (l *copyLimiter) try(plan planCopy) (m plannedMove, wait bool, err error) {
	for {
		full, counts, room := l.now()
		if !room {
			return m, true, nil
		}
		m, err = plan(full, counts)
		if err != nil {
			// Without a full disk more copies that end would not help: the space itself is short, and the caller hears of it.
			return m, len(full) > 0 && errors.Is(err, errs.NoSpace), err
		}
		if l.count(m) {
			return m, false, nil
		}
		// The disk has become full meanwhile: plan again without it.
	}
}

// now returns the full disks and the counts. room is false when no copy at all may begin.
func (l *copyLimiter) now() (full []hemera.DiskID, counts map[hemera.DiskID]int, room bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.under) >= l.total {
		return nil, nil, false
	}
	return l.full(), maps.Clone(l.counts), true
}

// count counts a planned move, if its disk still has room.
func (l *copyLimiter) count(m plannedMove) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.under) >= l.total || l.counts[m.add.Disk] >= l.perDisk {
		return false
	}
	l.counts[m.add.Disk]++
	l.under[m.key()] = true
	return true
}

// full lists the disks that take no more copies. mu is held.
func (l *copyLimiter) full() (ids []hemera.DiskID) {
	for id, n := range l.counts {
		if n >= l.perDisk {
			ids = append(ids, id)
		}
	}
	return ids
}

// release ends a move, and gives the oldest waiter a turn.
func (l *copyLimiter) release(m plannedMove) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.under, m.key())
	// Counts that are 0 are removed: the table has disks with copies only, however many the cluster ever had.
	if l.counts[m.add.Disk]--; l.counts[m.add.Disk] <= 0 {
		delete(l.counts, m.add.Disk)
	}
	l.freed++
	l.next()
}

// join puts a waiter at the end of the line.
func (l *copyLimiter) join() *copyWaiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Copies that ended before it joined give it no turn: acquire looks once more after it has joined.
	w := &copyWaiter{turn: make(chan struct{}, 1), tried: l.freed}
	l.waiters = append(l.waiters, w)
	return w
}

// leave takes a waiter out of the line. A turn that it was given and did not use goes to the next.
func (l *copyLimiter) leave(w *copyWaiter) {
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
func (l *copyLimiter) passOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next()
}

// next gives a turn to the oldest waiter that has had none since the last copy ended. mu is held.
func (l *copyLimiter) next() {
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
}

// lockFile locks a file for one relocation, or for the removal of an orphan: two relocations at once could put two of its
// pieces on one disk. It does not wait, and reports whether the file is locked now for the caller.
func (l *copyLimiter) lockFile(id hemera.FileID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files[id] {
		return false
	}
	l.files[id] = true
	return true
}

// unlockFile ends what lockFile began.
func (l *copyLimiter) unlockFile(id hemera.FileID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.files, id)
}

// fileLocked reports whether a piece of the file is being relocated.
func (l *copyLimiter) fileLocked(id hemera.FileID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.files[id]
}

// busy is how many copies are under way, and how many disks take no more of them.
func (l *copyLimiter) busy() (copies, full int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.under), len(l.full())
}

// key names the copy that the move makes.
func (m plannedMove) key() copyKey {
	return copyKey{m.add.Disk, hemera.PieceID{File: m.entry.ID, Gen: m.entry.Gen, Index: m.add.Index}}
}
