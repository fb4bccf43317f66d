package erasure

import (
	"fmt"
	"iter"
	"math/bits"
	"strings"
)

// PiecesMax is the largest number of pieces of a file, and the number of bits of a [Set].
const PiecesMax = 32

// Set is a set of pieces of one file: bit i is the piece with index i. Union, intersection and difference are the operators
// |, & and &^. The zero value is the empty set.
type Set uint32

// SetOf returns the set of the pieces with these indices. An index that is out of range is left out.
func SetOf(pieces ...int) (s Set) {
	for _, i := range pieces {
		s = s.With(i)
	}
	return s
}

// Range returns the set of the pieces from up to, but without, to.
func Range(from, to int) (s Set) {
	for i := max(from, 0); i < min(to, PiecesMax); i++ {
		s = s.With(i)
	}
	return s
}

// Has reports whether the piece is in the set.
func (s Set) Has(piece int) bool { return s&bit(piece) != 0 }

// With returns the set and the piece.
func (s Set) With(piece int) Set { return s | bit(piece) }

// Without returns the set without the piece.
func (s Set) Without(piece int) Set { return s &^ bit(piece) }

// Len returns the number of pieces in the set.
func (s Set) Len() int { return bits.OnesCount32(uint32(s)) }

// All yields the pieces of the set in ascending order.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(bits.TrailingZeros32(uint32(s))) {
				return
			}
		}
	}
}

// String lists the indices: "{0 1 5}".
func (s Set) String() string {
	var b strings.Builder
	for i := range s.All() {
		fmt.Fprintf(&b, " %d", i)
	}
	return "{" + strings.TrimPrefix(b.String(), " ") + "}"
}

// bit returns the set of one piece, or the empty set if the index is out of range.
func bit(piece int) Set {
	if uint(piece) >= PiecesMax {
		return 0
	}
	return 1 << piece
}
