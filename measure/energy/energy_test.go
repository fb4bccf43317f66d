package energy_test

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hemera/measure/energy"
	"hemera/measure/energy/meter"
	"hemera/measure/result"
)

// at returns the time some seconds after the start of a test's run.
func at(seconds float64) time.Time {
	return time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC).Add(time.Duration(seconds * 1e9))
}

// points makes readings of pairs of seconds and values.
func points(pairs ...float64) (list []meter.Point) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, meter.Point{At: at(pairs[i]), Value: pairs[i+1]})
	}
	return list
}

// watts and joules are courses of a power and of a counter.
func watts(pairs ...float64) energy.Course {
	return energy.NewCourse(meter.About{Name: "plug"}, points(pairs...))
}
func joules(pairs ...float64) energy.Course {
	return energy.NewCourse(meter.About{Name: "rapl", Counter: true}, points(pairs...))
}

// near reports whether two values are equal but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

func TestEnergyIsTheIntegral(t *testing.T) {
	for _, c := range []struct {
		name     string
		course   energy.Course
		from, to float64
		want     float64 // J; negative: not known
	}{
		{"constant power", watts(0, 50, 10, 50), 2, 5, 150},
		{"a ramp: 10 to 30 W within 10 s", watts(0, 10, 10, 30), 0, 10, 200},
		{"the middle of a ramp: 14 to 20 W within 3 s", watts(0, 10, 10, 30), 2, 5, 51},
		{"several trapezoids: 20 + 40·1 + half of 2·(40+20)", watts(0, 0, 1, 40, 2, 40, 4, 20), 0, 4, 20 + 40 + 60},
		{"the ends are readings", watts(0, 7, 1, 9, 2, 11), 1, 2, 10},
		{"within two readings of a slow meter", watts(0, 100, 15, 130), 5, 6, 111},
		{"before the first reading", watts(1, 5, 2, 5), 0, 2, -1},
		{"after the last reading", watts(1, 5, 2, 5), 1, 3, -1},
		{"no time at all", watts(0, 5, 2, 5), 1, 1, -1},
		{"backwards", watts(0, 5, 2, 5), 2, 1, -1},
		{"one reading", watts(0, 5), 0, 0, -1},
		{"no readings", watts(), 0, 1, -1},
		{"readings out of order", watts(10, 30, 0, 10, 5, 20), 0, 10, 200},
		{"the last of two readings of one time counts", watts(0, 10, 0, 20, 10, 20), 0, 10, 200},
		{"a counter", joules(0, 0, 1, 40, 2, 100), 0, 2, 100},
		{"a counter, interpolated at both ends: 20 + 30", joules(0, 0, 1, 40, 2, 100), 0.5, 1.5, 50},
		{"a counter with a gap is exact over it", joules(0, 0, 1, 40, 100, 4000), 0, 100, 4000},
		{"a counter that was reset counts on: 100, then 30", joules(0, 0, 1, 100, 2, 10, 3, 30), 0, 3, 130},
	} {
		got, ok := c.course.Energy(at(c.from), at(c.to))
		if ok != (c.want >= 0) || ok && !near(got, c.want) {
			t.Errorf("%s: %g J, %v; want %g J", c.name, got, ok, c.want)
		}
	}
}

func TestGapsAreFound(t *testing.T) {
	c := watts(0, 1, 1, 1, 2, 1, 3, 1, 4, 1, 10, 1, 11, 1)
	if got := c.Gaps(at(0), at(11)); !reflect.DeepEqual(got, []energy.Gap{{From: at(4), To: at(10)}}) {
		t.Errorf("gaps %v", got)
	}
	if got := c.Gaps(at(0), at(4)); got != nil {
		t.Errorf("gaps %v before the gap", got)
	}
	if c.Spacing() != time.Second {
		t.Errorf("one reading every %v", c.Spacing())
	}
}

