package storage

import (
	"time"

	"hemera/words/hemera"
)

// quantile estimates a quantile of a histogram, 0 to 1, by a straight line within its class. It is zero when nothing was
// counted, and the last bound for what lies above it.
func quantile(l hemera.Latency, q float64) time.Duration {
	var count int64
	for _, c := range l.Counts {
		count += c
	}
	rank := q * float64(count)
	var below float64
	var low time.Duration
	for class, c := range l.Counts {
		if class >= hemera.LatencyClasses-1 {
			break
		}
		high := hemera.LatencyBound(class)
		if n := float64(c); n > 0 {
			if below+n >= rank {
				return low + time.Duration(float64(high-low)*max(0, rank-below)/n)
			}
			below += n
		}
		low = high
	}
	return low * time.Duration(min(1, count))
}
