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
// A CRC of the exclusive or of blocks follows from the CRCs of the blocks. So this is what the CRC32C of the sum of all
// blocks would show, had somebody read them. An error of one block that is at most 32 bits long is always found, others are
// missed with a probability of 2^-32. An adversary can make errors that it misses: a CRC has no key.
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

// Agrees reports whether sketches are those of pieces that agree with each other: whether some file has them. sketches has a
// place for each piece, and those of have are compared; the blocks had one length. Pieces that are too few to say anything
// about each other agree.
//
// Of a code that recovers from each loss of two pieces, with all pieces there, a caller finds a single wrong piece: it is the
// one without which the others agree.
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