func TestPowersOfParts(t *testing.T) {
	got := joules(0, 0, 1, 10, 2, 40, 3, 40).Powers(at(0), at(4), 4)
	want := points(0.5, 10, 1.5, 30, 2.5, 0) // the last second is not covered
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

func TestDerivedFigures(t *testing.T) {
	u := energy.Use{Joules: 500, Seconds: 10}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"mean power", u.Watts(), 50},
		{"above 40 W", u.Above(40), 100},
		{"work for a joule", u.PerJoule(2000), 4},
		{"EDP, w = 0", u.EDP(0), 500},
		{"EDP, w = 1", u.EDP(1), 5000},
		{"EDP, w = 2", u.EDP(2), 50000},
		{"EDP of one of 100: 5 J in 0.1 s", u.EDPOf(100, 1), 0.5},
		{"energy of 100 W in 2 years at 0.30", energy.Cost{PerKWh: 0.30, Years: 2}.Energy(100), 0.1 * 8766 * 2 * 0.30},
		{"a TB of 8, 1200 and 100 W for 2 years", energy.Cost{Capital: 1200, PerKWh: 0.30, Years: 2}.PerTB(100, 8e12), (1200 + 525.96) / 8},
	} {
		if !near(c.got, c.want) {
			t.Errorf("%s: %g, not %g", c.name, c.got, c.want)
		}
	}
}

// TestPublishedFiguresFollow computes the figures of "Energy of parallel file systems on ARM" (ENERGY 2022) from its inputs.
func TestPublishedFiguresFollow(t *testing.T) {
	plan := energy.NewPlan([]energy.Course{watts(0, 56.36, 30, 56.36)}, energy.Window{From: at(0), To: at(30)}, energy.Assumptions{Subtract: 15.46})
	idle, ok := plan.IdlePower()
	if !ok || !near(idle, 40.9) {
		t.Errorf("idle %g W, %v; printed 40.9 W", idle, ok)
	}
	const mib = 1 << 20
	for _, c := range []struct {
		name     string
		got      float64
		from, to float64 // what the printed figure may be rounded from
	}{
		{"4 nodes with 2 disks of 1 TB at 40.9 W: 0.196 TB/W", energy.PerWatt(8e12, idle) / 1e12, 0.1955, 0.1965},
		// This capacity is inferred from the printed 0.073 TB/W: package reference, TestInferredCapacity.
		{"51.2 TB at 699.3 W: 0.073 TB/W", energy.PerWatt(51.2e12, 699.3) / 1e12, 0.0725, 0.0735},
		// The printed ratio is "about 121 %"; with the peak powers for the powers while writing it is 123 %.
		{"writing with OrangeFS on ARM for a joule, above Ceph on x86", energy.PerWatt(289.23*mib, 58.9)/energy.PerWatt(2322.47*mib, 1057) - 1, 1.19, 1.25},
	} {
		if c.got < c.from || c.got > c.to {
			t.Errorf("%s: %g", c.name, c.got)
		}
	}
}

// write and read are two conditions of a level: 100 MB within 2 s and within 1 s.
func levels() []result.Level {
	iteration := func(load string, from, to float64) result.Iteration {
		return result.Iteration{Labels: result.Labels{"load": load, "clients": "1"}, Began: at(from), Ended: at(to), Bytes: 100e6}
	}
	return []result.Level{{Name: "io", Iterations: []result.Iteration{iteration("write", 10, 12), iteration("write", 12, 14), iteration("read", 14, 15)}}}
}

// recorded runs a plan, and returns what it recorded.
func recorded(t *testing.T, p *energy.Plan, dir string, of []result.Level) result.Level {
	t.Helper()
	rec := result.NewRecorder(dir, "energy", nil)
	p.Record(of, rec)
	return rec.End()
}

// sampleOf is the only sample, or all samples, of a measure.
func samplesOf(l result.Level, name, load string) []float64 {
	for _, m := range l.Measures {
		if m.Name == name && m.Labels["load"] == load {
			return m.Samples
		}
	}
	return nil
}

