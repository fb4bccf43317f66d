package ns

import (
	"fmt"
	"math"
	"time"

	"hemera/measure/report"
	"hemera/words/adminapi"
)

// latencyPanel returns the panel of a phase: the longest latency, the 99th percentile and the median of each interval, in
// seconds, over the time since the phase began. A point is in the middle of its interval.
func latencyPanel(title string, series []adminapi.BenchmarkPoint) report.Panel {
	curve := func(name string, of func(adminapi.BenchmarkPoint) time.Duration) report.Curve {
		c := report.Curve{Name: name}
		for _, p := range series {
			c.Points = append(c.Points, report.Point{X: (p.At + p.Width/2).Seconds(), Y: of(p).Seconds()})
		}
		return c
	}
	return report.Panel{Title: title, X: "time since the phase began (s)", Y: "latency", Curves: []report.Curve{
		curve("p50", func(p adminapi.BenchmarkPoint) time.Duration { return p.P50 }),
		curve("p99", func(p adminapi.BenchmarkPoint) time.Duration { return p.P99 }),
		curve("max", func(p adminapi.BenchmarkPoint) time.Duration { return p.Max }),
	}}
}

// decade formats a power of ten of seconds with its unit: 10 µs, 100 µs, 1 ms.
func decade(seconds float64) string {
	// Each unit is 1000 times the previous one; 10^-9 s is the first.
	units := []string{"ns", "µs", "ms", "s"}
	e := int(math.Round(math.Log10(seconds)))
	n := max(0, min(len(units)-1, (e+9)/3))
	return fmt.Sprintf("%.0f %s", math.Pow10(e+9-3*n), units[n])
}
