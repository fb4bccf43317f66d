package hemera

import (
	"sort"
	"time"
)

// latencyBounds are the upper ends of the classes of a [Latency], in nanoseconds. They never change
// within a metric's life: histograms of several disks, nodes or days can be added.
var latencyBounds = [...]time.Duration{
	10 * time.Microsecond, 25 * time.Microsecond, 50 * time.Microsecond, 100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second,
}

// LatencyClasses is the number of classes of a [Latency]: one for each bound, and one above the last.
const LatencyClasses = len(latencyBounds) + 1

// LatencyBound returns the upper end of a class below the last one.
func LatencyBound(class int) time.Duration { return latencyBounds[class] }

// LatencyClass returns the class a latency belongs to: the first whose bound it does not exceed.
func LatencyClass(d time.Duration) int {
	return sort.Search(len(latencyBounds), func(i int) bool { return d <= latencyBounds[i] })
}

// Latency is a histogram of latencies with fixed classes, since its process started. Its zero value
// is an empty one. Two histograms can be added class by class.
type Latency struct {
	Counts []int64 `json:",omitempty"` // by class, not cumulative; empty: nothing was counted
	Sum    time.Duration
}
