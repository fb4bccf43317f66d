package erasure

// The coefficients of parity pieces. They are a stored format and must never change.

// row is a row of a code's matrix: the coefficient of each data piece.
type row [PiecesMax]byte

// cauchy is parity r of a Reed-Solomon code, for the data pieces 0 to data-1.
//
// 1/(x+y), with x of the row and y of the column all distinct, is a Cauchy matrix: each of its square submatrices can be
// inverted, and that is what makes any k pieces enough. Here x is r and y is 32+i. Each column is divided by its element in
// row 0, which keeps the property and makes row 0 all ones.
//
// A coefficient depends on r and i alone, not on the size of the code. So a code with fewer parities is the beginning of
// one with more: a file gets another parity piece without a change of the others. One with fewer data pieces is the code
// whose other data are zeros.
func cauchy(r, data int) (coefficients row) {
	for i := range data {
		y := byte(PiecesMax + i)
		coefficients[i] = over(y, byte(r)^y)
	}
	return coefficients
}

const (
	// spreadClasses is how many groups spread has elements for. It has 15 for each, as many as one of two groups of a code of
	// 32 pieces can have.
	spreadClasses = 17
	// spreadGlobalsMax is the number of global parities for which spread is the right choice.
	spreadGlobalsMax = 2
)

// spread is the coefficient of the first of at most two global parities, for the data piece at a position of a group. That
// of the second is its square.
//
// With them a code recovers from all losses that any code with these groups recovers from. The elements
// 2^(group+17·position) of one group, and zero, are closed under addition: they are a multiple of the subfield GF(2^4).
// Two groups have no element in common. What can be lost beyond one piece of each group is two pieces, in these cases:
//
//   - Three of one group: three distinct values a, and zero in place of a for the local parity. The rows 1, a and a² are
//     a Vandermonde matrix.
//   - Two of each of two groups: the sums u and v of the two pairs are left. u·v² + u²·v is zero only for u = v, and u and v are
//     elements of different groups.
//   - Two of one group and one global parity: the values are distinct, and so are their squares.
//   - Both global parities: of each group one piece is lost at most, and the local parity rebuilds it.
func spread(group, position int) byte { return powers[group+spreadClasses*position] }

// globals returns the rows of the global parities of a code with these groups of data pieces.
//
// Codes with one group or with more than two global parities take the rows of a Reed-Solomon code behind the first. The
// local parities together are its first row, cut in pieces. A loss that the uncut code recovers from can still be: cutting
// a parity makes no codeword lighter. So each loss of global+1 pieces is recovered, but of larger ones not all that could be.
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
