package transfer

import "hemera/words/hemera"

// parityRow is the parity of one row: a block of each parity piece. Its blocks are memory with any content. The bytes from From up
// to To count, of a row that was sent also those from BackFrom up to BackTo; all others are zeros, or what the pieces have.
//
// It is not safe for concurrent use.
type parityRow struct {
	Number   int64
	Blocks   [][]byte // nil for pieces that are lost
	From, To int64    // what was changed and not sent, within the blocks, from a page's begin
	Used     uint64   // the turn of its last change
	// Sent says that the pieces have the parity of the row; then blocks have it in this range, of whole pages.
	Sent             bool
	BackFrom, BackTo int64
}

// IsNew reports whether neither the blocks nor the pieces have anything of the range.
func (r *parityRow) IsNew(from, to int64) bool {
	return !r.Sent && (r.From == r.To || to <= r.From || from >= r.To)
}

// Lacks returns what the caller has to read from the pieces before a change of the range in blocks of so many bytes: whole pages that
// adjoin what was read before. A row that was not sent lacks nothing. Each part counts once it was read; see [parityRow.HasRead].
func (r *parityRow) Lacks(from, to, size int64) (parts [][2]int64) {
	if !r.Sent {
		return nil
	}
	from, to = from/hemera.PageSize*hemera.PageSize, min((to+hemera.PageSize-1)/hemera.PageSize*hemera.PageSize, size)
	if r.BackFrom == r.BackTo {
		return [][2]int64{{from, to}}
	}
	// The bytes between two changes are read too, so that they can be sent with them.
	for _, part := range [][2]int64{{from, r.BackFrom}, {r.BackTo, to}} {
		if part[0] < part[1] {
			parts = append(parts, part)
		}
	}
	return parts
}

// HasRead records that the blocks have a part that they lacked.
func (r *parityRow) HasRead(part [2]int64) {
	if r.BackFrom == r.BackTo {
		r.BackFrom, r.BackTo = part[0], part[1]
	}
	r.BackFrom, r.BackTo = min(r.BackFrom, part[0]), max(r.BackTo, part[1])
}

// Touch records a change of part of the blocks, in bytes. The bytes that come to count by that become zeros. The range itself is left as it is if the
// caller is about to write all of it, which it may do with a range that is new.
func (r *parityRow) Touch(from, to int64, written bool) {
	// From a page's begin, so that the pieces need not put a checksum together.
	start := from / hemera.PageSize * hemera.PageSize
	if r.From == r.To {
		r.From, r.To = start, start
	}
	for _, part := range [][2]int64{{start, r.From}, {r.To, to}} {
		if written {
			r.zero(part[0], min(part[1], from))
			r.zero(max(part[0], to), part[1])
		} else {
			r.zero(part[0], part[1])
		}
	}
	r.From, r.To = min(r.From, start), max(r.To, to)
}

// zero clears a range of the blocks, if it has bytes. Of a row that was sent the pieces have the bytes, and the writer reads them.
func (r *parityRow) zero(from, to int64) {
	for _, b := range r.Blocks {
		if b != nil && from < to && !r.Sent {
			clear(b[from:to])
		}
	}
}
