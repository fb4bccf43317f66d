package emulated

import (
	"cmp"
	"context"
	"time"

	"hemera/platform/turn"
	"hemera/tape/device"
)

// Clock is the time of a library. It begins at 0 when the library is opened.
// Methods may be called concurrently.
type Clock interface {
	// Now is the time that has passed.
	Now() time.Duration
	// WaitUntil returns when it is t, or earlier when the context ends.
	WaitUntil(ctx context.Context, t time.Duration)
}

// NewClock returns a clock that runs faster than real time by 1/scale: at 1
// it is real time, at 0.01 a second takes 10 ms. At 0 it stands still and
// nobody waits.
func NewClock(scale float64) Clock {
	if scale <= 0 {
		return still{}
	}
	return &scaled{scale: scale, start: time.Now()}
}

// still is the clock of scale 0.
type still struct{}

func (still) Now() time.Duration                       { return 0 }
func (still) WaitUntil(context.Context, time.Duration) {}

// scaled is a clock that runs.
type scaled struct {
	scale float64
	start time.Time
}

func (c *scaled) Now() time.Duration {
	// The monotonic clock: steps of the wall clock do not count.
	return time.Duration(float64(time.Since(c.start)) / c.scale)
}

// waitMin is the shortest wait worth a timer, in real time. Shorter ones
// would come out longer than asked for.
const waitMin = time.Millisecond

func (c *scaled) WaitUntil(ctx context.Context, t time.Duration) {
	wait := time.Duration(float64(t-c.Now()) * c.scale)
	if wait < waitMin {
		return
	}
	// A timer fires late, never early. What it is late by is not lost: the
	// device counts from its own time.
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// machine has one time and does one thing after the other: a drive, or
// the arm.
type machine struct {
	clock Clock
	turn  turn.Turn // of one operation
	ctx   context.Context
	now   time.Duration // when the last operation ended; by the holder of the turn
}

// newMachine returns a machine whose waits end with the context, that of the
// library.
func newMachine(ctx context.Context, clock Clock) machine {
	return machine{clock: clock, turn: turn.New(), ctx: ctx}
}

// acquire waits until no other operation runs, the context ends, or the library is
// closed. Release must follow success.
func (d *machine) acquire(ctx context.Context) error {
	if !d.turn.TryAcquire() {
		either, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(d.ctx, cancel)()
		if d.turn.Acquire(either) != nil {
			return cmp.Or(ctx.Err(), fail("emulated.Open", "", device.ErrNotReady))
		}
	}
	if d.ctx.Err() != nil {
		d.release()
		return fail("emulated.Open", "", device.ErrNotReady)
	}
	return nil
}

// seize does what acquire does, for the library itself, also when it is closed.
func (d *machine) seize() { d.turn.Wait() }

// release ends an operation.
func (d *machine) release() { d.turn.Release() }

// time returns when an operation that begins now begins.
func (d *machine) time() time.Duration { return max(d.now, d.clock.Now()) }

// busy lets the device be busy for a while from now on, and waits for it.
func (d *machine) busy(wait time.Duration) {
	d.now = d.time() + wait
	d.clock.WaitUntil(d.ctx, d.now)
}
