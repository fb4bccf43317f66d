package disk

import (
	"sync"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/errs"
)

const (
	// lookInterval is how old the picture of a disk's room and label may be when a piece is made.
	lookInterval = time.Second
	// lookPatience is how long a look may take before the disk counts as hanging.
	lookPatience = 2 * time.Second
	// silence is how long calls may wait without one returning before the disk counts as hanging.
	silence = 30 * time.Second
	// rateInterval is the shortest time rates are taken over.
	rateInterval = 500 * time.Millisecond
	// memorySpeed is how short a call is that needed no device: it does not count as busy.
	memorySpeed = 200 * time.Microsecond
)

// gauge measures one disk: its load by counting, its health by asking [health].
type gauge struct {
	readBytes, writeBytes atomic.Int64
	busy                  atomic.Int64 // nanoseconds in calls that waited for the device
	readOpens, writeOpens atomic.Int64
	sumErrors, ioErrors   atomic.Int64
	looking               atomic.Bool
	reads, writes, syncs  latency
	calls, moved          atomic.Int64 // in progress now; when the last one returned, or the first began
	stalled               atomic.Int32 // of which it is known that they should have returned long ago

	mu       sync.Mutex
	headroom int64
	health   health
	looked   time.Time
	blinded  time.Time         // when it was last said that a look was not possible
	shown    hemera.DiskHealth // in the log, last
	rates    hemera.DiskLoad
	rated    time.Time
	previous [3]int64 // readBytes, writeBytes and busy when rated
}

func (g *gauge) init(headroom int64, now time.Time) {
	g.headroom, g.rated, g.shown = headroom, now, hemera.HealthOK
}

// start begins timing an I/O call. The wall clock of [Options] is not used: it may be a test's.
func (g *gauge) start() time.Time {
	now := time.Now()
	if g.calls.Add(1) == 1 {
		g.moved.Store(now.UnixNano())
	}
	return now
}

func (g *gauge) read(start time.Time, n int) {
	g.readBytes.Add(int64(n))
	g.reads.note(g.waited(start))
}

// readFromMemory counts a read that did not wait for the device, and says nothing of that.
func (g *gauge) readFromMemory(start time.Time, n int) {
	g.readBytes.Add(int64(max(n, 0)))
	g.reads.note(time.Since(start))
}

func (g *gauge) wrote(start time.Time, n int) {
	g.writeBytes.Add(int64(n))
	g.writes.note(g.waited(start))
}

func (g *gauge) synced(start time.Time) { g.syncs.note(g.waited(start)) }

func (g *gauge) waited(start time.Time) time.Duration {
	t := time.Since(start)
	g.moved.Store(start.Add(t).UnixNano())
	g.calls.Add(-1)
	if t > memorySpeed {
		g.busy.Add(int64(t))
	}
	return t
}

// latency counts how long calls took: two additions a call, and no lock.
type latency struct {
	counts [hemera.LatencyClasses]atomic.Int64
	sum    atomic.Int64 // nanoseconds
}

func (l *latency) note(t time.Duration) {
	l.counts[hemera.LatencyClass(t)].Add(1)
	l.sum.Add(int64(t))
}

// now is what was counted. It is empty, and costs nothing to send, while nothing was.
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

// silentSince is when the device last answered, if calls wait for it and have for longer than
// silence; else zero.
func (g *gauge) silentSince() time.Time {
	if g.calls.Load() == 0 {
		return time.Time{}
	}
	last := time.Unix(0, g.moved.Load())
	if time.Since(last) < silence {
		return time.Time{}
	}
	return last
}

// Progress changes whenever a call to the device has returned, also within calls that take many steps.
func (d *Disk) Progress() uint64 { return uint64(d.gauge.moved.Load()) }

// Hangs reports whether calls to the disk do not return, as far as is known. It is asked for every read.
func (d *Disk) Hangs() bool { return d.gauge.stalled.Load() > 0 || !d.gauge.silentSince().IsZero() }

// verdict is the disk's health and why. It is called with mu held.
func (g *gauge) verdict(now time.Time) (hemera.DiskHealth, string) {
	health, why := g.health.verdict(g.headroom, now)
	if last := g.silentSince(); !last.IsZero() && health != hemera.HealthGone {
		return hemera.HealthFailing, NotAnswered(last)
	}
	return health, why
}

// note counts a failure against the disk, if its kind says that the disk is to blame.
func (g *gauge) note(kind errs.Kind, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch kind {
	case errs.IO:
		g.ioErrors.Add(1)
		g.health = g.health.fault(now)
	case errs.Corrupt:
		g.sumErrors.Add(1)
		g.health = g.health.fault(now)
	case errs.ReadOnly:
		g.health = g.health.refusal(now)
	}
}

// Stalled notes that a call to the disk should have returned long ago: until over is called the disk
// is failing, and no piece is made on it.
func (d *Disk) Stalled() (over func()) {
	d.opt.Log.Error("disk does not answer", "disk", d.path)
	g := &d.gauge
	g.stalled.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.health = g.health.stall(d.opt.Now())
	return sync.OnceFunc(func() {
		d.opt.Log.Warn("disk answers again", "disk", d.path)
		g.stalled.Add(-1)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.health = g.health.resume()
	})
}

func (g *gauge) setHeadroom(n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.headroom = n
}

// kept is how much is to be left free.
func (g *gauge) kept() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.headroom
}

// free is what may still be written, by the last look.
func (g *gauge) free() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(0, g.health.seen.Free-g.headroom)
}

