package nsbench

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestSeriesAgreesWithASlowTwin compares it with all values kept, over spans that make it double, and
// merged from two of different width.
func TestSeriesAgreesWithASlowTwin(t *testing.T) {
	type value struct{ at, took time.Duration }
	for _, end := range []time.Duration{time.Millisecond, 64 * time.Millisecond, 10 * time.Second, time.Hour} {
		var wide, narrow series
		var all []value
		for i := range 3000 {
			v := value{end * time.Duration(i) / 3000, time.Duration(1+i*i%50_000) * time.Microsecond}
			if i%10 == 0 {
				v.at /= 20
				narrow.add(v.at, v.took)
			} else {
				wide.add(v.at, v.took)
			}
			all = append(all, v)
		}
		narrow.merge(&wide)
		var ops int64
		for _, p := range narrow.points() {
			var in []time.Duration
			for _, v := range all {
				if v.at >= p.At && v.at < p.At+p.Width {
					in = append(in, v.took)
				}
			}
			slices.Sort(in)
			ops += p.Ops
			if p.Ops != int64(len(in)) || p.Max != in[len(in)-1] || !near(p.P50, in, 0.5) || !near(p.P99, in, 0.99) {
				t.Errorf("%v: %+v, but there are %d up to %v", end, p, len(in), in[len(in)-1])
			}
		}
		if width := narrow.width(); ops != int64(len(all)) || width*stretches < end || width > stretchMin && width*stretches > 2*end {
			t.Errorf("%v: %d of %d in stretches of %v", end, ops, len(all), width)
		}
	}
}

// near reports whether a quantile is the exact one, or larger by at most the width of a class.
func near(got time.Duration, sorted []time.Duration, q float64) bool {
	exact := sorted[int(math.Ceil(q*float64(len(sorted))))-1]
	return got >= exact && float64(got) <= 1.26*float64(exact)
}

func TestClassesAreInOrderAndClose(t *testing.T) {
	last := -1
	for took := time.Duration(0); took < 2*time.Second; took += 1 + took/50 {
		c := class(took)
		if c < last || c < classes-1 && (took > classEnd(c) || c > 0 && took < classEnd(c-1)) {
			t.Fatalf("%v is in class %d, which ends at %v, after class %d", took, c, classEnd(c), last)
		}
		if end := classEnd(c); c >= perDouble && c < classes-1 && float64(end) > 1.26*float64(took) {
			t.Fatalf("%v is told as %v", took, end)
		}
		last = c
	}
	if class(-1) != 0 || class(time.Hour) != classes-1 {
		t.Error("what is out of range has no class")
	}
}
