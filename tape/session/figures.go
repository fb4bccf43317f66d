package session

import (
	"context"
	"sync/atomic"
	"time"

	"hemera/tape/device"
	"hemera/words/tapeapi"
)

// figures measure a session. They belong to the goroutine of the tape.
type figures struct {
	tapeapi.Session
	common  Common
	hitches int64 // that the drive had counted before
	monitor bool  // the drive counts them
	course  course
	// buffered are the bytes in buffers, see tapeapi.Sample. Other goroutines fill or empty them.
	buffered atomic.Int64
}

// newFigures starts the clock of a session.
func newFigures(ctx context.Context, c Common) *figures {
	if c.Now == nil {
		c.Now = time.Now
	}
	f := &figures{common: c}
	f.Begun = c.Now()
	f.hitches, f.monitor = backHitches(ctx, c.Monitor)
	return f
}

// backHitches returns the count of the drive since it was loaded.
func backHitches(ctx context.Context, m device.Monitor) (int64, bool) {
	if m == nil {
		return 0, false
	}
	c, err := m.Counters(ctx)
	return c.BackHitches, err == nil // figures are worth no failure
}

// spent adds the time since then to what the tape goroutine waited for.
func (f *figures) spent(on *time.Duration, since time.Time) { *on += f.common.Now().Sub(since) }

// wait is the begin of a wait for contents.
type wait struct {
	since    time.Time
	onTheWay time.Duration // until then
}

// waits begins a wait for contents.
func (f *figures) waits() wait {
	w := wait{since: f.now()}
	if f.common.OnTheWay != nil {
		w.onTheWay = f.common.OnTheWay()
	}
	return w
}

// got ends a wait for contents. The part of it in which data was on its way is the network's, the rest the disks'.
func (f *figures) got(w wait) {
	waited, network := f.now().Sub(w.since), time.Duration(0)
	if f.common.OnTheWay != nil {
		network = min(waited, max(0, f.common.OnTheWay()-w.onTheWay))
	}
	f.Network += network
	f.Disk += waited - network
}

// now returns the time of the session's clock.
func (f *figures) now() time.Time { return f.common.Now() }

// soFar returns the figures up to now, without those that the drive has to be asked for. Streaming is the share of time in which the tape goroutine
// waited neither for contents nor for positioning and flushes, thus for the tape to take or give data.
func (f *figures) soFar() tapeapi.Session {
	s := f.Session
	s.Elapsed = f.now().Sub(f.Begun)
	// Clocks of tests may stand still.
	if s.Elapsed > 0 {
		s.Streaming = min(1, max(0, 1-float64(s.Disk+s.Network+s.Tape)/float64(s.Elapsed)))
	}
	return s
}

// report returns the figures up to now.
func (f *figures) report(ctx context.Context) tapeapi.Session {
	s := f.soFar()
	// A drive that was asked in vain once is not asked again.
	if f.monitor {
		if n, ok := backHitches(ctx, f.common.Monitor); ok {
			s.BackHitches = n - f.hitches
		}
	}
	return s
}

// progress tells the figures. They cost no call to the drive.
func (f *figures) progress() {
	if f.common.Progress != nil {
		s := f.soFar()
		s.BackHitches = f.course.hitches // as of the last sample
		f.common.Progress(s)
	}
}

// hitchesEvery is the interval at which a sample asks the drive for its stops. It is a command to a drive that should
// stream.
const hitchesEvery = time.Second

// moved notes bytes that the drive took or gave, and takes a sample when one is due.
func (f *figures) moved(ctx context.Context, bytes int) {
	f.course.bytes += int64(bytes)
	if f.course.due(f.now().Sub(f.Begun)) {
		f.sample(ctx)
		f.progress()
	}
}

// sample adds a sample to the course.
func (f *figures) sample(ctx context.Context) {
	at := f.now().Sub(f.Begun)
	if f.monitor && at-f.course.asked >= hitchesEvery {
		f.course.asked = at
		if n, ok := backHitches(ctx, f.common.Monitor); ok {
			f.course.hitches = n - f.hitches
		}
	}
	f.course.add(tapeapi.Sample{At: at, Bytes: f.course.bytes, Buffered: f.buffered.Load(), Disk: f.Disk, Network: f.Network, Tape: f.Tape,
		BackHitches: f.course.hitches})
}

// end returns the figures of a session that is over, with its course.
func (f *figures) end(ctx context.Context) tapeapi.Session {
	s := f.report(ctx)
	f.course.hitches = s.BackHitches
	f.course.asked = s.Elapsed // the drive was asked just now
	f.sample(ctx)
	s.Course = f.course.samples
	return s
}
