package checksum

import (
	"encoding/binary"
	"hash/crc32"

	"hemera/words/hemera"
)

// castagnoli is the table of package hash/crc32, which uses special instructions if the processor has them.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC32C returns the CRC32C (Castagnoli) of p.
func CRC32C(p []byte) uint32 { return UpdateCRC32C(0, p) }

// UpdateCRC32C continues the CRC32C over p. The CRC32C of no bytes is 0.
func UpdateCRC32C(sum uint32, p []byte) uint32 {
	if n := len(p) &^ (crcBlock - 1); n > 0 && crcFolds() {
		sum = ^crcFold(^sum, &p[0], n, &crcConstants)
		p = p[n:]
	}
	return crc32.Update(sum, castagnoli, p)
}

// crcGroup is the number of pages that are summed side by side.
const crcGroup = 4

// crcPages computes the sums of whole pages, in groups of crcGroup. It returns the number of pages done.
func crcPages(p []byte, sums []uint32) int {
	groups := len(p) / (crcGroup * hemera.PageSize)
	if groups == 0 || !crcFolds() {
		return 0
	}
	_ = sums[crcGroup*groups-1]
	crcFoldPages(&p[0], groups, &crcConstants, &sums[0])
	return crcGroup * groups
}

// crcBlock is the step of crcFold, which takes whole blocks, at least one.
//
// It folds (V. Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ, Intel 2009):
// 128 bits of the message, seen as a polynomial, may be replaced by anything that leaves the same
// remainder, such as the sum of its two halves multiplied by powers of x modulo the CRC's polynomial,
// which is added to the 128 bits that stand that many bits later. The loop carries sixteen such parts. At the end they
// are combined, and the processor's CRC instruction sums the rest.
const crcBlock = 256

// foldBy has the factors of the low and the high half that move 128 bits by a number of bytes.
type foldBy struct{ low, high uint64 }

// crcFoldConstants has the factors of crcFold. Its assembly depends on their order.
type crcFoldConstants struct {
	block foldBy    // by 256 bytes
	parts [3]foldBy // by 192, 128 and 64
	lanes [4]foldBy // by 48, 32 and 16, and nothing of the last, which stays
}

// crcConstants has the powers by which lanes are folded into each other; the distances are in bytes.
var crcConstants = crcFoldConstants{
	block: newFoldBy(256),
	parts: [3]foldBy{newFoldBy(192), newFoldBy(128), newFoldBy(64)},
	lanes: [4]foldBy{newFoldBy(48), newFoldBy(32), newFoldBy(16), {}},
}

// newFoldBy computes the constants of a move by n bytes. The first bytes of a message are its highest
// powers, so that the low half goes 64 bits further. With bits in reflected order a product comes out
// multiplied by x: the constants are one power lower.
func newFoldBy(n int64) foldBy {
	power := func(bytes int64) uint64 {
		const x7 = 1 << (31 - 7)
		return uint64(crcTimes(crcShift(bytes-1), x7)) << 32
	}
	return foldBy{low: power(n + 8), high: power(n)}
}

// crcHasher is the Hasher of CRC32C.
type crcHasher struct{ sum uint32 }

// Write implements [Hasher].
func (h *crcHasher) Write(p []byte) (int, error) {
	h.sum = UpdateCRC32C(h.sum, p)
	return len(p), nil
}

// Sum implements [Hasher].
func (h *crcHasher) Sum() hemera.Checksum {
	c := hemera.Checksum{Kind: hemera.CRC32C}
	binary.BigEndian.PutUint32(c.Value[:], h.sum)
	return c
}

// Reset implements [Hasher].
func (h *crcHasher) Reset() { h.sum = 0 }