// plan has two machines: a plug of 30 W that has 50 W under load, and a counter of 10 W. A switch of 5 W is on the plug.
func plan() *energy.Plan {
	plug := watts(0, 30, 9.999999999, 30, 10, 50, 14, 50, 20, 50)
	counter := joules(0, 0, 20, 200)
	return energy.NewPlan([]energy.Course{plug, counter}, energy.Window{From: at(0), To: at(9)},
		energy.Assumptions{Subtract: 5, Weight: 1, Capacity: 7e12, Currency: "EUR", Cost: energy.Cost{Capital: 700, PerKWh: 0.3, Years: 1}})
}

func TestIterationsGetTheirEnergy(t *testing.T) {
	l := recorded(t, plan(), t.TempDir(), levels())
	for _, c := range []struct {
		name, load string
		want       []float64
	}{
		{"energy", "write", []float64{110, 110}}, // (50+10−5) W · 2 s
		{"energy", "read", []float64{55}},
		{"power", "write", []float64{55, 55}},
		{"power_above_idle", "read", []float64{20}},
		{"bytes_per_joule", "write", []float64{100e6 / 110, 100e6 / 110}},
		{"energy_delay", "write", []float64{220, 220}},
		{"energy_delay_normalised", "write", nil}, // one condition has nothing to be compared with
		{"power_idle", "", []float64{35}},
		{"capacity_per_watt", "", []float64{7e12 / 35}},
		{"energy_cost_per_tb", "", []float64{0.035 * 8766 * 0.3 / 7}},
		{"cost_per_tb", "", []float64{(700 + 0.035*8766*0.3) / 7}},
	} {
		got := samplesOf(l, c.name, c.load)
		if len(got) != len(c.want) {
			t.Errorf("%s %s: %v, not %v", c.name, c.load, got, c.want)
			continue
		}
		for i := range got {
			if !near(got[i], c.want[i]) {
				t.Errorf("%s %s: %v, not %v", c.name, c.load, got, c.want)
			}
		}
	}
}

func TestDelayProductsAreNormalisedToTheLowest(t *testing.T) {
	of := levels()
	// Two clients do twice the work in 3 s: (55·3)·3 for 2 units against (55·2)·2 for 1; for a unit 123.75 against 220.
	of[0].Iterations = append(of[0].Iterations, result.Iteration{Labels: result.Labels{"load": "write", "clients": "2"}, Began: at(15), Ended: at(18), Bytes: 200e6})
	l := recorded(t, plan(), t.TempDir(), of)
	for _, m := range l.Measures {
		if m.Name != "energy_delay_normalised" || m.Labels["load"] != "write" {
			continue
		}
		want := map[string]float64{"1": 220 / 123.75, "2": 1}[m.Labels["clients"]]
		if !near(m.Samples[0], want) {
			t.Errorf("%v: %v, not %g", m.Labels, m.Samples, want)
		}
	}
}

func TestWhatAReaderMustKnowIsNoted(t *testing.T) {
	estimate := plan()
	estimate.Courses[1].Estimate = true
	slow := energy.NewPlan([]energy.Course{watts(0, 30, 15, 50, 30, 50)}, energy.Window{}, energy.Assumptions{})
	away := energy.NewPlan([]energy.Course{watts(0, 30, 1, 50, 13, 50)}, energy.Window{}, energy.Assumptions{})
	hungry := plan()
	hungry.Subtract = 100
	for _, c := range []struct {
		name string
		plan *energy.Plan
		want string
	}{
		{"an estimate", estimate, "ESTIMATED"},
		{"a slow meter", slow, "3 of 3 iterations have fewer than two"},
		{"iterations outside", away, "2 iterations are outside"},
		{"too much subtracted", hungry, "used no energy"},
	} {
		l := recorded(t, c.plan, t.TempDir(), levels())
		if notes := strings.Join(l.Notes, "\n"); !strings.Contains(notes, c.want) {
			t.Errorf("%s: no %q in\n%s", c.name, c.want, notes)
		}
	}
	for _, m := range recorded(t, estimate, t.TempDir(), levels()).Measures {
		if m.Estimate != (m.Labels["meter"] != "plug") {
			t.Errorf("%s %v: estimate is %v", m.Name, m.Labels, m.Estimate)
		}
	}
}

