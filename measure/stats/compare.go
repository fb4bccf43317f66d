package stats

import (
	"fmt"
	"math"

	"hemera/measure/result"
)

// Verdict is the result of a comparison.
type Verdict string

// The verdicts; the package comment defines them.
const (
	Difference Verdict = "difference"
	Noise      Verdict = "noise"
	Unknown    Verdict = "unknown"
)

// Comparison compares two measures of the same quantity under the same conditions.
type Comparison struct {
	A, B       Summary
	Ratio      float64  // median of B divided by that of A; 0 if it has no meaning
	Interval   Interval // of the ratio; zero if Verdict is Unknown
	Confidence float64  // of the interval: less than requested for few samples
	Verdict    Verdict
	Basis      string // basis of the verdict, or the reason why there is none, for people
	Better     string // "A" or "B" if there is a difference and one of the two is the better one
}

// Compare compares two measures with a confidence such as 0.95. A is the base.
func Compare(a, b result.Measure, confidence float64) Comparison {
	c := Comparison{A: Of(a), B: Of(b), Verdict: Unknown}
	if c.A.N == 0 || c.B.N == 0 {
		c.Basis = "no samples"
		return c
	}
	// A ratio of values below zero has no meaning, and one with zero is infinite.
	if c.A.Min <= 0 || c.B.Min < 0 {
		c.Basis = "a value that is not above 0 has no ratio"
		return c
	}
	c.Ratio = c.B.Median / c.A.Median
	published := (c.A.N < BootstrapMin && a.Spread > 0) || (c.B.N < BootstrapMin && b.Spread > 0)
	switch i, ok := RatioInterval(a.Samples, b.Samples, confidence); {
	case ok:
		c.Interval, c.Confidence = i, min(confidence, attainable(c.A.N, c.B.N))
		c.Basis = fmt.Sprintf("bootstrap of %d and %d samples", c.A.N, c.B.N)
	case published:
		c.fromDeviations(confidence)
	default:
		c.Basis = fmt.Sprintf("%d and %d samples: %d are needed", c.A.N, c.B.N, BootstrapMin)
		return c
	}
	c.judge(b.Better)
	return c
}

// Judgement returns the verdict with its meaning for B, for people: "difference, worse", "noise", "unknown: the machine
// had other work".
func (c Comparison) Judgement() string {
	switch {
	case c.Verdict == Unknown:
		return string(c.Verdict) + ": " + c.Basis
	case c.Better == "A":
		return string(c.Verdict) + ", worse"
	case c.Better == "B":
		return string(c.Verdict) + ", better"
	}
	return string(c.Verdict)
}

// fromDeviations computes the interval from standard deviations, if samples are not published. For a side with samples it
// uses the deviation of their mean; a published deviation is used unchanged, because its number of samples is unknown.
func (c *Comparison) fromDeviations(confidence float64) {
	var relative float64 // variance of the logarithm of the ratio, to first order
	for _, s := range []Summary{c.A, c.B} {
		deviation := s.SD
		if s.N >= BootstrapMin {
			deviation /= math.Sqrt(float64(s.N))
		}
		share := deviation / s.Mean
		relative += float64(share * share)
	}
	width := math.Exp(normalQuantile((1-confidence)/2) * math.Sqrt(relative))
	c.Interval, c.Confidence = Interval{c.Ratio / width, c.Ratio * width}, confidence
	c.Basis = "published standard deviation"
	// A value of 0 has no logarithm, and a deviation of 0 may be unknown.
	if math.IsNaN(relative) || math.IsInf(relative, 0) || c.A.SD == 0 || c.B.SD == 0 {
		c.Interval, c.Confidence, c.Basis = Interval{}, 0, "only one side has a known deviation"
	}
}

// judge sets the verdict of the interval, and the better side.
func (c *Comparison) judge(better result.Better) {
	if c.Confidence == 0 {
		return
	}
	if c.Verdict = Noise; c.Interval.Holds(1) {
		return
	}
	c.Verdict = Difference
	switch {
	case better == result.Neither:
	case (better == result.Higher) == (c.Ratio > 1):
		c.Better = "B"
	default:
		c.Better = "A"
	}
}

// attainable returns the highest confidence for sets of these sizes: one minus the probability that sets of one
// distribution do not overlap at all, to either side.
func attainable(a, b int) float64 {
	ways := 1.0 // choices of the samples of a among all
	for i := 1; i <= a; i++ {
		ways *= float64(b+i) / float64(i)
	}
	return 1 - 2/ways
}
