package maint

import (
	"sync"
	"time"

	"hemera/words/hemera"
)

// settleTime is how long a move that is over is counted besides what nodes report: their reports are seconds old, and the
// piece that was moved has still to be removed.
const settleTime = 20 * time.Second

// balanceLedger counts the moves that the reports of nodes do not show yet, and when a disk may take part in the next one.
// What is counted twice meanwhile, in the ledger and in a report, makes a disk that gives look emptier and one that takes
// look fuller: too little is planned then, and never too much. Neither changes sides before it is settled.
type balanceLedger struct {
	now func() time.Time

	mu     sync.Mutex
	in     map[hemera.DiskID]int64     // bytes that come; guarded by mu, as all below
	out    map[hemera.DiskID]int64     // bytes that go
	recent []recentMove                // done, oldest first
	free   map[hemera.DiskID]time.Time // when the disk may take part in the next move
}

// recentMove is a piece that was moved within settleTime.
type recentMove struct {
	at       time.Time
	from, to hemera.DiskID
	bytes    int64
}

// newBalanceLedger has no moves, and all disks may take part in one.
func newBalanceLedger(now func() time.Time) *balanceLedger {
	return &balanceLedger{now: now, in: map[hemera.DiskID]int64{}, out: map[hemera.DiskID]int64{}, free: map[hemera.DiskID]time.Time{}}
}

// begin counts a move, and has both disks rest for as long as it takes at the rate.
func (l *balanceLedger) begin(from, to hemera.DiskID, bytes, rate int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(from, to, bytes)
	now := l.now()
	// Both, as each of them reads or writes all the bytes.
	for _, id := range []hemera.DiskID{from, to} {
		if l.free[id].Before(now) {
			l.free[id] = now
		}
		l.free[id] = l.free[id].Add(time.Duration(float64(bytes) / float64(rate) * float64(time.Second)))
	}
}

// end is when a move is over: one that was not made is not counted any more.
func (l *balanceLedger) end(from, to hemera.DiskID, bytes int64, made bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !made {
		l.add(from, to, -bytes)
		return
	}
	now := l.now()
	// Small pieces come by the thousand: those of one second are one record.
	for i := len(l.recent) - 1; i >= 0 && now.Sub(l.recent[i].at) < time.Second; i-- {
		if r := &l.recent[i]; r.from == from && r.to == to {
			r.bytes += bytes
			return
		}
	}
	l.recent = append(l.recent, recentMove{now, from, to, bytes})
}

// add changes the counts. mu is held.
func (l *balanceLedger) add(from, to hemera.DiskID, bytes int64) {
	l.out[from] += bytes
	l.in[to] += bytes
}

// settle forgets moves that reports show by now. removing reports whether a disk has still pieces to remove.
func (l *balanceLedger) settle(removing func(hemera.DiskID) bool) {
	var sources []hemera.DiskID // asked without the lock: it reads the namespace
	for _, r := range l.old() {
		sources = append(sources, r.from)
	}
	// A disk that removes slowly is as full as before, however long ago its pieces were moved.
	busy := map[hemera.DiskID]bool{}
	for _, id := range sources {
		if _, known := busy[id]; !known {
			busy[id] = removing(id)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Those that came while the disks were looked at are young, and stay.
	var kept []recentMove
	for _, r := range l.recent {
		if asked, known := busy[r.from]; !known || asked || l.now().Sub(r.at) < settleTime {
			kept = append(kept, r)
			continue
		}
		l.add(r.from, r.to, -r.bytes)
	}
	l.recent = kept
}

// old are the moves that are older than settleTime.
func (l *balanceLedger) old() (list []recentMove) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.recent {
		if l.now().Sub(r.at) >= settleTime {
			list = append(list, r)
		}
	}
	return list
}

// settled reports whether the reports show all moves.
func (l *balanceLedger) settled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Each move is in both tables, so one of them says it.
	for _, bytes := range l.out {
		if bytes > 0 {
			return false
		}
	}
	return true
}

// of is what is not in the reports of the disk: bytes that come, and bytes that go.
func (l *balanceLedger) of(id hemera.DiskID) (in, out int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.in[id], l.out[id]
}

// burst is how far ahead of its rate a disk may be: small pieces would else be moved one by one.
const burst = time.Second

// ready reports whether the disk may take part in a move now.
func (l *balanceLedger) ready(id hemera.DiskID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.free[id].Sub(l.now()) < burst
}
