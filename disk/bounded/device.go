package bounded

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera/disk"
	"hemera/platform/contain"
	"hemera/words/errs"
)

// class says what a call may do while the disk is stalled.
type class uint8

const (
	// use is a call to an open piece, or one that opens one. While the disk is stalled it is made only if fewer
	// than probesMax calls are in progress: one stuck sector does not keep the rest of the disk from its readers,
	// and a dead device collects no more than that.
	use class = iota
	// change makes or removes a name. It is refused while the disk is stalled: the call that is stuck may change
	// the same name when it returns.
	change
	// look asks for room and label; it is always made, and one at a time.
	look
	// final closes what is open; it is always made, also after cancel.
	final
)

// kind has the common properties of all calls of one sort.
type kind struct {
	op    string
	class class
	limit time.Duration // longLimit for one of many steps, which ends when the device is silent
}

// call is one call to the device. The worker that runs it owns its arguments and results until it is done. The
// caller owns them again if it was not stalled; otherwise they stay with the worker.
type call struct {
	kind
	subject string
	// run makes the call. late runs behind it, on the same worker, if the caller has been answered meanwhile: it undoes a
	// result that has no caller any more. It may be nil.
	run, late func(*call)

	// Arguments and results of the calls that are made often, so that those need no closure, and no memory.
	writer *writer
	reader *reader
	p      []byte
	sums   []uint32
	off    int64
	n      int
	err    error
	// panicked is the panic that ended run; nil if run returned.
	panicked error

	done chan struct{} // one place; sent to once, by the worker or the watchdog

	began   time.Time     // guarded by device.mu, with what follows
	stalled bool          // the watchdog has answered the caller
	waited  time.Duration // until then
}

// worker is a goroutine that makes calls, one after the other.
type worker struct {
	wake chan *call // one place: the next call, or closed for the end
	call *call      // in progress, nil while idle; guarded by device.mu
}

// device makes the calls to one device. mu guards all that stands below it, and is never held while a call is made.
type device struct {
	path     string
	log      *slog.Logger
	panics   *contain.Panics
	progress func() (uint64, bool) // of the store's own calls; nil if it does not say
	calls    sync.Pool             // of *call; of this device, so that its channels stay in the bubble of a test

	mu       sync.Mutex
	workers  []*worker
	idle     []*worker // the last one used is last: its stack is warm
	queue    []*call   // waiting for a free worker, in order of arrival
	closed   bool      // workers end when they have nothing to do
	canceled bool      // no caller waits for a call any more

	watchdog *time.Timer // nil before the first call
	watching bool
	begun    bool        // a call began since the watchdog looked last
	returned uint64      // calls that returned; looks do not count, as the kernel may answer them from memory
	seen     uint64      // returned and progress as the watchdog saw them last
	answered time.Time   // when it last saw them change, or nothing wait
	waiting  bool        // calls waited for the device when the watchdog looked last
	stuck    int         // calls whose callers were answered, and that have not returned
	silent   bool        // calls wait, and none has returned for silence
	down     atomic.Bool // stuck or silent, as the log says; set with mu held, read for every read of a file
	since    time.Time   // while down: the beginning of the oldest call in progress, or when one returned last
}

func newDevice(path string, log *slog.Logger, panics *contain.Panics, progress func() (uint64, bool)) *device {
	d := &device{path: path, log: log, panics: panics, progress: progress}
	d.calls.New = func() any { return &call{done: make(chan struct{}, 1)} }
	return d
}

// newCall returns a call to be filled in, and given back with free.
func (d *device) newCall(k kind, subject string) *call {
	c := d.calls.Get().(*call)
	c.kind, c.subject = k, subject
	return c
}

// free takes back a call that was made and not stalled.
func (d *device) free(c *call) {
	*c = call{done: c.done}
	d.calls.Put(c)
}

// do makes a call and blocks until it returns or reaches its limit. Its error says that the device did not answer:
// then the call and all that it was given belong to the worker. Without an error, the results are in c.
func (d *device) do(c *call) error {
	w, err := d.begin(c)
	if err != nil {
		return err
	}
	if w != nil {
		w.wake <- c
	}
	<-c.done
	if c.stalled {
		return timeout(c.op, c.subject, c.waited)
	}
	return c.panicked
}

