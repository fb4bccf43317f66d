package erasure

// The coefficients of parity pieces. They are a stored format and must never change.

// row is a row of a code's matrix: the coefficient of each data piece.
type row [PiecesMax]byte

// cauchy returns row r of the parities of a Reed-Solomon code, for the data pieces 0 to data-1.
//
// 1/(x+y), with all x of the rows and all y of the columns distinct, is a Cauchy matrix: each of its square submatrices
// can be inverted. Therefore any k pieces are enough. Here x is r and y is 32+i. Each column is divided by its element in
// row 0, which keeps the property and makes row 0 all ones.
//
// A coefficient depends on r and i alone, not on the size of the code. So a code with fewer parities is the beginning of
// one with more: a file can get another parity piece without a change of the others. A code with less data is the code
// with more data whose other pieces are zeros.
func cauchy(r, data int) (coefficients row) {
	for i := range data {
		y := byte(PiecesMax + i)
		coefficients[i] = over(y, byte(r)^y)
	}
	return coefficients
}

const (
	// spreadClasses is the number of groups for which spread has elements. It has 15 for each group. That is the largest
	// size of a group, for a code of 32 pieces with two groups.
	spreadClasses = 17
	// spreadGlobalsMax is the largest number of global parities for which codes use spread.
	spreadGlobalsMax = 2
)

// spread returns the coefficient of the first of at most two global parities, for the data piece at a position of a
// group. That of the second is its square.
//
// With these coefficients a code recovers from all losses from which any code with these groups recovers. The elements
// 2^(group+17·position) of one group, and zero, are closed under addition: they are a multiple of the subfield GF(2^4).
// Two groups have no element in common. A loss beyond one piece of each group can have two more pieces, in these cases:
//
//   - Three of one group: three distinct values a, and zero in place of a for the local parity. The rows 1, a and a² are
//     a Vandermonde matrix.
//   - Two of each of two groups: the sums u and v of the two pairs are left. u·v² + u²·v is zero only for u = v, and u and v are
//     elements of different groups.
//   - Two of one group and one global parity: the values are distinct, and so are their squares.
//   - Both global parities: each group lost at most one piece, and the local parity rebuilds it.
func spread(group, position int) byte { return powers[group+spreadClasses*position] }

// globals returns the rows of the global parities of a code with these groups of data pieces.
//
// Codes with one group or with more than two global parities use the rows of a Reed-Solomon code after the first.
// Together, the local parities are its first row, cut into pieces. A cut parity does not make any codeword lighter, so
// the code still recovers from each loss of global+1 pieces. Of larger losses it recovers from fewer than a code could.
func globals(groups []Set, data, global int) []row {
	rows := make([]row, global)
	if len(groups) == 1 || global > spreadGlobalsMax {
		for r := range rows {
			rows[r] = cauchy(r+1, data)
		}
		return rows
	}
	for g, group := range groups {
		position := 0
		for i := range group.All() {
			a := spread(g, position)
			value := a
			for r := range rows {
				rows[r][i] = value
				value = times(value, a)
			}
			position++
		}
	}
	return rows
}
