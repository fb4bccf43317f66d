package recallorder

import "slices"

// Limits of the search for better orders.
const (
	runMax   = 10   // segments that are moved together
	movesMax = 2000 // tries for each segment
)

// moveRuns moves runs of segments to where they cost less, until no move helps or the tries are used.
func (p *path) moveRuns() {
	// Bounded, though each move makes the path shorter: near the end moves gain little.
	tries := movesMax * len(p.tour)
	for improved := true; improved && tries > 0; {
		improved = false
		for from := atStart; from < len(p.segments); from++ {
			for tries > 0 && p.improveAfter(from, &tries) {
				improved = true
			}
		}
	}
}

// improveAfter looks for a move that puts one of the nearest segments directly behind from, and makes the first that helps.
func (p *path) improveAfter(from int, tries *int) bool {
	// The start is before the first place of the tour.
	here := atStart
	if from != atStart {
		here = p.place[from]
	}
	now := p.link(from, p.at(here+1))
	for _, to := range p.near[p.index(from)] {
		// The list is sorted: those that follow are no nearer than what is there.
		if p.link(from, int(to)) >= now {
			return false
		}
		there := p.place[to]
		for run := 1; run <= runMax; run++ {
			*tries--
			// A run that begins with the segment comes behind from.
			if there+run <= len(p.tour) && (there > here || there+run <= here) && p.move(there, there+run, here+1) {
				return true
			}
			// Or a run that ends with from goes before the segment.
			if from != atStart && here-run+1 >= 0 && (there > here || there < here-run+1) && p.move(here-run+1, here+1, there) {
				return true
			}
		}
	}
	return false
}

// move puts the run of places begin to end before place to, which is outside of it, if that makes the path shorter.
func (p *path) move(begin, end, to int) bool {
	// It is there already.
	if to >= begin && to <= end {
		return false
	}
	// The run leaves its neighbours, which join, and comes between two others.
	first, last := p.at(begin), p.at(end-1)
	before, behind := p.at(begin-1), p.at(end)
	left, right := p.at(to-1), p.at(to)
	old := p.link(before, first) + p.link(last, behind) + p.link(left, right)
	now := p.link(left, first) + p.link(last, right) + p.link(before, behind)
	if now >= old {
		return false
	}
	p.rotate(begin, end, to)
	return true
}

// rotate moves a run; all between it and its new place moves the other way.
func (p *path) rotate(begin, end, to int) {
	low, middle, high := begin, end, to
	if to < begin {
		low, middle, high = to, begin, end
	}
	// Two parts change places; both keep their directions.
	part := p.tour[low:high]
	turned := slices.Concat(part[middle-low:], part[:middle-low])
	copy(part, turned)
	for at := low; at < high; at++ {
		p.place[p.tour[at]] = at
	}
}
