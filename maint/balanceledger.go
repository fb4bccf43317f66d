package maint

import (
	"sync"
	"time"

	"hemera/words/hemera"
)

// settleTime is the time for which the ledger counts a move after its end. Reports of nodes are seconds old, and the old piece
// has still to be removed.
const settleTime = 20 * time.Second

// balanceLedger counts the moves that the reports of nodes do not show yet, and when a disk may take part in the next one.
// Meanwhile a move may count twice, in the ledger and in a report. Then a disk that gives looks emptier and a disk that takes looks
// fuller than it is, so a plan moves too little and never too much. No disk changes sides before its moves are settled.
type balanceLedger struct {
	now func() time.Time

	mu     sync.Mutex
	in     map[hemera.DiskID]int64     // bytes that the disk will receive; guarded by mu, as all below
	out    map[hemera.DiskID]int64     // bytes that it will lose
	recent []recentMove                // moves that have ended, oldest first
	free   map[hemera.DiskID]time.Time // when the disk may take part in the next move
}

// recentMove counts pieces that went from one disk to another within a second.
type recentMove struct {
	at       time.Time
	from, to hemera.DiskID
	bytes    int64
}

// newBalanceLedger makes a ledger without moves. All disks are ready.
func newBalanceLedger(now func() time.Time) *balanceLedger {
	return &balanceLedger{now: now, in: map[hemera.DiskID]int64{}, out: map[hemera.DiskID]int64{}, free: map[hemera.DiskID]time.Time{}}
}

// begin counts a move. Both disks rest for the time that the move takes at the rate.
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

// end ends a move. It removes a failed move from the counts; a move that was made stays in them until it is settled.
func (l *balanceLedger) end(from, to hemera.DiskID, bytes int64, made bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !made {
		l.add(from, to, -bytes)
		return
	}
	now := l.now()
	// There may be thousands of small pieces, so the moves of one second share a record.
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

// settle removes the moves that reports show by now. It calls removing without the lock, which reports whether a disk has still
// pieces to remove.
func (l *balanceLedger) settle(removing func(hemera.DiskID) bool) {
	var sources []hemera.DiskID // asked without the lock: it reads the namespace
	for _, r := range l.old() {
		sources = append(sources, r.from)
	}
	// A disk that removes slowly is as full as before the move, however long ago that was.
	busy := map[hemera.DiskID]bool{}
	for _, id := range sources {
		if _, known := busy[id]; !known {
			busy[id] = removing(id)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Moves that ended meanwhile are recent, and stay.
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

// old returns the moves that ended at least settleTime ago.
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

// of returns the bytes that the disk will receive and lose, and that its reports do not show.
func (l *balanceLedger) of(id hemera.DiskID) (in, out int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.in[id], l.out[id]
}

// burst bounds how far a disk may be ahead of its rate. Without it small pieces would move one by one.
const burst = time.Second

// ready reports whether the disk may take part in a move now.
func (l *balanceLedger) ready(id hemera.DiskID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.free[id].Sub(l.now()) < burst
}
