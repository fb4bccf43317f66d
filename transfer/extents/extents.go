// Package extents remembers which bytes of a pending content were ever written. It is pure.
//
// Bytes outside of the set were certainly not written. What is in it may have any value: a set of very many ranges counts
// the smallest gaps between them as written too, so its memory is bounded.
package extents

import "slices"

// Max bounds how many separate ranges a set keeps apart.
const Max = 1024

// Set is a set of offsets: ranges in order, none touching the next. The zero value is empty. It is not safe for concurrent
// use.
type Set struct {
	list    []Extent
	guessed bool
}

// Extent is a range of offsets from From up to, but without, To.
type Extent struct{ From, To int64 }

// find returns the index of the first extent that ends after off.
func (e *Set) find(off int64) int {
	i, _ := slices.BinarySearchFunc(e.list, off, func(x Extent, off int64) int {
		if x.To <= off {
			return -1
		}
		return 1
	})
	return i
}

// Add records a write.
func (e *Set) Add(from, to int64) {
	if from >= to {
		return
	}
	// All that overlap or touch become one, so a content that is written in order has one extent.
	i := e.find(from - 1)
	j := i
	for ; j < len(e.list) && e.list[j].From <= to; j++ {
		from, to = min(from, e.list[j].From), max(to, e.list[j].To)
	}
	e.list = slices.Replace(e.list, i, j, Extent{from, to})
	// To call a gap written is never wrong. The smallest one costs a caller least.
	if len(e.list) > Max {
		least := 1
		for i := 2; i < len(e.list); i++ {
			if e.list[i].From-e.list[i-1].To < e.list[least].From-e.list[least-1].To {
				least = i
			}
		}
		e.list = slices.Replace(e.list, least-1, least+1, Extent{e.list[least-1].From, e.list[least].To})
		e.guessed = true
	}
}

// Cut forgets what is at size and above.
func (e *Set) Cut(size int64) {
	i := e.find(size)
	if i < len(e.list) && e.list[i].From < size {
		e.list[i].To = size
		i++
	}
	e.list = e.list[:min(i, len(e.list))]
}

// Within returns the written parts of a range.
func (e *Set) Within(from, to int64) (parts []Extent) {
	for i := e.find(from); i < len(e.list) && e.list[i].From < to; i++ {
		parts = append(parts, Extent{max(from, e.list[i].From), min(to, e.list[i].To)})
	}
	return parts
}

// Guessed reports whether a gap was ever counted as written, so that [Set.Covers] may be wrong.
func (e *Set) Guessed() bool { return e.guessed }

// Touches reports whether any of a range was written.
func (e *Set) Touches(from, to int64) bool {
	i := e.find(from)
	return i < len(e.list) && e.list[i].From < to
}

// Covers reports whether all of a range was written.
func (e *Set) Covers(from, to int64) bool {
	i := e.find(from)
	return i < len(e.list) && e.list[i].From <= from && e.list[i].To >= to
}
