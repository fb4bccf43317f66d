package erasure

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
