package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"hemera/measure/energy"
	"hemera/measure/energy/meter"
	"hemera/measure/result"
	"hemera/words/errs"
)

// energyLevel measures the energy of other levels. The session gets the results of the others, as without the meter, and
// the energy.
type energyLevel struct {
	energyFlags
	s     *session
	inner []level // in their order
	// opened has the meters, from prepare to the end of run.
	opened []meter.Meter
}

// name implements level.
func (l *energyLevel) name() string { return "energy" }

// flags implements level: it adds the flags of the meters, and those of the other level if there is only one.
func (l *energyLevel) flags(f *pflag.FlagSet) {
	l.energyFlags.flags(f)
	if len(l.inner) == 1 {
		l.inner[0].flags(f)
	}
}

// check implements level.
func (l *energyLevel) check(args []string, quick bool) error {
	// All mistakes are reported together.
	err := l.energyFlags.check(quick)
	for _, inner := range l.inner {
		err = errors.Join(err, inner.check(args, quick))
	}
	return err
}

// prepare implements preparer. Each meter is read once, so that one that does not answer is found early.
func (l *energyLevel) prepare(ctx context.Context) error {
	meters, err := l.open(ctx)
	for _, m := range meters {
		if err == nil {
			err = meter.Try(ctx, m)
		}
	}
	if err == nil {
		err = l.room(ctx)
	}
	if err != nil {
		for _, m := range meters {
			meter.Close(m)
		}
		return err
	}
	l.opened = meters
	return nil
}

// run implements level. The meters are read from before the idle time until after the last level.
func (l *energyLevel) run(ctx context.Context, rec *result.Recorder) error {
	// From here on readings are logged, so that a killed run leaves them in raw/.
	sampler, err := energy.Start(ctx, l.opened, energy.SamplerOptions{Every: l.every, Log: rec.Raw})
	if err != nil {
		return err
	}
	// After an interruption of the idle time no level begins.
	idle, err := rest(ctx, l.idle, rec)
	if err == nil {
		err = l.work(ctx)
	}
	// An interrupted level has iterations too.
	courses, failures, cause := sampler.Stop()
	if cause != nil {
		return errors.Join(err, cause)
	}
	// A gap is a guess, and the reader should see it.
	for name, f := range failures {
		rec.Note("%s did not answer %d times: %s", name, f.Count, errs.Reason(f.Cause, ""))
	}
	// The levels of this run, without this one.
	plan := energy.NewPlan(courses, idle, l.a)
	plan.Record(l.s.run.Levels, rec)
	return errors.Join(err, plan.WritePlan(rec.Raw))
}

// room asks the manager for the capacity of all disks, if the user wants that. Copies and parity are not subtracted:
// published results use the capacity of the disks too.
func (l *energyLevel) room(ctx context.Context) error {
	if l.capacity != capacityCluster {
		return nil
	}
	m, err := l.s.e.Manager()
	if err != nil {
		return err
	}
	view, err := m.Cluster.View(ctx)
	if err != nil {
		return err
	}
	l.a.Capacity = view.Room(view.Disks).Capacity
	return nil
}

// work runs the other levels. After a failure the next one still runs, as without a meter.
func (l *energyLevel) work(ctx context.Context) (failed error) {
	for _, inner := range l.inner {
		err := l.s.record(ctx, inner)
		if failed == nil {
			failed = err
		}
		// No level begins after an interruption.
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

// best returns the meter of this machine that covers most, or "".
func best(ctx context.Context, o meter.Options) string {
	for _, f := range meter.Find(ctx, o) {
		if f.Err == nil {
			return f.Spec
		}
	}
	return ""
}

// open makes the meters that the user named, or the best one of this machine.
func (l *energyLevel) open(ctx context.Context) ([]meter.Meter, error) {
	o, err := l.options()
	if err != nil {
		return nil, err
	}
	// The best is the one that covers most.
	specs := l.meters
	if len(specs) == 0 {
		if spec := best(ctx, o); spec != "" {
			specs = []string{spec}
		}
	}
	// An estimate is never the default: the machine's watts are unknown.
	if len(specs) == 0 {
		return nil, errs.New(errs.NotFound, "hemera.Bench", "--meter", "this machine has no meter that can be read").
			WithRemedy("hemera bench energy --list says why; name one with --meter, or estimate: --meter model:idle=40,peak=58")
	}
	// Nothing is read yet; the sampler takes the first readings.
	var meters []meter.Meter
	names := map[string]bool{}
	for _, spec := range specs {
		// The address is part of the name, so two machines have two names.
		m, err := meter.Open(spec, o)
		if err != nil {
			return nil, err
		}
		// The same meter twice would count everything twice.
		if name := m.About().Name; names[name] {
			return nil, errs.New(errs.Invalid, "hemera.Bench", "--meter", fmt.Sprintf("%s is named twice", name))
		}
		names[m.About().Name] = true
		meters = append(meters, m)
	}
	return meters, nil
}

// rest waits for the idle time, and returns its window.
func rest(ctx context.Context, idle time.Duration, rec *result.Recorder) (energy.Window, error) {
	// --idle 0 leaves out the results that follow from idle power.
	began := time.Now()
	if idle == 0 {
		return energy.Window{}, nil
	}
	// Only this timer and the meters work now, so the machine is idle.
	end := time.NewTimer(idle)
	defer end.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		// Once a second is enough for people.
		rec.Step(int(time.Since(began)), int(idle), "idle power, %v of %v", time.Since(began).Round(time.Second), idle)
		select {
		case <-ctx.Done():
			return energy.Window{}, context.Cause(ctx)
		case <-end.C:
			return energy.Window{From: began.Round(0), To: time.Now().Round(0)}, nil
		case <-tick.C:
		}
	}
}
