package transfer

import "slices"

// extentsMax bounds how many separate ranges a write is remembered by.
const extentsMax = 1024

// extents are the ranges of a content that were ever written, in order, none touching the next. The zero value is empty.
// What they do not cover is zeros for certain; with very many ranges, gaps between them count as written too.
type extents struct {
	list []extent // in order, apart from each other
}

// extent is a range of offsets, without its end.
type extent struct{ from, to int64 }

// find returns the index of the first extent that ends after off.
func (e *extents) find(off int64) int {
	i, _ := slices.BinarySearchFunc(e.list, off, func(x extent, off int64) int {
		if x.to <= off {
			return -1
		}
		return 1
	})
	return i
}

// add records a write.
func (e *extents) add(from, to int64) {
	if from >= to {
		return
	}
	// All that overlap or touch become one, so a content that is written in order has one extent.
	i := e.find(from - 1)
	j := i
	for ; j < len(e.list) && e.list[j].from <= to; j++ {
		from, to = min(from, e.list[j].from), max(to, e.list[j].to)
	}
	e.list = slices.Replace(e.list, i, j, extent{from, to})
	// To call a gap written is never wrong: what is read there is zeros.
	if len(e.list) > extentsMax {
		e.list = append(e.list[:0], extent{e.list[0].from, e.list[len(e.list)-1].to})
	}
}

// cut forgets what is at size and above.
func (e *extents) cut(size int64) {
	i := e.find(size)
	if i < len(e.list) && e.list[i].from < size {
		e.list[i].to = size
		i++
	}
	e.list = e.list[:min(i, len(e.list))]
}

// within returns the written parts of a range.
func (e *extents) within(from, to int64) (parts []extent) {
	for i := e.find(from); i < len(e.list) && e.list[i].from < to; i++ {
		parts = append(parts, extent{max(from, e.list[i].from), min(to, e.list[i].to)})
	}
	return parts
}

// touches reports whether any of a range was written.
func (e *extents) touches(from, to int64) bool {
	i := e.find(from)
	return i < len(e.list) && e.list[i].from < to
}

// covers reports whether all of a range was written.
func (e *extents) covers(from, to int64) bool {
	i := e.find(from)
	return i < len(e.list) && e.list[i].from <= from && e.list[i].to >= to
}
