package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Interval is a confidence interval of a value.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Holds reports whether v is in the interval, which includes its ends.
func (i Interval) Holds(v float64) bool { return i.Low <= v && v <= i.High }

const (
	// draws is the number of draws of the bootstrap: more would move the ends of an interval by less than one sample
	// does.
	draws = 4000
	// seedHigh and seedLow seed the random numbers, so that the same samples give the same interval everywhere.
	seedHigh, seedLow = 0x68656d657261, 0x62656e6368
)

// BootstrapMin is the fewest samples for an interval. Two can be drawn in three ways only.
const BootstrapMin = 3

// MedianInterval returns the bootstrap interval of the median, for a confidence such as 0.95. ok is false for fewer than
// BootstrapMin samples.
func MedianInterval(samples []float64, confidence float64) (i Interval, ok bool) {
	if len(samples) < BootstrapMin {
		return Interval{}, false
	}
	medians := make([]float64, draws)
	dice := rand.New(rand.NewPCG(seedHigh, seedLow))
	again := make([]float64, len(samples))
	for d := range medians {
		medians[d] = drawMedian(dice, samples, again)
	}
	return middle(medians, widened(len(samples), confidence)), true
}

// RatioInterval returns the bootstrap interval of the median of b divided by the median of a. ok is false if one has
// fewer than BootstrapMin samples, or if a has a sample that is not above 0, because then a ratio has no meaning.
func RatioInterval(a, b []float64, confidence float64) (i Interval, ok bool) {
	if min(len(a), len(b)) < BootstrapMin || slices.Min(a) <= 0 {
		return Interval{}, false
	}
	ratios := make([]float64, draws)
	dice := rand.New(rand.NewPCG(seedHigh, seedLow))
	againA, againB := make([]float64, len(a)), make([]float64, len(b))
	for d := range ratios {
		base := drawMedian(dice, a, againA)
		ratios[d] = drawMedian(dice, b, againB) / base
	}
	return middle(ratios, widened(min(len(a), len(b)), confidence)), true
}

// drawMedian draws as many samples as there are, with replacement, into again and returns their median.
func drawMedian(dice *rand.Rand, samples, again []float64) float64 {
	for i := range again {
		again[i] = samples[dice.IntN(len(samples))]
	}
	slices.Sort(again)
	return sortedPercentile(again, 50)
}

// middle returns the interval without the given fraction of the values at each end.
func middle(values []float64, outside float64) Interval {
	slices.Sort(values)
	return Interval{sortedPercentile(values, 100*outside), sortedPercentile(values, 100*(1-outside))}
}

// widened returns the fraction of the draws to leave out at each end, so that an interval of n samples has about the
// confidence. Without the correction it would be (1-confidence)/2, which is right only for many samples.
func widened(n int, confidence float64) (outside float64) {
	t := studentQuantile((1-confidence)/2, float64(n-1))
	return math.Erfc(t*math.Sqrt(float64(n)/float64(n-1))/math.Sqrt2) / 2
}

// studentQuantile returns the value that Student's t with some degrees of freedom exceeds with probability tail, below
// 0.5.
func studentQuantile(tail, freedom float64) float64 {
	// The tail of t is half of the regularised incomplete beta function of freedom/(freedom+t²).
	x := mathext.InvRegIncBeta(freedom/2, 0.5, 2*tail)
	return math.Sqrt(freedom * (1 - x) / x)
}

// normalQuantile returns the value that a standard normal variable exceeds with probability tail.
func normalQuantile(tail float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*tail) }
