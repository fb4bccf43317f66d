package netjudge

import (
	"math"
	"slices"
)

// Parameters of the statistical tests. The package doc has the reasons for the first four.
const (
	// lossMin is the least loss that matters. At 0.1 % and a round trip of 0.2 ms, TCP with segments of 1.4 KB gets about
	// 250 MB/s on one connection, which is the rate of a disk. A smaller loss is not a bottleneck.
	lossMin = 0.001
	// relativeLimit: a node must lose this many times the usual loss of the others.
	relativeLimit = 4
	// burst is the number of losses that count as one: segments lost from one queue at one moment are not independent.
	burst = 4
	// zSuspect is the number of standard deviations for nodes: one chance in 30,000 at the limit itself, and a usual loss is
	// a tenth of the limit.
	zSuspect = 4.0
	// zWell: 98 of 100 nodes that lose at the limit are not taken for well.
	zWell = 2.0
	// lostMin is the least number of losses: one bad moment is not enough.
	lostMin = 8
)

// interval returns the two ends of Wilson's interval for a share of r in n, at z standard deviations. Unlike the normal
// approximation it is right for shares near 0 and for few observations.
func interval(l Loss, z float64) (low, high float64) {
	n, r := l.Sent, min(l.Lost, l.Sent)
	if !(n > 0) || !(r >= 0) {
		return 0, 1 // nothing is known
	}
	p, zz := r/n, z*z
	middle, half := p+zz/(2*n), z*math.Sqrt(p*(1-p)/n+zz/(4*n*n))
	return max(0, (middle-half)/(1+zz/n)), min(1, (middle+half)/(1+zz/n))
}

// bunched returns a loss as the corresponding number of independent observations.
func bunched(l Loss) Loss { return Loss{l.Sent / burst, l.Lost / burst} }

// above reports whether the loss is certainly above the limit.
func above(l Loss, limit float64) bool {
	low, _ := interval(bunched(l), zSuspect)
	return l.Lost >= lostMin && low > limit
}

// below reports whether the loss is below the limit with certainty zWell.
func below(l Loss, limit float64) bool {
	_, high := interval(bunched(l), zWell)
	return high < limit
}

// SegmentsToSuspect returns the number of segments that a node must have sent or received, at a loss in (0,1), to be
// suspected in a cluster without other losses. It is 0 for a loss that is never suspected.
func SegmentsToSuspect(loss float64) int64 {
	if !(loss > lossMin && loss <= 1) {
		return 0
	}
	return least(func(n float64) bool { return above(Loss{n, n * loss}, lossMin) })
}

// SegmentsToClear returns the number of segments without a loss that show that a node loses less than the limit.
func SegmentsToClear() int64 {
	return least(func(n float64) bool { return below(Loss{n, 0}, lossMin) })
}

// least returns the smallest number with a property that all larger numbers have as well.
func least(enough func(n float64) bool) int64 {
	high := int64(1)
	for !enough(float64(high)) && high < 1<<50 {
		high *= 2
	}
	low := high / 2
	for high-low > 1 {
		if middle := (low + high) / 2; enough(float64(middle)) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// median sorts the list and returns its middle element, the lower one of two; 0 for an empty list.
func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[(len(list)-1)/2]
}