// stale reports whether the last look is old, and takes it on the caller to look again.
func (g *gauge) stale(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Sub(g.looked) < lookInterval {
		return false
	}
	g.looked = now
	return true
}

// look looks at the disk's label and room, no longer than the patience: it may hang like any call,
// and who asks for the disk's condition must learn just that. Who comes while one look runs on has
// the picture before.
func (d *Disk) look() {
	if !d.gauge.looking.CompareAndSwap(false, true) {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.lookNow()
		d.gauge.looking.Store(false)
	}()
	t := time.NewTimer(lookPatience)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		over := d.Stalled()
		go func() {
			<-done
			over()
		}()
	}
}

// lookNow looks. A look that fails because the process has run out of something says nothing: the picture
// before it stays.
func (d *Disk) lookNow() {
	var o observation
	if uuid, err := ReadLabel(d.fs, d.path); errs.Exhausted(err) {
		d.blind(err)
		return
	} else if err != nil {
		o.Gone = errs.Reason(err, d.path)
	} else if uuid != d.uuid {
		o.Gone = "another disk is mounted there: " + uuid
	} else if space, err := d.fs.Space(d.path); errs.Exhausted(err) {
		d.blind(err)
		return
	} else if err != nil {
		o.Gone = errs.Reason(err, d.path)
	} else {
		o.Filesystem, o.Total, o.Free, o.ReadOnly = space.ID, space.Total, space.Free, space.ReadOnly
		o.Inodes, o.InodesFree = space.Inodes, space.InodesFree
	}
	now := d.opt.Now()
	g := &d.gauge
	g.mu.Lock()
	defer g.mu.Unlock()
	g.looked = now
	g.health = g.health.look(o, now)
	if is, why := g.verdict(now); is != g.shown {
		d.opt.Log.Warn("disk health changed", "disk", d.path, "from", g.shown, "to", is, "why", why)
		g.shown = is
	}
}

// blindInterval is how often it is said that a disk cannot be looked at.
const blindInterval = time.Minute

// blind notes that the disk could not be looked at, for which it is not to blame.
func (d *Disk) blind(why error) {
	now := d.opt.Now()
	g := &d.gauge
	g.mu.Lock()
	defer g.mu.Unlock()
	g.looked = now
	if now.Sub(g.blinded) >= blindInterval {
		g.blinded = now
		d.opt.Log.Warn("cannot look at a disk: this process has run out of open files or memory", "disk", d.path, "err", why,
			"remedy", "let the process have more (LimitNOFILE, MemoryMax of its unit); see Limits in docs/operations.md")
	}
}

// writable refuses what the disk's health forbids, and a piece that would not leave the headroom. What it lets
// in counts as taken until the next look: many that come between two looks share one picture of the room.
func (d *Disk) writable(op string, size int64) error {
	now := d.opt.Now()
	if d.gauge.stale(now) {
		d.look()
	}
	d.gauge.mu.Lock()
	defer d.gauge.mu.Unlock()
	health, why := d.gauge.verdict(now)
	switch {
	case health == hemera.HealthReadOnly:
		return errs.New(errs.ReadOnly, op, d.path, why)
	case health == hemera.HealthFull:
		return errs.New(errs.NoSpace, op, d.path, why)
	case health != hemera.HealthOK:
		return errs.New(errs.Unavailable, op, d.path, why)
	case size > d.gauge.health.seen.Free-d.gauge.headroom:
		return errs.New(errs.NoSpace, op, d.path, "less room than the piece will need")
	}
	d.gauge.health.seen.Free -= size
	return nil
}

// Look is Status, but waits for the device as long as it takes.
func (d *Disk) Look() Status {
	d.lookNow()
	return d.status()
}

// Status looks at the disk and reports. Rates are averages since the report before.
func (d *Disk) Status() Status {
	d.look()
	return d.status()
}

func (d *Disk) status() Status {
	now := d.opt.Now()
	g := &d.gauge
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rate(now)
	health, why := g.verdict(now)
	seen := g.health.seen
	return Status{
		LastScrub: d.lastScrub(),
		UUID:      d.uuid, Path: d.path, Health: health, Why: why,
		Filesystem: seen.Filesystem, Capacity: seen.Total, Used: seen.Total - seen.Free, Free: max(0, seen.Free-g.headroom),
		Inodes: seen.Inodes, InodesFree: seen.InodesFree, Pieces: d.count.now(), Load: g.rates,
	}
}

// rate takes rates anew if enough time went by. It is called with mu held.
func (g *gauge) rate(now time.Time) {
	dt := now.Sub(g.rated)
	if dt >= rateInterval {
		counts := [3]int64{g.readBytes.Load(), g.writeBytes.Load(), g.busy.Load()}
		per := func(i int) float64 { return float64(counts[i]-g.previous[i]) / dt.Seconds() }
		g.rates.ReadBytes, g.rates.WriteBytes = int64(per(0)), int64(per(1))
		g.rates.Busy = min(1, per(2)/1e9)
		g.previous, g.rated = counts, now
	}
	g.rates.ReadOpens, g.rates.WriteOpens = g.readOpens.Load(), g.writeOpens.Load()
	g.rates.ChecksumErrors, g.rates.IOErrors = g.sumErrors.Load(), g.ioErrors.Load()
	g.rates.Read, g.rates.Write, g.rates.Sync = g.reads.now(), g.writes.now(), g.syncs.now()
}
