package erasure

// basis are pieces that were found to be independent, in a form in which it is easy to see whether another one follows
// from them. It is Gaussian elimination, a row at a time.
//
// A vector has two halves: what it is a sum of in data pieces, and which sum of pieces that were added it is.
type basis struct {
	rank    int
	pivots  [PiecesMax]int    // the column in which a vector has a one and all later ones a zero
	vectors [PiecesMax]vector // in the order in which they were added
}

type vector [2 * PiecesMax]byte

// reduce subtracts vectors of the basis until no pivot is left. The first half is zero then if v follows from the basis;
// the second half says how.
func (b *basis) reduce(v *vector) {
	for n := range b.rank {
		if f := v[b.pivots[n]]; f != 0 {
			low.GalMulSliceXor(f, b.vectors[n][:], v[:])
		}
	}
}

// add adds a piece unless it follows from those before.
func (b *basis) add(piece int, r *row) {
	var v vector
	copy(v[:], r[:])
	b.reduce(&v)
	v[PiecesMax+piece] ^= 1
	for column, f := range v[:PiecesMax] {
		if f != 0 {
			v2 := &b.vectors[b.rank]
			low.GalMulSlice(over(1, f), v[:], v2[:])
			b.pivots[b.rank] = column
			b.rank++
			return
		}
	}
}

// express returns the piece as a sum of pieces that were added: the coefficient of each, and which are not zero.
// It returns ok false if the piece does not follow from them.
func (b *basis) express(r *row) (coefficients row, of Set, ok bool) {
	var v vector
	copy(v[:], r[:])
	b.reduce(&v)
	if !allZero(v[:PiecesMax]) {
		return row{}, 0, false
	}
	copy(coefficients[:], v[PiecesMax:])
	for i, f := range coefficients {
		if f != 0 {
			of = of.With(i)
		}
	}
	return coefficients, of, true
}

// span fills an empty basis with the pieces, the lowest index first, until the whole file follows from it. Data pieces
// come first that way, and what is read of them is needed anyway.
func (c *Code) span(b *basis, pieces Set) {
	for i := range pieces.All() {
		if i >= c.pieces || b.rank == c.data {
			return
		}
		b.add(i, &c.rows[i])
	}
}