func TestEveryPointOfAFigureIsOneMeasure(t *testing.T) {
	of := levels()
	of[0].Iterations = append(of[0].Iterations, result.Iteration{Labels: result.Labels{"load": "write", "clients": "2"}, Began: at(15), Ended: at(18), Bytes: 200e6})
	of = append(of, result.Level{Name: "ns", Iterations: []result.Iteration{{Labels: result.Labels{"phase": "mkdir"}, Began: at(18), Ended: at(19), Ops: 100}}})
	l := recorded(t, plan(), t.TempDir(), of)
	if len(l.Figures) != 5 { // power, capacity, two of io, and the efficiency of ns
		t.Errorf("%d figures", len(l.Figures))
	}
	for _, f := range l.Figures {
		seen, drawn := map[string]bool{}, 0
		for _, m := range l.Measures {
			fits := m.Name == f.Names[0]
			for k, v := range f.Where {
				fits = fits && m.Labels[k] == v
			}
			if !fits {
				continue
			}
			drawn++
			key := m.Labels[f.X]
			for _, g := range f.Group {
				key += "/" + m.Labels[g]
			}
			if seen[key] {
				t.Errorf("%s has two measures at %s", f.ID, key)
			}
			seen[key] = true
		}
		if drawn == 0 {
			t.Errorf("%s is empty", f.ID)
		}
	}
}

func TestAReplayGivesTheSameFigures(t *testing.T) {
	dir := t.TempDir()
	rec := result.NewRecorder(dir, "energy", nil)
	raw := func(name string) (io.WriteCloser, error) { return rec.Raw(name) }
	p := plan()
	p.Courses[1].Name = "ipmi:bmc/1" // no name of a file
	p.Record(levels(), rec)
	first := rec.End()
	if err := p.WriteCourses(raw); err != nil {
		t.Fatal(err)
	}
	if err := p.WritePlan(raw); err != nil {
		t.Fatal(err)
	}
	// The levels come from a file, too.
	text, err := json.Marshal(levels())
	var of []result.Level
	if err != nil || json.Unmarshal(text, &of) != nil {
		t.Fatal(err)
	}
	again, err := energy.ReadPlan(dir)
	if err != nil {
		t.Fatal(err)
	}
	second := recorded(t, again, t.TempDir(), of)
	if !reflect.DeepEqual(first.Measures, second.Measures) || !reflect.DeepEqual(first.Notes, second.Notes) {
		t.Errorf("the replay differs:\n%+v\n%+v", first.Measures, second.Measures)
	}
	// A plan cannot name files elsewhere.
	path := filepath.Join(dir, "raw", "energy-plan.json")
	hostile := strings.Replace(string(readFile(t, path)), "energy-plug.csv", "../../../energy-plug.csv", 1)
	if err := os.WriteFile(path, []byte(hostile), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := energy.ReadPlan(dir); err != nil {
		t.Errorf("the name leads out of the directory: %v", err)
	}
}

// readFile returns a file.
func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestARecordedRunGivesItsFigures computes the figures of a real run again from its logs.
func TestARecordedRunGivesItsFigures(t *testing.T) {
	const dir = "testdata/run"
	run, err := result.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := energy.ReadPlan(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, want := recorded(t, p, t.TempDir(), run.Levels[:1]).Measures, run.Levels[1].Measures
	if len(got) != len(want) || len(got) < 10 {
		t.Fatalf("%d measures, not %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		same := g.Name == w.Name && g.Unit == w.Unit && g.Estimate && reflect.DeepEqual(g.Labels, w.Labels) && len(g.Samples) == len(w.Samples) && len(g.Series) == len(w.Series)
		for k := range min(len(g.Samples), len(w.Samples)) {
			same = same && near(g.Samples[k], w.Samples[k])
		}
		if !same {
			t.Errorf("%+v, not %+v", g, w)
		}
	}
}
