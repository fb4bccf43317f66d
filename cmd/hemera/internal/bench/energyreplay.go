package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"hemera/measure/energy"
	"hemera/measure/energy/meter"
	"hemera/measure/result"
	"hemera/words/errs"
)

// replayLevel recomputes the energy of an earlier run: from its logs, or from a recording of another program.
type replayLevel struct {
	*energyFlags
	s    *session
	from string // the directory of the run, or its result.json
	old  *result.Run
	plan *energy.Plan // set by prepare
}

// name implements level.
func (l *replayLevel) name() string { return "energy" }

// flags implements level. The command has the flags.
func (l *replayLevel) flags(*pflag.FlagSet) {}

// check implements level.
func (l *replayLevel) check(args []string, quick bool) error {
	if len(args) > 0 {
		return errs.New(errs.Invalid, "hemera.Bench", "--replay", "it takes no command")
	}
	// Both errors are reported together.
	run, err := result.Read(l.from)
	l.old = run
	return errors.Join(err, l.energyFlags.check(quick))
}

// prepare implements preparer.
func (l *replayLevel) prepare(context.Context) (err error) {
	l.plan, err = l.load()
	return err
}

// run implements level.
func (l *replayLevel) run(_ context.Context, rec *result.Recorder) error {
	// The run has the old machines, and the old levels except the energy.
	l.s.run.Machines = l.old.Machines
	l.s.run.Levels = slices.DeleteFunc(slices.Clone(l.old.Levels), func(o result.Level) bool { return o.Name == l.name() })
	// Two reports of one run must be distinguishable.
	rec.Note("Computed again from the logs of the run %s.", l.old.ID)
	// The same code as in a live run.
	l.plan.Record(l.s.run.Levels, rec)
	// The new directory can be replayed too.
	return errors.Join(l.plan.WriteCourses(rec.Raw), l.plan.WritePlan(rec.Raw))
}

// load returns the plan of the old run. Given flags replace its assumptions, and recordings its meters.
func (l *replayLevel) load() (*energy.Plan, error) {
	// The user may name the directory or its result.json.
	dir := l.from
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		dir = filepath.Dir(dir)
	}
	plan, err := energy.ReadPlan(dir)
	// A recording replaces all meters of the run: the same power would otherwise count twice.
	if len(l.meters) > 0 {
		plan, err = l.recorded(plan)
	}
	if err != nil {
		return nil, err
	}
	// Only given flags: the others were chosen for the measurement.
	for flag, set := range map[string]func(){
		"subtract":     func() { plan.Subtract = l.a.Subtract },
		"delay-weight": func() { plan.Weight = l.a.Weight },
		"capacity":     func() { plan.Capacity = l.a.Capacity },
		"price-kwh":    func() { plan.Cost.PerKWh = l.a.Cost.PerKWh },
		"capex":        func() { plan.Cost.Capital = l.a.Cost.Capital },
		"years":        func() { plan.Cost.Years = l.a.Cost.Years },
		"currency":     func() { plan.Currency = l.a.Currency },
	} {
		if l.given(flag) {
			set()
		}
	}
	return plan, nil
}

// recorded returns a plan of recordings. Without a plan of the run its idle time is the begin of the recording, if no
// level worked then.
func (l *replayLevel) recorded(old *energy.Plan) (*energy.Plan, error) {
	// Recordings of several machines are added up, like meters.
	var courses []energy.Course
	for _, spec := range l.meters {
		m, err := meter.Open(spec, meter.Options{Shift: l.shift})
		if err != nil {
			return nil, err
		}
		// Only a recording has past values.
		r, ok := m.(meter.Recorded)
		if !ok {
			meter.Close(m)
			return nil, errs.New(errs.Invalid, "hemera.Bench", spec, "the time that it would measure is over").WithRemedy("a replay takes csv:FILE")
		}
		points, err := r.Points()
		if err != nil {
			return nil, err
		}
		// NewCourse sorts them.
		courses = append(courses, energy.NewCourse(m.About(), points))
	}
	// The idle time of the old run; --csv-shift aligns the clocks.
	if old != nil {
		return energy.NewPlan(courses, old.Idle, old.Assumptions), nil
	}
	// A recording that began late has no idle time, and no idle power.
	plan := energy.NewPlan(courses, energy.Window{}, l.a)
	// As long as the idle time of a live run.
	idle := energy.Window{From: plan.Began, To: plan.Began.Add(l.idle)}
	if l.idle > 0 && !idle.To.After(firstWork(l.old)) {
		plan.Idle = idle
	}
	return plan, nil
}

// firstWork returns the begin of the first level of a run.
func firstWork(run *result.Run) time.Time {
	// The energy of the first run began with its idle time.
	first := run.Ended
	for _, level := range run.Levels {
		if level.Name != "energy" && level.Began.Before(first) {
			first = level.Began
		}
	}
	return first
}