func timeout(op, subject string, after time.Duration) error {
	return &errs.Error{Kind: errs.Timeout, Op: op, Subject: subject, Cause: &disk.StalledError{After: after},
		Remedy: "`hemera fs ls` shows which disks are ill; the kernel's log may say why"}
}

// begin finds a worker for the call, which the caller must wake; nil if the call waits for one.
func (d *device) begin(c *call) (*worker, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.canceled && c.class != final {
		return nil, errs.New(errs.Unavailable, c.op, c.subject, "the disk is closed")
	}
	if d.down.Load() && (c.class == change || c.class == use && len(d.workers)-len(d.idle) >= probesMax) {
		return nil, errs.As(&disk.StalledError{Since: d.since}, errs.Unavailable, c.op, c.subject+" on "+d.path)
	}
	c.began, d.begun = time.Now(), true
	if !d.watching {
		d.watch(c.began)
	}
	if n := len(d.idle); n > 0 { // the last one used
		w := d.idle[n-1]
		d.idle = d.idle[:n-1]
		w.call = c
		return w, nil
	}
	if len(d.workers) >= workersMax {
		d.queue = append(d.queue, c)
		return nil, nil
	}
	// Before the caller wakes it, the worker waits; the watchdog sees the call in any case.
	w := &worker{wake: make(chan *call, 1), call: c}
	d.workers = append(d.workers, w)
	go d.serve(w)
	return w, nil
}

// serve makes calls until the worker is dismissed.
func (d *device) serve(w *worker) {
	growStack()
	c := <-w.wake
	for c != nil {
		c.panicked = d.panics.Do(c.op, c.subject+" on "+d.path, func() error {
			c.run(c)
			return nil
		})
		next, more := d.end(w, c)
		if c = next; next == nil && more {
			c = <-w.wake
		}
	}
}

// growStack gives a new goroutine the stack that a call to a disk takes. While nothing is on the stack that is
// cheap; later every frame has to be moved, which takes as long as a system call.
//
//go:noinline
func growStack() {
	var room [5 << 10]byte
	stackRoom(room[:0])
}

//go:noinline
func stackRoom([]byte) {}

// end takes a call that has returned from its worker and answers its caller. It returns the call that the worker
// makes next, if one waits; more is false if the worker is not needed any more.
func (d *device) end(w *worker, c *call) (next *call, more bool) {
	d.mu.Lock()
	if c.stalled && c.late != nil && c.panicked == nil {
		d.mu.Unlock()
		// The call counts as stuck until it is undone.
		_ = d.panics.Do(c.op, c.subject+" on "+d.path, func() error {
			c.late(c)
			return nil
		})
		d.mu.Lock()
	}
	late := c.stalled
	// Another change does not touch what this one left half done, or locked: the disk counts as stalled until it is
	// opened again.
	broken := c.panicked != nil && c.class == change
	switch {
	case late && !broken:
		d.stuck--
	case broken && !late:
		d.stuck++
		d.since = c.began
		d.down.Store(true)
	}
	if c.class < look {
		d.returned++
		d.silent = false
	}
	answers := d.down.Load() && d.stuck == 0 && !d.silent
	if answers {
		d.down.Store(false)
	}
	if len(d.queue) > 0 {
		next = d.queue[0]
		d.queue[0] = nil
		d.queue = d.queue[1:]
	} else if !d.closed {
		more = true
		d.idle = append(d.idle, w)
	} else {
		d.workers = slices.DeleteFunc(d.workers, func(o *worker) bool { return o == w })
	}
	w.call = next
	d.mu.Unlock()
	if answers {
		d.log.Warn("disk answers again", "disk", d.path)
	}
	if !late {
		c.done <- struct{}{}
	}
	return next, more
}

// watch starts the watchdog. It runs while calls are made, so that a call needs no timer of its own. The caller holds
// mu.
func (d *device) watch(now time.Time) {
	d.watching, d.answered = true, now
	d.seen, _ = d.count()
	if d.watchdog == nil {
		d.watchdog = time.AfterFunc(watchInterval, d.tick)
		return
	}
	d.watchdog.Reset(watchInterval)
}

