package erasure

import (
	"fmt"

	"hemera/words/errs"
)

// Sums returns the sets of pieces whose blocks add up to zero by exclusive or: a Reed-Solomon code's data with its first
// parity, and each group of a local code with its parity. [SumsAgree] checks such a set by checksums alone.
func (c *Code) Sums() []Set { return append([]Set(nil), c.sums...) }

// SumsAgree reports whether the CRC32Cs of blocks are possible for blocks that add up to zero. sums has the CRC32C of one
// block of each piece of a set of [Code.Sums]; the blocks have one length, and zeros is the CRC32C of as many zeros.
//
// A CRC of the exclusive or of blocks follows from the CRCs of the blocks. So the result is that of a comparison of the
// sum of all blocks by its CRC32C, without reading them. An error of one block that is at most 32 bits long is always
// found, others are missed with a probability of 2^-32. An attacker can make errors that it misses: a CRC has no key.
//
// A block that ends early, as the last of a file does, counts with the zeros that the layout implies.
func SumsAgree(sums []uint32, zeros uint32) bool {
	// With f linear, CRC(b) is f(b) + CRC(0). So the sum of an even number of CRCs is f(sum); an odd one has a CRC(0) left.
	var total uint32
	for _, sum := range sums {
		total ^= sum ^ zeros
	}
	return total == 0
}

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
