package recallorder

import (
	"cmp"
	"slices"
	"time"
)

// Segment is a range of objects that is read at a time, End excluded: after it the tape stands at End.
type Segment struct{ Begin, End uint64 }

// Cost says how long a drive takes from one object to another.
type Cost func(from, to uint64) time.Duration

// chunkMax is the most segments that are put into order together.
const chunkMax = 4000

// Order returns the indexes of the segments in the order to read them, for a tape that stands at start. Cost must not be negative.
func Order(start uint64, segments []Segment, cost Cost) []int {
	order := Linear(segments)
	if len(order) < 2 {
		return order
	}
	// Chunks of about the same size, each a part of the tape.
	chunks := (len(order) + chunkMax - 1) / chunkMax
	done := 0
	for i := range chunks {
		end := len(order) * (i + 1) / chunks
		chunk := order[done:end]
		improve(start, segments, chunk, cost)
		start = segments[chunk[len(chunk)-1]].End
		done = end
	}
	return order
}

// Linear returns the indexes of the segments by the number of their first object: along the wraps, as they were written.
func Linear(segments []Segment) []int {
	order := make([]int, len(segments))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(segments[i].Begin, segments[j].Begin) })
	return order
}

// improve puts a chunk that is in linear order into a better one, in place.
func improve(start uint64, segments []Segment, chunk []int, cost Cost) {
	// The path works with places in the linear order: equal segments stay in their order.
	p := newPath(start, segments, chunk, cost)
	linear := slices.Clone(p.tour)
	p.greedy()
	p.moveRuns()
	best, least := slices.Clone(p.tour), p.length()
	if p.begin(linear); p.length() <= least {
		best = linear
	}
	members := slices.Clone(chunk)
	for i, place := range best {
		chunk[i] = members[place]
	}
}
