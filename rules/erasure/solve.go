package erasure

// basis is a set of independent pieces. It answers quickly whether another piece is a combination of them. It is Gaussian
// elimination, a row at a time.
//
// A vector has two halves: its coefficients in data pieces, and its coefficients in the pieces that were added.
type basis struct {
	rank    int
	pivots  [PiecesMax]int    // the column in which a vector has a one and all later ones a zero
	vectors [PiecesMax]vector // in the order in which they were added
}

type vector [2 * PiecesMax]byte

// reduce subtracts vectors of the basis until no pivot is left. If v is a combination of the basis, the first half
// becomes zero, and the second half has the coefficients.
func (b *basis) reduce(v *vector) {
	for n := range b.rank {
		if f := v[b.pivots[n]]; f != 0 {
			low.GalMulSliceXor(f, b.vectors[n][:], v[:])
		}
	}
}

// add adds a piece unless it is a combination of those before.
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

// express writes the piece as a sum of pieces that were added. It returns the coefficient of each, and the set of those
// that are not zero. ok is false if the piece is not a combination of them.
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

// span adds the pieces to an empty basis, the lowest index first, until they are enough for the whole file. So data
// pieces come first, and their content is needed anyway.
func (c *Code) span(b *basis, pieces Set) {
	for i := range pieces.All() {
		if i >= c.pieces || b.rank == c.data {
			return
		}
		b.add(i, &c.rows[i])
	}
}
