package session

import (
	"context"
	"time"

	"hemera"
	"hemera/platform/tape"
)

// figures measure a session. They belong to the goroutine of the tape.
type figures struct {
	hemera.TapeSession
	common  Common
	hitches int64 // that the drive had counted before
	monitor bool  // the drive counts them
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

// backHitches is what the drive counted since it was loaded.
func backHitches(ctx context.Context, m tape.Monitor) (int64, bool) {
	if m == nil {
		return 0, false
	}
	c, err := m.Counters(ctx)
	return c.BackHitches, err == nil // figures are worth no failure
}

// spent adds the time since then to what the tape goroutine waited for.
func (f *figures) spent(on *time.Duration, since time.Time) { *on += f.common.Now().Sub(since) }

// now is the time of the session's clock.
func (f *figures) now() time.Time { return f.common.Now() }

// report is the figures up to now. Streaming is the share of time in which the tape goroutine waited neither for disks nor for positioning
// and flushes, thus for the tape to take or give data.
func (f *figures) report(ctx context.Context) hemera.TapeSession {
	s := f.TapeSession
	s.Elapsed = f.now().Sub(f.Begun)
	// Clocks of tests may stand still.
	if s.Elapsed > 0 {
		s.Streaming = min(1, max(0, 1-float64(s.Disk+s.Tape)/float64(s.Elapsed)))
	}
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
		s := f.TapeSession
		s.Elapsed = f.now().Sub(f.Begun)
		f.common.Progress(s)
	}
}
