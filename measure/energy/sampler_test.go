package energy_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"hemera/measure/energy"
	"hemera/measure/energy/meter"
	"hemera/measure/result"
	"hemera/words/errs"
)

// told is a meter of a test. It answers at its own times, and tells when it was read.
type told struct {
	about meter.About
	fail  func(n int) bool // the n-th reading fails
	read  chan int         // gets n after each reading
	n     int
}

func (m *told) About() meter.About { return m.about }
func (m *told) Read(context.Context) (meter.Point, error) {
	n := m.n
	m.n++
	defer func() { m.read <- n }()
	if m.fail != nil && m.fail(n) {
		return meter.Point{}, errs.New(errs.Unavailable, "meter.Read", "plug", "no answer")
	}
	return meter.Point{At: at(float64(n)), Value: 10}, nil
}

// logs makes the files of a sampler.
func logs(t *testing.T) func(string) (io.WriteCloser, error) {
	return result.NewRecorder(t.TempDir(), "energy", nil).Raw
}

func TestTheSamplerReadsUntilItsStop(t *testing.T) {
	m := &told{about: meter.About{Name: "plug"}, read: make(chan int, 1000), fail: func(n int) bool { return n == 1 }}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := energy.Start(ctx, []meter.Meter{m}, energy.SamplerOptions{Every: time.Millisecond, Log: logs(t)})
	if err != nil {
		t.Fatal(err)
	}
	cancel() // an interrupted run is measured to its end
	for n := range m.read {
		if n == 5 {
			break
		}
	}
	courses, failures, err := s.Stop()
	if err != nil || len(courses) != 1 || courses[0].Len() < 5 || courses[0].Len() != m.n-1 {
		t.Errorf("%d courses of %d readings, %v", len(courses), m.n, err)
	}
	if f := failures["plug"]; f.Count != 1 || !errors.Is(f.Cause, errs.Unavailable) {
		t.Errorf("failures %+v", failures)
	}
}

func TestAMeterThatGivesNothingEndsTheStart(t *testing.T) {
	good := &told{about: meter.About{Name: "good"}, read: make(chan int, 10)}
	bad := &told{about: meter.About{Name: "bad"}, read: make(chan int, 10), fail: func(int) bool { return true }}
	if _, err := energy.Start(t.Context(), []meter.Meter{good, bad}, energy.SamplerOptions{Log: logs(t)}); !errors.Is(err, errs.Unavailable) {
		t.Errorf("it began: %v", err)
	}
}

// logger is a recording that another program still writes: each look at it finds one more second.
type logger struct {
	began time.Time
	looks int
	until int // seconds after which it has ended
}

func (l *logger) About() meter.About                        { return meter.About{Name: "csv:x", Every: time.Second} }
func (l *logger) Read(context.Context) (meter.Point, error) { return meter.Point{}, errs.Unavailable }
func (l *logger) Points() (points []meter.Point, err error) {
	l.looks++
	for i := range min(l.looks, l.until) {
		points = append(points, meter.Point{At: l.began.Add(time.Duration(i) * time.Second), Value: 50})
	}
	return points, nil
}

func TestARecordingMayStillGrow(t *testing.T) {
	for _, c := range []struct {
		name        string
		began       time.Duration // after now
		until, want int
	}{
		{"it reaches the end at its third look", -1500 * time.Millisecond, 100, 3},
		{"it has ended long ago", -time.Hour, 2, 1},
		{"it is empty", 0, 0, 0},
	} {
		l := &logger{began: time.Now().Add(c.began), until: c.until}
		s, err := energy.Start(t.Context(), []meter.Meter{l}, energy.SamplerOptions{Log: logs(t)})
		if err != nil {
			t.Fatal(err)
		}
		courses, _, err := s.Stop()
		if err != nil || courses[0].Len() != c.want {
			t.Errorf("%s: %d readings, %v; want %d", c.name, courses[0].Len(), err, c.want)
		}
	}
}

func TestTheLastReadingIsTriedAgain(t *testing.T) {
	stopped := false
	m := &told{about: meter.About{Name: "plug"}, read: make(chan int, 1000)}
	tries := 0
	m.fail = func(int) bool {
		if stopped {
			tries++
		}
		return stopped && tries < 3
	}
	s, err := energy.Start(t.Context(), []meter.Meter{m}, energy.SamplerOptions{Every: time.Hour, Log: logs(t)})
	if err != nil {
		t.Fatal(err)
	}
	stopped = true // its goroutine waits for an hour, or for the stop
	courses, failures, err := s.Stop()
	if err != nil || courses[0].Len() != 2 || failures["plug"].Count != 2 {
		t.Errorf("%d readings, %+v, %v", courses[0].Len(), failures, err)
	}
}
