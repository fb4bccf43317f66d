package disk

import (
	"sync"
	"sync/atomic"
	"time"

	"hemera/words/hemera"
)

const (
	// rateInterval is the shortest time rates are taken over.
	rateInterval = 500 * time.Millisecond
	// memorySpeed bounds the time of a call that needed no device: it does not count as busy.
	memorySpeed = 200 * time.Microsecond
)

// gauge counts the traffic of one disk: bytes, calls, how long they took, and what is open. Counting takes no lock.
type gauge struct {
	readBytes, writeBytes atomic.Int64
	busy                  atomic.Int64 // nanoseconds in calls that waited for the device
	readOpens, writeOpens atomic.Int64 // Readers and Writers now
	sumErrors, ioErrors   atomic.Int64 // since the open
	reads, writes, syncs  latency
	inProgress            atomic.Int64 // calls now
	moved                 atomic.Int64 // Unix nanoseconds when the last call returned, or the first of now began

	mu       sync.Mutex
	rates    hemera.DiskLoad // as they were last taken
	rated    time.Time       // when that was
	previous [3]int64        // readBytes, writeBytes and busy when rated
}

// start begins timing an I/O call. The wall clock of [Options] is not used: it may be a test's.
func (g *gauge) start() time.Time {
	now := time.Now()
	// The first of several calls begins the time without an answer.
	if g.inProgress.Add(1) == 1 {
		g.moved.Store(now.UnixNano())
	}
	return now
}

// read ends timing a read of n bytes.
func (g *gauge) read(start time.Time, n int) {
	g.readBytes.Add(int64(n))
	g.reads.add(g.waited(start))
}

// readFromMemory counts a read that did not wait for the device, and says nothing of that.
func (g *gauge) readFromMemory(start time.Time, n int) {
	g.readBytes.Add(int64(max(n, 0)))
	g.reads.add(time.Since(start))
}

// wrote ends timing a write of n bytes.
func (g *gauge) wrote(start time.Time, n int) {
	g.writeBytes.Add(int64(n))
	g.writes.add(g.waited(start))
}

// synced ends timing a sync.
func (g *gauge) synced(start time.Time) { g.syncs.add(g.waited(start)) }

// waited ends timing an I/O call.
func (g *gauge) waited(start time.Time) time.Duration {
	t := time.Since(start)
	g.moved.Store(start.Add(t).UnixNano())
	g.inProgress.Add(-1)
	if t > memorySpeed {
		g.busy.Add(int64(t))
	}
	return t
}

// progress changes whenever a call has returned.
func (g *gauge) progress() uint64 { return uint64(g.moved.Load()) }

// idle reports whether no call waits for the device.
func (g *gauge) idle() bool { return g.inProgress.Load() == 0 }

// load returns the traffic now. Rates are averages since they were last taken, at least rateInterval ago.
func (g *gauge) load(now time.Time) hemera.DiskLoad {
	g.mu.Lock()
	defer g.mu.Unlock()
	dt := now.Sub(g.rated)
	if dt >= rateInterval {
		counts := [3]int64{g.readBytes.Load(), g.writeBytes.Load(), g.busy.Load()}
		per := func(i int) float64 { return float64(counts[i]-g.previous[i]) / dt.Seconds() }
		g.rates.ReadBytes, g.rates.WriteBytes = int64(per(0)), int64(per(1))
		g.rates.Busy = min(1, per(2)/1e9) // calls that run side by side count each; a busy disk is no more than busy
		g.previous, g.rated = counts, now
	}
	g.rates.ReadOpens, g.rates.WriteOpens = g.readOpens.Load(), g.writeOpens.Load()
	g.rates.ChecksumErrors, g.rates.IOErrors = g.sumErrors.Load(), g.ioErrors.Load()
	g.rates.Read, g.rates.Write, g.rates.Sync = g.reads.now(), g.writes.now(), g.syncs.now()
	return g.rates
}

// latency counts how long calls took: two additions a call, and no lock.
type latency struct {
	counts [hemera.LatencyClasses]atomic.Int64
	sum    atomic.Int64 // nanoseconds
}

func (l *latency) add(t time.Duration) {
	l.counts[hemera.LatencyClass(t)].Add(1)
	l.sum.Add(int64(t))
}

// now returns the counts. It is empty, and costs nothing to send, while nothing was counted.
func (l *latency) now() hemera.Latency {
	sum := time.Duration(l.sum.Load())
	counts := make([]int64, len(l.counts))
	any := false
	for i := range counts {
		counts[i] = l.counts[i].Load()
		any = any || counts[i] > 0
	}
	if !any {
		return hemera.Latency{}
	}
	return hemera.Latency{Counts: counts, Sum: sum}
}
