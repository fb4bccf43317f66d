package energy_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"hemera/errs"
	"hemera/measure/energy"
	"hemera/measure/energy/meter"
	"hemera/measure/result"
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