// count changes when anything has returned from the device; waits reports whether the store makes calls of its own, in
// the background or within long ones. The caller holds mu.
func (d *device) count() (n uint64, waits bool) {
	if d.progress == nil {
		return d.returned, false
	}
	n, waits = d.progress()
	return n + d.returned, waits
}

// tick does the work of the watchdog: it answers calls that have reached their limit. If no call was made since it looked
// last, it ends the workers and rests until the next.
func (d *device) tick() {
	now := time.Now()
	d.mu.Lock()
	wasDown := d.down.Load()
	over := d.overdue(now)
	why := d.since
	if len(d.idle) == len(d.workers) && !d.begun && !d.waiting {
		d.watching = false
		d.dismiss()
	} else {
		d.watchdog.Reset(watchInterval)
	}
	d.begun = false
	isDown := d.down.Load()
	d.mu.Unlock()
	if isDown && !wasDown {
		d.log.Error("disk does not answer", "disk", d.path, "since", why.UTC().Format(time.RFC3339))
	}
	for _, c := range over {
		c.done <- struct{}{}
	}
}

// overdue finds the calls whose callers need not wait any more, and whether the disk is down. The caller holds mu.
func (d *device) overdue(now time.Time) (over []*call) {
	n, waiting := d.count()
	oldest := now
	for _, w := range d.workers {
		if w.call != nil {
			waiting = waiting || w.call.class < look
			if w.call.began.Before(oldest) {
				oldest = w.call.began
			}
		}
	}
	// Nothing to wait for is as good as an answer.
	d.waiting = waiting
	if n != d.seen || !waiting {
		d.seen, d.answered = n, now
	}
	d.silent = now.Sub(d.answered) >= silence
	for _, w := range d.workers {
		if c := w.call; c != nil && !c.stalled && d.isOver(c, now) {
			c.stalled, c.waited = true, max(now.Sub(c.began).Truncate(time.Second), time.Second)
			d.stuck++
			over = append(over, c)
		}
	}
	// A call that never got a worker has left nothing behind.
	d.queue = slices.DeleteFunc(d.queue, func(c *call) bool {
		c.stalled = d.isOver(c, now)
		if c.stalled {
			c.waited = max(now.Sub(c.began).Truncate(time.Second), time.Second)
			over = append(over, c)
		}
		return c.stalled
	})
	d.down.Store(d.stuck > 0 || d.silent)
	d.since = oldest
	if d.stuck == 0 {
		d.since = d.answered
	}
	return over
}

// isOver reports whether a call has taken too long. The caller holds mu.
func (d *device) isOver(c *call, now time.Time) bool {
	took := now.Sub(c.began)
	return d.canceled && c.class != final || took >= c.limit || c.limit == longLimit && d.silent && took >= silence
}

// stalled reports whether the device does not answer, and since when.
func (d *device) stalled() (since time.Time, is bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down.Load() && d.stuck == 0 {
		// Only calls of the store itself were silent: the watchdog will hear of an answer at its next look.
		n, waiting := d.count()
		return d.since, waiting && n == d.seen || d.isWaiting()
	}
	return d.since, d.down.Load()
}

// isWaiting reports whether calls of callers are in progress. The caller holds mu.
func (d *device) isWaiting() bool {
	return slices.ContainsFunc(d.workers, func(w *worker) bool { return w.call != nil && w.call.class < look })
}

// cancel answers all calls in progress, and refuses those that follow. No caller waits for the device any more.
func (d *device) cancel() {
	d.mu.Lock()
	d.canceled = true
	over := d.overdue(time.Now())
	d.mu.Unlock()
	for _, c := range over {
		c.done <- struct{}{}
	}
}

// close has workers end as soon as they have nothing to do.
func (d *device) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.dismiss()
}

// dismiss ends the idle workers. The caller holds mu.
func (d *device) dismiss() {
	for _, w := range d.idle {
		close(w.wake)
	}
	d.workers = slices.DeleteFunc(d.workers, func(w *worker) bool { return w.call == nil })
	d.idle = d.idle[:0]
}
