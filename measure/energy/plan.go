package energy

import (
	"time"

	"hemera/measure/result"
)

// Assumptions has a user's information about the machines. The zero value subtracts nothing and has no capacity.
type Assumptions struct {
	Subtract float64 `json:"subtract_watts"`     // the constant power of other devices on the meters
	Weight   float64 `json:"delay_weight"`       // of the energy-delay product
	Capacity int64   `json:"capacity_bytes"`     // of the storage; 0 if unknown
	Cost     Cost    `json:"cost"`               // zero if unknown
	Currency string  `json:"currency,omitempty"` // of Cost
}

// Window is a time from From to To.
type Window struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Plan has the input of all results: the readings, the idle time, the assumptions, and the work of the levels.
type Plan struct {
	Courses []Course
	Idle    Window // without load; empty if it was not measured
	Began   time.Time
	Assumptions
}

// Use returns the energy of all meters from a to b. It returns false if one of them does not cover the time.
func (p *Plan) Use(a, b time.Time) (Use, bool) {
	u := Use{Seconds: b.Sub(a).Seconds()}
	for _, c := range p.Courses {
		joules, ok := c.Energy(a, b)
		if !ok {
			return Use{}, false
		}
		u.Joules += joules
	}
	u.Joules -= p.Subtract * u.Seconds
	return u, len(p.Courses) > 0
}

// IdlePower returns the mean power of the idle time in W, without the subtracted power. It returns false if it was not
// measured.
func (p *Plan) IdlePower() (float64, bool) {
	u, ok := p.Use(p.Idle.From, p.Idle.To)
	if !ok {
		return 0, false
	}
	return u.Watts(), true
}

// Estimate reports whether one of the meters estimates.
func (p *Plan) Estimate() bool {
	for _, c := range p.Courses {
		if c.Estimate {
			return true
		}
	}
	return false
}

// work is an iteration and its energy.
type work struct {
	labels result.Labels // with the level
	unit   string        // B or operations
	amount float64       // of the unit; 0 if the level counted nothing
	Use
}

// align returns the iterations of the levels with their energy, and the number of those that no meter covers.
func (p *Plan) align(levels []result.Level) (done []work, missed int) {
	for _, l := range levels {
		for _, i := range l.Iterations {
			u, ok := p.Use(i.Began.Round(0), i.Ended.Round(0)) // without the monotonic clock, which no log keeps
			if !ok {
				missed++
				continue
			}
			w := work{labels: labelsOf(l.Name, i.Labels), Use: u}
			switch {
			case i.Bytes > 0:
				w.unit, w.amount = "B", float64(i.Bytes)
			case i.Ops > 0:
				w.unit, w.amount = "1", float64(i.Ops)
			}
			done = append(done, w)
		}
	}
	return done, missed
}

// labelsOf returns the conditions of an iteration with its level.
func labelsOf(level string, l result.Labels) result.Labels {
	all := result.Labels{"level": level}
	for k, v := range l {
		all[k] = v
	}
	return all
}
