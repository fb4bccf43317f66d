package energy

import (
	"slices"
	"sort"
	"time"

	"hemera/measure/energy/meter"
)

// Course has the readings of one meter over time.
type Course struct {
	meter.About
	points []meter.Point // in the order of time, each time once
}

// NewCourse sorts readings by time. Of several readings at one time the last counts. A counter that went back was reset,
// for example by a restart of its device; it then continues from its earlier value.
func NewCourse(about meter.About, points []meter.Point) Course {
	points = slices.Clone(points)
	// Only the wall clock, which a log keeps. Otherwise a replay would differ by nanoseconds.
	for i := range points {
		points[i].At = points[i].At.Round(0)
	}
	slices.SortStableFunc(points, func(a, b meter.Point) int { return a.At.Compare(b.At) })
	// In place, because the copy belongs to this function.
	kept := points[:0]
	for i, p := range points {
		if i+1 < len(points) && points[i+1].At.Equal(p.At) {
			continue
		}
		kept = append(kept, p)
	}
	if about.Counter {
		// The sum of the counts before all resets so far.
		lift, last := 0.0, 0.0
		for i := range kept {
			raw := kept[i].Value
			if i > 0 && raw < last {
				lift += last
			}
			last = raw
			kept[i].Value = raw + lift
		}
	}
	return Course{About: about, points: kept}
}

// Len returns the number of readings.
func (c Course) Len() int { return len(c.points) }

// spans reports whether the readings cover the time from a to b.
func (c Course) spans(a, b time.Time) bool {
	n := len(c.points)
	return n >= 2 && !c.points[0].At.After(a) && !c.points[n-1].At.Before(b)
}

// Energy returns the energy in J from a to b. It returns false if the readings do not cover the time, or b is not after
// a.
func (c Course) Energy(a, b time.Time) (float64, bool) {
	if !c.spans(a, b) || !a.Before(b) {
		return 0, false
	}
	// A counter includes the energy between its readings, whatever the power was.
	if c.Counter {
		return c.at(b) - c.at(a), true
	}
	// The ends, interpolated, and the readings between them.
	joules := 0.0
	last := meter.Point{At: a, Value: c.at(a)}
	for _, p := range c.between(a, b) {
		joules += trapezoid(last, p)
		last = p
	}
	return joules + trapezoid(last, meter.Point{At: b, Value: c.at(b)}), true
}

// trapezoid returns the integral of a straight line between two points.
func trapezoid(a, b meter.Point) float64 {
	return (a.Value + b.Value) / 2 * b.At.Sub(a.At).Seconds()
}

// after returns the index of the first reading after t.
func (c Course) after(t time.Time) int {
	return sort.Search(len(c.points), func(i int) bool { return c.points[i].At.After(t) })
}

// between returns the readings after a and before b.
func (c Course) between(a, b time.Time) []meter.Point {
	from := c.after(a)
	to := from + sort.Search(len(c.points)-from, func(i int) bool { return !c.points[from+i].At.Before(b) })
	return c.points[from:to]
}

// at returns the value at a time within the readings, on the straight line between two of them.
func (c Course) at(t time.Time) float64 {
	i := c.after(t)
	// The last reading itself.
	if i == len(c.points) {
		return c.points[i-1].Value
	}
	p, q := c.points[i-1], c.points[i]
	share := t.Sub(p.At).Seconds() / q.At.Sub(p.At).Seconds()
	return p.Value + share*(q.Value-p.Value)
}

// Gap is a time without readings.
type Gap struct{ From, To time.Time }

// gapFactor is the ratio of a time between two readings to the usual time from which it counts as a gap.
const gapFactor = 5

// Gaps returns the times between a and b that are longer than five usual times between readings. The energy in a gap is a
// guess for powers, and exact for counters.
func (c Course) Gaps(a, b time.Time) []Gap {
	// The median, so that gaps do not count as usual.
	usual := c.Spacing()
	var gaps []Gap
	for i := 1; i < len(c.points); i++ {
		p, q := c.points[i-1].At, c.points[i].At
		if q.Sub(p) > gapFactor*usual && p.Before(b) && q.After(a) {
			gaps = append(gaps, Gap{p, q})
		}
	}
	return gaps
}

// Spacing returns the median time between two readings; 0 if there are fewer than two.
func (c Course) Spacing() time.Duration {
	if len(c.points) < 2 {
		return 0
	}
	between := make([]time.Duration, len(c.points)-1)
	for i := range between {
		between[i] = c.points[i+1].At.Sub(c.points[i].At)
	}
	slices.Sort(between)
	return between[len(between)/2]
}

// Powers returns the mean power in W in each of n equal parts of the time from a to b. Parts that the readings do not
// cover are left out.
func (c Course) Powers(a, b time.Time, n int) []meter.Point {
	step := b.Sub(a) / time.Duration(max(n, 1))
	var list []meter.Point
	for i := range n {
		from := a.Add(time.Duration(i) * step)
		if joules, ok := c.Energy(from, from.Add(step)); ok {
			list = append(list, meter.Point{At: from.Add(step / 2), Value: joules / step.Seconds()})
		}
	}
	return list
}
