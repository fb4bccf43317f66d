// Package stats evaluates the samples of a benchmark: it summarises measures, and decides whether two runs differ.
//
// Everything here is a pure function. The same samples give the same answer on every machine: the random numbers of the
// bootstrap begin with a fixed seed, and products are rounded, by float64(a*b), before they are added. Processors that
// multiply and add in one step, as aarch64 does, would give another last digit.
//
// # Interval
//
// The interval of a ratio is the bootstrap's: both sets are drawn again with replacement, thousands of times, and the
// interval holds the middle of the ratios of their medians. It needs no assumption about the shape of the distribution.
// Benchmarks have few samples, and then the plain percentiles are too close. So they are widened as in T. Hesterberg,
// "What Teachers Should Know About the Bootstrap", The American Statistician 69 (2015), section 3.2: by the quantile of
// Student's t for the smaller set, and by the square root of n/(n-1).
//
// # Verdict
//
//	Difference  the interval of the ratio does not include 1
//	Noise       it does: the samples do not show a difference
//	Unknown     there is no interval (too few samples, or a value that no ratio can be made of), or a machine had other work
//
// With few samples even sets that do not overlap at all prove little: three against three are apart by chance in one of
// ten comparisons. Comparison.Confidence is lower for them, and Basis says what was used. Published figures come without
// samples; their standard deviation is used as if it was of one value, which is the careful way.
package stats
