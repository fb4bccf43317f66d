package erasure

import (
	"fmt"

	"hemera/words/errs"
)

// Code computes parity pieces from data pieces, and lost pieces from others. It is immutable and safe for concurrent use.
type Code struct {
	data, pieces int
	rows         []row // of each piece: the unit matrix, then the parities
	// sums has the sets of pieces whose blocks add up to zero: a parity with coefficients of one, and its data.
	sums   []Set
	parity *product // of the data blocks, in the order of the parity pieces
}

// ReedSolomon returns the code whose files can be read from any data pieces out of data+parity.
// It fails with Invalid unless both are at least 1 and they are at most [PiecesMax] together.
func ReedSolomon(data, parity int) (*Code, error) {
	if data < 1 || parity < 1 || data > PiecesMax || parity > PiecesMax-data {
		return nil, errs.New(errs.Invalid, "erasure.ReedSolomon", fmt.Sprintf("%d+%d", data, parity),
			fmt.Sprintf("a code has at least one data and one parity piece, and at most %d pieces", PiecesMax))
	}
	rows := make([]row, parity)
	for r := range rows {
		rows[r] = cauchy(r, data)
	}
	return newCode("erasure.ReedSolomon", data, rows, []Set{Range(0, data+1)})
}

// Local returns the code with one parity for each of local groups of the data pieces, and global parities of all data.
// The pieces are in the order data, local parities, global parities.
//
// The groups are consecutive pieces. If they cannot be equal, the first ones have one piece more. A loss of global+1
// pieces can always be rebuilt. With up to two global parities every larger loss can be rebuilt that any code with these
// groups could rebuild.
//
// Local fails with Invalid unless all three are at least 1, each group has a piece, and there are at most [PiecesMax] pieces.
func Local(data, local, global int) (*Code, error) {
	if local < 1 || global < 1 || data < local || data > PiecesMax || local+global > PiecesMax-data {
		return nil, errs.New(errs.Invalid, "erasure.Local", fmt.Sprintf("%d+%d+%d", data, local, global),
			fmt.Sprintf("a code has at least one data piece for each local parity, one global parity, and at most %d pieces", PiecesMax))
	}
	groups, sums := make([]Set, local), make([]Set, local)
	var rows []row
	from := 0
	for g := range groups {
		size := (data - from + local - g - 1) / (local - g) // of the rest, rounded up
		groups[g] = Range(from, from+size)
		sums[g] = groups[g].With(data + g)
		var ones row
		for i := range groups[g].All() {
			ones[i] = 1
		}
		rows = append(rows, ones)
		from += size
	}
	return newCode("erasure.Local", data, append(rows, globals(groups, data, global)...), sums)
}

// newCode makes the code with these parities.
func newCode(op string, data int, parity []row, sums []Set) (*Code, error) {
	c := &Code{data: data, pieces: data + len(parity), sums: sums}
	for i := range data {
		var unit row
		unit[i] = 1
		c.rows = append(c.rows, unit)
	}
	c.rows = append(c.rows, parity...)
	matrix := make([][]byte, len(parity))
	for r := range matrix {
		matrix[r] = parity[r][:data]
	}
	var err error
	if c.parity, err = newProduct(matrix, data); err != nil {
		return nil, errs.As(err, errs.Internal, op, "")
	}
	return c, nil
}

// Data returns the number of data pieces.
func (c *Code) Data() int { return c.data }

// Pieces returns the number of all pieces.
func (c *Code) Pieces() int { return c.pieces }

// Affected returns the parity pieces that depend on the data piece. They need an [Code.Update] when it changes.
func (c *Code) Affected(index int) (parities Set) {
	if index < 0 || index >= c.data {
		return 0
	}
	for i := c.data; i < c.pieces; i++ {
		if c.rows[i][index] != 0 {
			parities = parities.With(i)
		}
	}
	return parities
}
