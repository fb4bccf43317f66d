package nsbench

import (
	"math"
	"math/bits"
	"time"

	"hemera/words/adminapi"
)

// A series shows when latencies were high, which quantiles of a whole phase do not. The duration of a phase is unknown,
// so the intervals begin with a millisecond and double whenever the phase lasts longer.

const (
	// stretches is the number of intervals of a series; they begin with stretchMin and double when a phase lasts longer,
	// so that memory is bounded.
	stretches  = 64
	stretchMin = time.Millisecond
	// Classes of latency: four for each doubling, from unit up.
	classes   = 96
	perDouble = 4
)

// series has latencies over time. The zero value is ready for use. One goroutine adds to it; its size is fixed, about 26
// KB.
type series struct {
	doubled int                // stretches are stretchMin << doubled
	cells   [stretches]stretch // from the start of the phase on
}

// stretch has the operations that ended in one interval: their number, the longest, and the number in each class of
// latency.
type stretch struct {
	ops     int64
	longest time.Duration
	classes [classes]uint32 // operations by class of their latency
}

// width returns the present length of the intervals.
func (s *series) width() time.Duration { return stretchMin << s.doubled }

// add counts an operation with its duration and its end since the begin of the phase.
func (s *series) add(at, took time.Duration) {
	for at >= s.width()*stretches {
		s.double()
	}
	c := &s.cells[at/s.width()]
	c.ops++
	c.longest = max(c.longest, took)
	c.classes[class(took)]++
}

// double joins intervals in pairs, for twice the time.
func (s *series) double() {
	for i := range stretches / 2 {
		pair := s.cells[2*i]
		pair.merge(&s.cells[2*i+1])
		s.cells[i] = pair
	}
	clear(s.cells[stretches/2:])
	s.doubled++
}

// merge adds another series, in the wider intervals of the two. It does not change the other one.
func (s *series) merge(o *series) {
	for s.doubled < o.doubled {
		s.double()
	}
	narrow := *o // a copy, because o must not change
	for narrow.doubled < s.doubled {
		narrow.double()
	}
	for i := range s.cells {
		s.cells[i].merge(&narrow.cells[i])
	}
}

// merge adds another stretch.
func (c *stretch) merge(o *stretch) {
	c.ops += o.ops
	c.longest = max(c.longest, o.longest)
	for i, n := range o.classes {
		c.classes[i] += n
	}
}

// class returns the class of a latency: its power of two and the two bits after the first. So the width of a class is at
// most a quarter of its latency.
func class(took time.Duration) int {
	n := uint64(max(took/unit, 0))
	if n < perDouble {
		return int(n)
	}
	e := bits.Len64(n) - 1
	return min(perDouble*(e-1)+int(n>>(e-2)&(perDouble-1)), classes-1)
}

// classEnd returns the largest latency of a class.
func classEnd(c int) time.Duration {
	if c < perDouble {
		return time.Duration(c+1) * unit
	}
	e := c/perDouble + 1
	return time.Duration(math.Ldexp(float64(perDouble+c%perDouble+1), e-2)) * unit
}

// points returns the intervals with operations.
func (s *series) points() (out []adminapi.BenchmarkPoint) {
	for i := range s.cells {
		c := &s.cells[i]
		if c.ops > 0 {
			out = append(out, adminapi.BenchmarkPoint{
				At: s.width() * time.Duration(i), Width: s.width(), Ops: c.ops,
				P50: c.quantile(0.5), P99: c.quantile(0.99), Max: c.longest,
			})
		}
	}
	return out
}

// quantile returns a latency that the fraction q of the operations did not exceed: the end of its class, so up to a
// quarter too large.
func (c *stretch) quantile(q float64) time.Duration {
	want := int64(math.Ceil(q * float64(c.ops)))
	for i, n := range c.classes {
		if want -= int64(n); want <= 0 {
			return min(classEnd(i), c.longest)
		}
	}
	return c.longest
}
