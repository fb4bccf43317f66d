package load

// The verdicts are about ratios of rates. A ratio has no unit, and 1 is "as if it were alone".

import (
	"fmt"
	"math"
)

// slightly is the change of a rate that is not worth a verdict, however certain it is.
const slightly = 0.02

// Verdicts of [judge].
const (
	slowed    = "slowed"
	faster    = "faster"
	same      = "not slowed"
	uncertain = "too noisy to say"
)

// judge says whether a rate changed, from the ratios of some iterations: their mean, the half-width of its 95 % confidence
// interval, and the verdict. One ratio has no spread, and so no verdict.
func judge(ratios []float64) (mean, half float64, verdict string) {
	n := float64(len(ratios))
	for _, r := range ratios {
		mean += r / n
	}
	if n < 2 {
		return mean, math.Inf(1), uncertain
	}
	// The ratios of a few iterations: their spread is estimated, so the interval is Student's.
	var squares float64
	for _, r := range ratios {
		squares += (r - mean) * (r - mean)
	}
	half = student(len(ratios)-1) * math.Sqrt(squares/(n-1)/n)
	low, high := mean-half, mean+half
	switch {
	case high < 1-slightly:
		return mean, half, slowed
	case low > 1+slightly:
		return mean, half, faster
	case low > 1-slowMost && high < 1+slowMost:
		return mean, half, same
	}
	return mean, half, uncertain
}

// slowMost is how wide the interval may be around 1 for the verdict that nothing changed.
const slowMost = 0.1

// student is the 97.5 % quantile of Student's t distribution with some degrees of freedom, one less than there are samples. A table
// has the numbers of iterations that people choose.
func student(freedom int) float64 {
	quantiles := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131}
	if freedom <= len(quantiles) {
		return quantiles[freedom-1]
	}
	return 1.96 + 2.6/float64(freedom) // within 0.5 % of the table from here on
}

// sentence is the verdict of a target for a reader.
func sentence(target string, ratios []float64) string {
	mean, half, verdict := judge(ratios)
	if math.IsInf(half, 1) {
		return fmt.Sprintf("%s reached %.1f %% of its rate alone: %s with one iteration", target, 100*mean, verdict)
	}
	return fmt.Sprintf("%s reached %.1f ± %.1f %% of its rate alone: %s", target, 100*mean, 100*half, verdict)
}
