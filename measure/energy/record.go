package energy

import (
	"fmt"
	"slices"
	"time"

	"hemera/measure/result"
)

// The names of the measures.
const (
	namePower      = "power"            // W, of an iteration
	nameAbove      = "power_above_idle" // W
	nameEnergy     = "energy"           // J
	nameEfficiency = "bytes_per_joule"  // B/J
	nameOperations = "operations_per_joule"
	nameEDP        = "energy_delay"            // J·s^w
	nameNormalised = "energy_delay_normalised" // 1 is the lowest
	nameIdle       = "power_idle"
	nameCapacity   = "capacity_per_watt"
	nameCost       = "cost_per_tb"
	nameEnergyCost = "energy_cost_per_tb"
	nameMeter      = "power_measured" // W, of each meter over the whole run
)

// Record computes all results of the levels and adds them to rec, for live runs and for replays.
func (p *Plan) Record(levels []result.Level, rec *result.Recorder) {
	has := map[string]bool{nameMeter + "/": true} // measures by name and level
	put := func(name, unit string, better result.Better, labels result.Labels, value float64) {
		has[name+"/"+labels["level"]] = true
		rec.Add(result.Measure{Name: name, Labels: labels, Unit: unit, Better: better, Samples: []float64{value}, Estimate: p.Estimate()})
	}
	p.describe(rec)
	p.standing(put)
	// Without an idle time there is no comparison.
	idle, rested := p.IdlePower()
	done, missed := p.align(levels)
	lowest := p.lowest(done)
	for _, w := range done {
		put(nameEnergy, "J", result.Lower, w.labels, w.Joules)
		put(namePower, "W", result.Lower, w.labels, w.Watts())
		if rested {
			put(nameAbove, "W", result.Lower, w.labels, w.Watts()-idle)
		}
		put(nameEDP, p.edpUnit(), result.Lower, w.labels, w.EDP(p.Weight))
		if w.amount == 0 {
			continue
		}
		// The rate per watt and the work per joule are the same number.
		if w.unit == "B" {
			put(nameEfficiency, "B/J", result.Higher, w.labels, w.PerJoule(w.amount))
		} else {
			put(nameOperations, "1/J", result.Higher, w.labels, w.PerJoule(w.amount))
		}
		if low, ok := lowest[kindOf(w)]; ok {
			put(nameNormalised, "", result.Lower, w.labels, w.EDPOf(w.amount, p.Weight)/low)
		}
	}
	p.courses(rec)
	p.notes(levels, done, missed, rec)
	for _, f := range figures(done) {
		// A figure without a measure would be empty.
		if p.Estimate() {
			f.Title += " (estimate)"
		}
		if has[f.Names[0]+"/"+f.Where["level"]] {
			rec.Figure(f)
		}
	}
}

// edpUnit returns the unit of the energy-delay product.
func (p *Plan) edpUnit() string {
	switch p.Weight {
	case 0:
		return "J"
	case 1:
		return "J·s"
	}
	return fmt.Sprintf("J·s^%g", p.Weight)
}

// standing adds the results that follow from the idle power alone.
func (p *Plan) standing(put func(name, unit string, better result.Better, labels result.Labels, value float64)) {
	idle, ok := p.IdlePower()
	if !ok {
		return
	}
	rest := result.Labels{"state": "idle"}
	put(nameIdle, "W", result.Lower, rest, idle)
	// The capacity is unknown, or the subtraction left nothing.
	if p.Capacity <= 0 || idle <= 0 {
		return
	}
	put(nameCapacity, "B/W", result.Higher, rest, PerWatt(float64(p.Capacity), idle))
	unit := p.Currency + "/TB"
	if p.Cost.PerKWh > 0 {
		put(nameEnergyCost, unit, result.Lower, rest, Cost{PerKWh: p.Cost.PerKWh, Years: p.Cost.Years}.PerTB(idle, float64(p.Capacity)))
	}
	if p.Cost.Capital > 0 {
		put(nameCost, unit, result.Lower, rest, p.Cost.PerTB(idle, float64(p.Capacity)))
	}
}

// kindOf returns the common part of the conditions whose energy-delay products can be compared: the level and the kind of
// work.
func kindOf(w work) string {
	return w.labels["level"] + "/" + w.labels["load"] + "/" + w.labels["phase"] + "/" + w.labels["direction"] + "/" + w.unit
}

