package recallorder

import (
	"slices"
	"time"
)

// nearMax is the number of the nearest segments behind each that are tried as its next one.
const nearMax = 10

// path is an order that is being improved. Segments are numbered by their place in the chunk; the number below is the start.
type path struct {
	segments []Segment
	start    uint64
	cost     Cost
	tour     []int
	place    []int     // of each segment in the tour
	near     [][]int32 // of each segment, and last of the start, the segments that are nearest behind it, nearest first
}

// atStart stands for the place where the tape is at first.
const atStart = -1

// newPath makes a path in the order of the chunk.
func newPath(start uint64, segments []Segment, chunk []int, cost Cost) *path {
	p := &path{start: start, cost: cost, place: make([]int, len(chunk)), near: make([][]int32, len(chunk)+1)}
	for i, s := range chunk {
		p.segments = append(p.segments, segments[s])
		p.tour = append(p.tour, i)
		p.place[i] = i
	}
	return p
}

// begin takes another order.
func (p *path) begin(tour []int) {
	p.tour = tour
	for at, s := range tour {
		p.place[s] = at
	}
}

// link returns the time from the end of one segment to the beginning of another. Behind the last one there is nothing to go to.
func (p *path) link(from, to int) time.Duration {
	if to == len(p.segments) {
		return 0
	}
	if from == atStart {
		return p.cost(p.start, p.segments[to].Begin)
	}
	return p.cost(p.segments[from].End, p.segments[to].Begin)
}

// at returns the segment at a place of the tour, with the start before the first and nothing behind the last.
func (p *path) at(place int) int {
	switch {
	case place < 0:
		return atStart
	case place >= len(p.tour):
		return len(p.segments)
	}
	return p.tour[place]
}

// length returns the time of all locates.
func (p *path) length() (total time.Duration) {
	for place := range p.tour {
		total += p.link(p.at(place-1), p.tour[place])
	}
	return total
}

// greedy goes to the nearest segment that is left, from the start on, and fills near.
func (p *path) greedy() {
	n := len(p.segments)
	tour := make([]int, 0, n)
	done := make([]bool, n)
	from := atStart
	for {
		next, shortest := -1, time.Duration(0)
		list := make([]candidate, 0, nearMax+1)
		for to := range n {
			if to == from {
				continue
			}
			// One call of the cost function serves both purposes.
			d := p.link(from, to)
			list = keepNearest(list, candidate{int32(to), d})
			if !done[to] && (next < 0 || d < shortest) {
				next, shortest = to, d
			}
		}
		p.remember(from, list)
		if next < 0 {
			break
		}
		tour, done[next], from = append(tour, next), true, next
	}
	p.begin(tour)
}

// candidate is a segment that may be the next one.
type candidate struct {
	to int32
	d  time.Duration
}

// keepNearest inserts a candidate into a short sorted list, unless it is too far.
func keepNearest(list []candidate, c candidate) []candidate {
	if len(list) == nearMax && c.d >= list[nearMax-1].d {
		return list
	}
	// Behind equal ones, so that the linear order decides between them.
	i := len(list)
	for i > 0 && list[i-1].d > c.d {
		i--
	}
	list = slices.Insert(list, i, c)
	return list[:min(len(list), nearMax)]
}

// remember stores the nearest segments behind one.
func (p *path) remember(from int, list []candidate) {
	// Small numbers: there are ten for each of thousands.
	near := make([]int32, len(list))
	for i, c := range list {
		near[i] = c.to
	}
	p.near[p.index(from)] = near
}

// index returns the place of a segment in near.
func (p *path) index(from int) int {
	if from == atStart {
		return len(p.segments)
	}
	return from
}
