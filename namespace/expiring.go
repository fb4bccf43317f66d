package namespace

import (
	"sync"
	"time"

	"hemera/words/hemera"
)

const (
	// writeLifetime is the time after its open in which a write may be committed: the manager takes no commit that comes
	// later. Records about writes under way are kept as long.
	writeLifetime = hemera.CapabilityLifetime + hemera.CommitLifetime + time.Hour
	// expiringMax bounds the records of one table about writes under way.
	expiringMax = 1 << 18
	// expireEvery is the interval at which the records of a table are looked through.
	expireEvery = time.Hour
	// expireBatch is the number of old records that one change removes.
	expireBatch = 1000
)

// expiring counts, approximately, the records of a table about writes under way. A record begins with the time when it is
// over. The records are counted when they are looked through first, and whenever old ones are removed.
type expiring struct {
	mu     sync.Mutex
	count  int
	lookAt time.Time
	// marks say which number was the next to be handed out at some times, the oldest first: a write with a number
	// below the mark began before its time.
	marks []numberMark
}

// numberMark says that all numbers below next were handed out before the time.
type numberMark struct {
	at   time.Time
	next uint64
}

// due reports, to one caller, that the records are to be looked through. next is the next number to be handed out.
func (e *expiring) due(now time.Time, next uint64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Before(e.lookAt) {
		return false
	}
	e.lookAt = now.Add(expireEvery)
	e.markLocked(now, next)
	return true
}

// mark remembers that next is the next number to be handed out now.
func (e *expiring) mark(now time.Time, next uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.markLocked(now, next)
}

// markLocked does what mark does, with the lock held. It drops marks that are older than any commit that may come: the
// first that stays is the youngest of those.
func (e *expiring) markLocked(now time.Time, next uint64) {
	e.marks = append(e.marks, numberMark{now.Round(0), next}) // by the wall clock, as capabilities
	for len(e.marks) > 1 && now.Round(0).Sub(e.marks[1].at) >= writeLifetime {
		e.marks = e.marks[1:]
	}
}

// over reports whether a write with the number began so long ago that no commit of it is taken.
func (e *expiring) over(number hemera.FileID, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.marks) > 0 && now.Round(0).Sub(e.marks[0].at) >= writeLifetime && uint64(number) < e.marks[0].next
}

// counted sets the number of records; with more, they are to be looked through soon.
func (e *expiring) counted(count int, more bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count = count
	if more {
		e.lookAt = time.Time{}
	}
}

// add changes the count after a record was made or removed.
func (e *expiring) add(by int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count = max(0, e.count+by)
}

// full reports whether no more records may be made.
func (e *expiring) full() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count >= expiringMax
}