// lowest returns the lowest mean energy-delay product of one unit of work, for each kind of work with several conditions.
// One condition alone has no comparison.
func (p *Plan) lowest(done []work) map[string]float64 {
	type mean struct{ sum, n float64 }
	means := map[string]map[string]*mean{} // by kind and conditions
	for _, w := range done {
		if w.amount == 0 {
			continue
		}
		kind, conditions := kindOf(w), fmt.Sprint(w.labels) // fmt sorts the keys of maps
		if means[kind] == nil {
			means[kind] = map[string]*mean{}
		}
		if means[kind][conditions] == nil {
			means[kind][conditions] = &mean{}
		}
		m := means[kind][conditions]
		m.sum, m.n = m.sum+w.EDPOf(w.amount, p.Weight), m.n+1
	}
	lowest := map[string]float64{}
	for kind, all := range means {
		if len(all) < 2 {
			continue
		}
		for _, m := range all {
			if low, ok := lowest[kind]; !ok || m.sum/m.n < low {
				lowest[kind] = m.sum / m.n
			}
		}
	}
	return lowest
}

// describe records the meters and the assumptions.
func (p *Plan) describe(rec *result.Recorder) {
	for _, c := range p.Courses {
		how := "measured"
		if c.Estimate {
			how = "ESTIMATED"
		}
		rec.Set("meter_"+c.Name, c.Covers)
		rec.Note("%s: %s. Resolution: %s. %d values, one every %v. The power is %s.", c.Name, c.Covers, c.Resolution, c.Len(), c.Spacing().Round(time.Millisecond), how)
	}
	rec.Set("subtracted_watts", fmt.Sprint(p.Subtract))
	rec.Set("delay_weight", fmt.Sprint(p.Weight))
	if p.Capacity > 0 {
		rec.Set("capacity_bytes", fmt.Sprint(p.Capacity))
	}
	if p.Cost.Capital > 0 || p.Cost.PerKWh > 0 {
		rec.Set("cost", fmt.Sprintf("%g %s for the machines, %g %s/kWh, %g years", p.Cost.Capital, p.Currency, p.Cost.PerKWh, p.Currency, p.Cost.Years))
	}
}

// seriesMax bounds the points of a plot: a screen does not show more.
const seriesMax = 1000

// courses adds the power of each meter over time.
func (p *Plan) courses(rec *result.Recorder) {
	for _, c := range p.Courses {
		if c.Len() < 2 {
			continue
		}
		// Without subtraction: the values of the meter.
		first, last := c.points[0].At, c.points[c.Len()-1].At
		m := result.Measure{Name: nameMeter, Labels: result.Labels{"meter": c.Name}, Unit: "W", Estimate: c.Estimate}
		joules, ok := c.Energy(first, last)
		if !ok {
			continue
		}
		m.Samples = []float64{joules / last.Sub(first).Seconds()}
		for _, q := range c.Powers(first, last, min(seriesMax, c.Len()-1)) {
			m.Series = append(m.Series, result.Point{At: q.At.Sub(p.Began).Seconds(), Value: q.Value})
		}
		rec.Add(m)
	}
}

// notes adds the notes that a reader needs to judge the results: gaps, slow meters, iterations without energy.
func (p *Plan) notes(levels []result.Level, done []work, missed int, rec *result.Recorder) {
	if missed > 0 {
		rec.Note("%d iterations are outside of the time that all meters cover. They have no energy.", missed)
	}
	for _, c := range p.Courses {
		// An iteration needs at least two readings to show its own power.
		short, all := 0, 0
		var gaps []Gap
		for _, l := range levels {
			for _, i := range l.Iterations {
				all++
				if len(c.between(i.Began, i.Ended)) < 2 {
					short++
				}
				gaps = append(gaps, c.Gaps(i.Began, i.Ended)...)
			}
		}
		if short > 0 {
			rec.Note("%s gives a value every %v, and %d of %d iterations have fewer than two: their energy is interpolated. Make them longer.",
				c.Name, c.Spacing().Round(time.Millisecond), short, all)
		}
		if n := len(slices.Compact(gaps)); n > 0 {
			rec.Note("%s gave no values %d times during iterations, at most %v. The power there is a straight line.", c.Name, n, longest(gaps).Round(time.Millisecond))
		}
	}
	if slices.ContainsFunc(done, func(w work) bool { return w.Joules <= 0 }) {
		rec.Note("Some iterations used no energy at all: the subtracted power is larger than the measured one.")
	}
}

// longest returns the length of the longest gap.
func longest(gaps []Gap) (d time.Duration) {
	for _, g := range gaps {
		d = max(d, g.To.Sub(g.From))
	}
	return d
}

// NewPlan makes a plan of readings.
func NewPlan(courses []Course, idle Window, a Assumptions) *Plan {
	p := &Plan{Courses: courses, Idle: idle, Assumptions: a}
	for _, c := range courses {
		if c.Len() > 0 && (p.Began.IsZero() || c.points[0].At.Before(p.Began)) {
			p.Began = c.points[0].At
		}
	}
	return p
}
