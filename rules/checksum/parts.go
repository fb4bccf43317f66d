package checksum

import (
	"slices"

	"hemera/words/hemera"
)

// PartsMax is the largest number of separate ranges that a [Parts] keeps.
const PartsMax = 64

// Parts combines the CRC32Cs of parts of a content that arrive in any order. Bytes that no part covers are zeros. The sum
// becomes unknown if bytes are written twice, or if there are more than [PartsMax] ranges at a time. The zero value is an
// empty content. It is not safe for concurrent use.
type Parts struct {
	list    []part // in order; none touches the next
	unknown bool
}

// part is a range of the content.
type part struct {
	from, to int64
	crc      Appender
}

// Add adds the n bytes at off, whose page fragments have these sums. It panics if sums has fewer than [Fragments]
// elements.
func (p *Parts) Add(off int64, n int, sums []uint32) {
	if p.unknown || n <= 0 {
		return
	}
	end := off + int64(n)
	// The usual part follows on the last one.
	i := len(p.list)
	for i > 0 && p.list[i-1].from >= end {
		i--
	}
	if i > 0 && p.list[i-1].to > off {
		p.Forget()
		return
	}
	if i == 0 || p.list[i-1].to < off {
		p.list = slices.Insert(p.list, i, part{from: off, to: off})
		i++
	}
	own := &p.list[i-1]
	for _, sum := range sums[:Fragments(off, n)] {
		k := min(hemera.PageSize-own.to%hemera.PageSize, end-own.to)
		own.crc.Append(sum, k)
		own.to += k
	}
	if i < len(p.list) && p.list[i].from == end {
		next := &p.list[i]
		own.crc.Append(next.crc.Sum(), next.to-next.from)
		own.to = next.to
		p.list = slices.Delete(p.list, i, i+1)
	}
	if len(p.list) > PartsMax {
		p.Forget()
	}
}

// Cut cuts the content to size bytes. The sum becomes unknown if that cuts a part in two.
func (p *Parts) Cut(size int64) {
	if size <= 0 {
		*p = Parts{}
		return
	}
	i := len(p.list)
	for i > 0 && p.list[i-1].from >= size {
		i--
	}
	p.list = p.list[:i]
	if i > 0 && p.list[i-1].to > size {
		p.Forget()
	}
}

// Forget marks the sum as unknown, until the content is cut to nothing.
func (p *Parts) Forget() { *p = Parts{unknown: true} }

// Sum returns the CRC32C of the content, which has size bytes, or false if it is not known.
func (p *Parts) Sum(size int64) (uint32, bool) {
	var whole Appender
	var done int64
	for i := range p.list {
		part := &p.list[i]
		if gap := part.from - done; gap > 0 {
			whole.Append(ZerosCRC32C(gap), gap)
		}
		whole.Append(part.crc.Sum(), part.to-part.from)
		done = part.to
	}
	if gap := size - done; gap > 0 {
		whole.Append(ZerosCRC32C(gap), gap)
	}
	return whole.Sum(), !p.unknown && done <= size
}
