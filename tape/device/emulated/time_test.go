package emulated

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"hemera/tape/device"
)

// stepping is a clock that is as late as the latest wait, and goes on when the test says so.
type stepping struct {
	mu  sync.Mutex
	now time.Duration
}

func (c *stepping) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stepping) WaitUntil(_ context.Context, t time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = max(c.now, t)
}

// near checks a duration to a hundredth.
func near(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if math.Abs((got - want).Seconds()) > want.Seconds()/100 {
		t.Errorf("%s took %v, want %v", what, got, want)
	}
}

// TestTimeOfAMount: a move, a load, 4 GB at the drive's rate, a rewind and an unload take what the model says.
func TestTimeOfAMount(t *testing.T) {
	clock := &stepping{}
	l := open(t, Spec{}, Options{Clock: clock, Discard: true})
	tp := mount(t, l)
	near(t, "a move and a load", clock.Now(), moveTime+16*time.Second)
	b := make([]byte, 1<<20)
	start := clock.Now()
	for range 4000 {
		if err := tp.WriteBlock(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := tp.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	near(t, "writing 4,000 MiB", clock.Now()-start, time.Duration(4000*float64(1<<20)/400e6*1e9))
	start = clock.Now()
	if err := tp.Locate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	// 4 GB are 6.5 % of the first wrap; the tape stops first, and turns round.
	near(t, "a rewind", clock.Now()-start, time.Duration(math.Round((3+4.29+11.32+0.0006192*181557*4000*(1<<20)/(18e12/280))*1e9)))
	start = clock.Now()
	for range 4000 {
		if n, err := tp.ReadBlock(t.Context(), b); err != nil || n != 1<<20 {
			t.Fatal(n, err)
		}
	}
	near(t, "reading 4,000 MiB", clock.Now()-start, time.Duration(4000*float64(1<<20)/400e6*1e9))
	start = clock.Now()
	if err := l.Drives()[0].Unload(t.Context()); err != nil {
		t.Fatal(err)
	}
	near(t, "an unload after 8 GB", clock.Now()-start, 180*time.Second)
	near(t, "everything", l.Elapsed(), clock.Now())
}

// TestTimeWithoutWaiting: at scale 0 time is counted, by device.
func TestTimeWithoutWaiting(t *testing.T) {
	l := open(t, Spec{}, Options{})
	mount(t, l)
	near(t, "a mount", l.Elapsed(), moveTime+16*time.Second)
	begin := time.Now()
	if err := l.Drives()[0].Unload(t.Context()); err != nil {
		t.Fatal(err)
	}
	near(t, "a mount and an unload", l.Elapsed(), moveTime+16*time.Second+118*time.Second)
	if time.Since(begin) > time.Minute {
		t.Error("somebody waited")
	}
}

// TestOneArm: moves for two drives follow each other, and the drives load at the same time.
func TestOneArm(t *testing.T) {
	l := open(t, Spec{}, Options{})
	for i := range 2 {
		if err := l.Changer().Move(t.Context(), addressSlot+i, addressDrive+i); err != nil {
			t.Fatal(err)
		}
	}
	near(t, "two moves", l.Elapsed(), 2*moveTime)
	for _, d := range l.Drives() {
		if _, err := d.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	near(t, "two mounts", l.Elapsed(), 2*moveTime+16*time.Second)
}

// TestSlowHost: a host of 100 MB/s keeps its pace, and the drive has to stop for it.
func TestSlowHost(t *testing.T) {
	clock := &stepping{}
	l := open(t, Spec{}, Options{Clock: clock, Discard: true})
	tp := mount(t, l)
	start, b := clock.Now(), make([]byte, 1<<20)
	for range 10_000 {
		clock.WaitUntil(t.Context(), clock.Now()+time.Duration(float64(len(b))/100e6*1e9))
		if err := tp.WriteBlock(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	near(t, "10,000 MiB at 100 MB/s", clock.Now()-start, time.Duration(10_000*float64(1<<20)/100e6*1e9))
	c, err := tp.(device.Monitor).Counters(t.Context())
	if err != nil || c.BackHitches < 2 || c.BackHitches > 6 || c.BlocksWritten != 10_000 || c.BytesWritten != 10_000<<20 {
		t.Fatal(c, err)
	}
	near(t, "all that the drive did", c.Moving+c.Stopped+c.Repositioned, clock.Now())
}

// TestLoadEndsWithItsContext: the caller goes, the drive goes on loading.
func TestLoadEndsWithItsContext(t *testing.T) {
	l := open(t, Spec{}, Options{Clock: &reluctant{}})
	if err := l.Changer().Move(t.Context(), addressSlot, addressDrive); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := l.Drives()[0].Load(ctx); err == nil {
		t.Fatal("the cartridge is loaded already")
	}
	if s, err := l.Drives()[0].Status(t.Context()); err != nil || !s.Loaded || s.Ready {
		t.Fatal(s, err)
	}
}

// TestCloseEndsALoad: a drive that would be loading for ever does not keep the library open.
func TestCloseEndsALoad(t *testing.T) {
	l := open(t, Spec{}, Options{Clock: &reluctant{}})
	if err := l.Changer().Move(t.Context(), addressSlot, addressDrive); err != nil {
		t.Fatal(err)
	}
	loaded := make(chan error)
	go func() {
		_, err := l.Drives()[0].Load(t.Context())
		loaded <- err
	}()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-loaded; !errors.Is(err, device.ErrNotReady) {
		t.Fatal(err)
	}
}

// TestLoadGoesOn: a cartridge that a caller loads again after an unload becomes ready although no call waits for all of it.
func TestLoadGoesOn(t *testing.T) {
	clock := &impatient{}
	l := open(t, Spec{}, Options{Clock: clock})
	if err := l.Changer().Move(t.Context(), addressSlot, addressDrive); err != nil {
		t.Fatal(err)
	}
	clock.step = 5 * time.Second
	d := l.Drives()[0]
	for _, tries := range []int{4, 4} { // 16 s in steps of 5
		for try := 1; ; try++ {
			ctx, cancel := context.WithCancel(t.Context())
			clock.over = cancel
			_, err := d.Load(ctx)
			cancel()
			if err == nil {
				if try != tries {
					t.Errorf("ready with try %d, want %d", try, tries)
				}
				break
			}
			if !errors.Is(err, device.ErrNotReady) || try > tries {
				t.Fatal(try, err)
			}
		}
		clock.step = 0
		if err := d.Unload(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock.step = 5 * time.Second
	}
}

// impatient is a clock that ends the caller's context after a step, if there is one and it does not reach the time.
type impatient struct {
	stepping
	step time.Duration
	over context.CancelFunc
}

func (c *impatient) WaitUntil(ctx context.Context, t time.Duration) {
	if c.step > 0 && c.Now()+c.step < t {
		c.stepping.WaitUntil(ctx, c.Now()+c.step)
		c.over()
		return
	}
	c.stepping.WaitUntil(ctx, t)
}

// reluctant is a clock whose time does not come, except for moves of the arm.
type reluctant struct{ stepping }

func (c *reluctant) WaitUntil(ctx context.Context, t time.Duration) {
	if t <= moveTime {
		c.stepping.WaitUntil(ctx, t)
		return
	}
	<-ctx.Done()
}

// TestScaledClock: it runs faster than real time, and waits are not longer than they should be by much more than a timer is late.
func TestScaledClock(t *testing.T) {
	c := NewClock(0.001)
	before := c.Now()
	c.WaitUntil(t.Context(), before+20*time.Second)
	if got := c.Now() - before; got < 19*time.Second {
		t.Error("20 s of waiting took", got)
	}
	if c := NewClock(0); c.Now() != 0 {
		t.Error(c.Now())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	NewClock(1).WaitUntil(ctx, time.Hour) // returns
}
