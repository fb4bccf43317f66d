package erasure

import (
	"fmt"

	"hemera/words/errs"
)

// Agrees reports whether sketches are those of pieces that agree with each other, that is, whether a file can have them.
// sketches has a place for each piece; those of have are compared. The blocks must have had one length. Agrees returns
// true if there are too few pieces for a comparison.
//
// If the code recovers from each loss of two pieces, and all pieces are present, a caller can find a single wrong piece:
// without it, the others agree.
//
// Agrees fails with Invalid unless there is a sketch for each piece.
func (c *Code) Agrees(sketches []Sketch, have Set) (bool, error) {
	if len(sketches) != c.pieces {
		return false, errs.New(errs.Invalid, "erasure.Agrees", "", fmt.Sprintf("there are %d sketches for %d pieces", len(sketches), c.pieces))
	}
	var b basis
	for i := range (have & Range(0, c.pieces)).All() {
		coefficients, of, ok := b.express(&c.rows[i])
		if !ok {
			b.add(i, &c.rows[i])
			continue
		}
		var sum Sketch
		for j := range of.All() {
			low.GalMulSliceXor(coefficients[j], sketches[j][:], sum[:])
		}
		if sum != sketches[i] {
			return false, nil
		}
	}
	return true, nil
}
