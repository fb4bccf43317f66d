package energy

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"hemera/measure/energy/meter"
	"hemera/words/errs"
)

// Sampler reads meters between Start and Stop, each in a goroutine of its own, so that a slow one does not delay the
// others.
type Sampler struct {
	tracks []*track
	end    context.CancelFunc
	group  sync.WaitGroup
}

// track is one meter and its readings. It belongs to the goroutine that reads the meter, and after Stop to the caller of
// Stop.
type track struct {
	meter  meter.Meter
	points []meter.Point
	failed int   // failed readings
	cause  error // the last failure
	log    io.WriteCloser
}

// SamplerOptions has the interval and the log of the meters.
type SamplerOptions struct {
	// Every is the time between two readings; 0 is each meter's own, at least everyMin.
	Every time.Duration
	// Log makes the file for the readings of a meter.
	Log func(name string) (io.WriteCloser, error)
}

// everyMin corresponds to 20 Hz, the rate of the published results: more readings would load the machine that is
// measured.
const everyMin = 50 * time.Millisecond

// readTime bounds one reading.
const readTime = 20 * time.Second

// samplesMax bounds the readings of a meter: a day at 20 Hz.
const samplesMax = 24 * 3600 * 20

// Start reads each meter once, and then regularly until Stop. It fails if a meter fails, so that the user notices it at
// once.
func Start(ctx context.Context, meters []meter.Meter, o SamplerOptions) (*Sampler, error) {
	s := &Sampler{}
	var err error
	for _, m := range meters {
		t := &track{meter: m}
		s.tracks = append(s.tracks, t)
		if err = t.begin(ctx, o.Log); err != nil {
			s.close()
			return nil, err
		}
	}
	// The readings do not end with the run's context, so that an interrupted run keeps its results.
	ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	for _, t := range s.tracks {
		if _, ok := t.meter.(meter.Recorded); ok {
			continue
		}
		// A meter is not read more often than it has new values.
		every := o.Every
		if every == 0 {
			every = max(everyMin, t.meter.About().Every)
		}
		s.group.Go(func() { t.run(ctx, every) })
	}
	return s, nil
}

// begin opens the log and takes the first reading.
func (t *track) begin(ctx context.Context, log func(string) (io.WriteCloser, error)) error {
	about := t.meter.About()
	w, err := log(logName(about.Name))
	if err != nil {
		return err
	}
	t.log = w
	if err := meter.WriteHead(w, about); err != nil {
		return errs.Wrap(err, "energy.Start", about.Name)
	}
	// Its values are read at the stop.
	if _, ok := t.meter.(meter.Recorded); ok {
		return nil
	}
	return t.read(ctx)
}

// read takes one reading and logs it.
func (t *track) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	p, err := t.meter.Read(ctx)
	if err != nil {
		return err
	}
	t.points = append(t.points, p)
	return errs.Wrap(meter.WritePoint(t.log, p), "energy.Read", t.meter.About().Name)
}

// run reads until ctx ends, and once more, so that the last reading is after the end of the work. A failed reading leaves
// a gap.
func (t *track) run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for len(t.points) < samplesMax {
		select {
		case <-ctx.Done():
			t.last(context.WithoutCancel(ctx))
			return
		case <-tick.C:
			_ = t.try(context.WithoutCancel(ctx)) // it counts the failure
		}
	}
}

// lastTries bounds the tries of the last reading, without which the last iteration has no energy.
const lastTries = 3

// last takes the last reading. All tries together take at most the time of one reading, because a person may wait for
// them.
func (t *track) last(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	for range lastTries {
		if t.try(ctx) == nil {
			return
		}
	}
}

// try takes a reading, and counts a failure.
func (t *track) try(ctx context.Context) error {
	err := t.read(ctx)
	if err != nil {
		t.failed, t.cause = t.failed+1, err
	}
	return err
}

// copied takes the recorded values. A program that still records gets some time to write the values before now.
func (t *track) copied(r meter.Recorded, now time.Time) error {
	every := t.meter.About().Every
	// A recording that ended long ago does not grow.
	wait := time.NewTimer(min(recordedWait, gapFactor*every))
	defer wait.Stop()
	look := time.NewTicker(recordedWait / 100)
	defer look.Stop()
	for {
		points, err := r.Points()
		if err != nil {
			return err
		}
		t.points = points
		n := len(points)
		if n == 0 || !points[n-1].At.Before(now) || now.Sub(points[n-1].At) > gapFactor*every {
			break
		}
		select {
		case <-look.C:
			continue
		case <-wait.C:
		}
		break
	}
	for _, p := range t.points {
		if err := meter.WritePoint(t.log, p); err != nil {
			return errs.Wrap(err, "energy.Read", t.meter.About().Name)
		}
	}
	return nil
}

// recordedWait bounds the wait for a program that records.
const recordedWait = 10 * time.Second

// Stop takes a last reading of each meter, waits for it, and returns all readings. failures has, by the name of a meter,
// the number of failed readings and the last error.
func (s *Sampler) Stop() (courses []Course, failures map[string]Failure, err error) {
	// The readers take their last reading and end.
	now := time.Now()
	s.end()
	s.group.Wait()
	failures = map[string]Failure{}
	for _, t := range s.tracks {
		about := t.meter.About()
		if r, ok := t.meter.(meter.Recorded); ok {
			if err = t.copied(r, now); err != nil {
				break
			}
		}
		if t.failed > 0 {
			failures[about.Name] = Failure{Count: t.failed, Cause: t.cause}
		}
		courses = append(courses, NewCourse(about, t.points))
	}
	s.close()
	return courses, failures, err
}

// Failure has the failed readings of a meter.
type Failure struct {
	Count int   // readings
	Cause error // of the last one
}

// close releases the meters and the logs.
func (s *Sampler) close() {
	for _, t := range s.tracks {
		meter.Close(t.meter)
		if t.log != nil {
			_ = t.log.Close()
		}
	}
}

// logName returns the name of a meter's log, with only characters that file systems accept.
func logName(name string) string {
	// Names contain addresses.
	safe := []byte(name)
	for i, b := range safe {
		if !slices.Contains([]byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"), b) {
			safe[i] = '-'
		}
	}
	return string(safe) + ".csv"
}
