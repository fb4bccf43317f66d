package stats

import (
	"math"
	"slices"

	"hemera/measure/result"
)

// Summary summarises the samples of one measure. All values have the unit of the measure.
type Summary struct {
	N      int     // samples
	Mean   float64 // 0 without samples
	SD     float64 // standard deviation of the samples, or the published one; 0 if neither is known
	Median float64
	Min    float64
	Max    float64
}

// Of summarises a measure. A published spread replaces the deviation that a single sample cannot have.
func Of(m result.Measure) Summary {
	s := Summarise(m.Samples)
	if s.N < 2 && m.Spread > 0 {
		s.SD = m.Spread
	}
	return s
}

// Summarise summarises samples. One sample has no deviation.
func Summarise(samples []float64) Summary {
	if len(samples) == 0 {
		return Summary{}
	}
	mean, sd := MeanSD(samples)
	sorted := slices.Sorted(slices.Values(samples))
	return Summary{N: len(samples), Mean: mean, SD: sd, Median: sortedPercentile(sorted, 50), Min: sorted[0], Max: sorted[len(sorted)-1]}
}

// MeanSD returns the mean and the standard deviation of samples, as of a sample and not of a population: the sum is
// divided by n-1. The deviation of fewer than two samples is 0.
func MeanSD(samples []float64) (mean, sd float64) {
	n := float64(len(samples))
	if n == 0 {
		return 0, 0
	}
	// Divided before the addition, so that large values do not overflow.
	for _, v := range samples {
		mean += v / n
	}
	if n < 2 {
		return mean, 0
	}
	// Two passes: the sum of squares alone loses the digits of a small spread around a large mean.
	for _, v := range samples {
		sd += float64((v - mean) * (v - mean))
	}
	return mean, math.Sqrt(sd / (n - 1))
}

// Median returns the middle value, or the mean of the two middle values; 0 without samples.
func Median(samples []float64) float64 { return Percentile(samples, 50) }

// Percentile returns the value that percent of the samples do not exceed, with linear interpolation between neighbours: 0
// is the smallest, 100 the largest. A percentage outside is moved to the nearer end. It returns 0 without samples.
func Percentile(samples []float64, percent float64) float64 {
	return sortedPercentile(slices.Sorted(slices.Values(samples)), percent)
}

// sortedPercentile returns the percentile of sorted samples.
func sortedPercentile(sorted []float64, percent float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	// The place of the percentile, from 0 to the last index.
	at := min(max(percent, 0), 100) / 100 * float64(len(sorted)-1)
	low := int(at)
	if low == len(sorted)-1 {
		return sorted[low]
	}
	part := at - float64(low)
	return float64(sorted[low]*(1-part)) + float64(sorted[low+1]*part)
}
