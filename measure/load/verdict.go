package load

import (
	"fmt"

	"hemera/measure/stats"
)

// Verdicts are about ratios of rates. A ratio has no unit, and 1 means no change.
const (
	// slightly is the change of a rate that is too small for a verdict, however certain it is.
	slightly = 0.02
	// narrow is the greatest distance of the interval's ends from 1 for the verdict that nothing changed.
	narrow = 0.1
	// confidence of the intervals.
	confidence = 0.95
)

// Verdicts of [judge].
const (
	slowed    = "slowed"
	faster    = "faster"
	same      = "not slowed"
	uncertain = "too noisy to say"
	unknown   = "too few iterations to say"
)

// judge returns an interval for the median of the ratios, and the verdict whether the rate changed. The interval is zero
// if there are too few ratios.
func judge(ratios []float64) (stats.Interval, string) {
	i, ok := stats.MedianInterval(ratios, confidence)
	switch {
	case !ok:
		return i, unknown
	case i.High < 1-slightly:
		return i, slowed
	case i.Low > 1+slightly:
		return i, faster
	// A narrow interval near 1 is a stronger statement than an interval that contains 1.
	case i.Low > 1-narrow && i.High < 1+narrow:
		return i, same
	}
	return i, uncertain
}

// sentence returns the verdict about a target for a reader.
func sentence(target string, ratios []float64) string {
	i, verdict := judge(ratios)
	if i == (stats.Interval{}) {
		return fmt.Sprintf("%s reached %.1f %% of its rate alone: %s", target, 100*stats.Median(ratios), verdict)
	}
	return fmt.Sprintf("%s reached %.1f %% of its rate alone (%.1f to %.1f): %s", target, 100*stats.Median(ratios), 100*i.Low, 100*i.High, verdict)
}
