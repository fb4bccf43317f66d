package load

import (
	"fmt"

	"hemera/measure/stats"
)

// The verdicts are about ratios of rates. A ratio has no unit, and 1 is "as if it were alone".
const (
	// slightly is the change of a rate that is not worth a verdict, however certain it is.
	slightly = 0.02
	// narrow is how far from 1 the interval may reach for the verdict that nothing changed.
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

// judge says whether a rate changed, from the ratios of some iterations: where their median probably is, and the verdict.
// The interval is zero if there are too few ratios for one.
func judge(ratios []float64) (stats.Interval, string) {
	i, ok := stats.MedianInterval(ratios, confidence)
	switch {
	case !ok:
		return i, unknown
	case i.High < 1-slightly:
		return i, slowed
	case i.Low > 1+slightly:
		return i, faster
	// An interval that is narrow and near 1 says more than one that is merely around it.
	case i.Low > 1-narrow && i.High < 1+narrow:
		return i, same
	}
	return i, uncertain
}

// sentence is the verdict of a target for a reader.
func sentence(target string, ratios []float64) string {
	i, verdict := judge(ratios)
	if i == (stats.Interval{}) {
		return fmt.Sprintf("%s reached %.1f %% of its rate alone: %s", target, 100*stats.Median(ratios), verdict)
	}
	return fmt.Sprintf("%s reached %.1f %% of its rate alone (%.1f to %.1f): %s", target, 100*stats.Median(ratios), 100*i.Low, 100*i.High, verdict)
}
