package checksum

import (
	"encoding/binary"

	"hemera/words/hemera"
)

// Adler-32 (RFC 1950 section 8.2): a is one plus the sum of all bytes, b the sum of all values a
// had, both modulo the largest prime below 65536.
const (
	adlerMod  = 65521
	adlerInit = 1 // a = 1, b = 0; a is the low half
)

// UpdateAdler32 continues the Adler-32 over p. The checksum of no bytes is 1.
func UpdateAdler32(sum uint32, p []byte) uint32 {
	a, b := uint64(sum&0xffff), uint64(sum>>16)
	for len(p) >= adlerBlock {
		n := min(len(p)/adlerBlock, adlerBlocksMax)
		plain, weighted := adlerBlocks(&p[0], n)
		n *= adlerBlock
		b = (b + uint64(n)*a + uint64(weighted)) % adlerMod
		a = (a + uint64(plain)) % adlerMod
		p = p[n:]
	}
	for _, c := range p { // fewer than adlerBlock: no overflow
		a += uint64(c)
		b += a
	}
	return uint32(b%adlerMod)<<16 | uint32(a%adlerMod)
}

// CombineAdler32 returns the Adler-32 of A followed by B, which has lenB bytes.
func CombineAdler32(a, b uint32, lenB int64) uint32 {
	// All of B adds to the low half; the high half also gets A's low half once for each byte of B, which B's own has begun at 1.
	low, n := uint64(a&0xffff), uint64(lenB%adlerMod)
	plain := low + uint64(b&0xffff) + adlerMod - adlerInit
	weighted := uint64(a>>16) + uint64(b>>16) + n*(low+adlerMod-adlerInit)
	return uint32(weighted%adlerMod)<<16 | uint32(plain%adlerMod)
}

// The kernels take whole blocks. They return, for n = blocks*adlerBlock bytes p[0..n):
//
//	plain    = sum of p[i]
//	weighted = sum of (n-i)*p[i]
//
// that is, the numbers that the bytes add to a, and to b if a had been zero. Both fit 32 bits while n is at
// most adlerBlock*adlerBlocksMax: 255*n*(n+1)/2 < 1<<32.
const (
	adlerBlock     = 64
	adlerBlocksMax = 86
)

// adlerBlocksGeneric implements the kernel for machines without a faster one.
func adlerBlocksGeneric(p []byte) (plain, weighted uint32) {
	for len(p) >= 4 {
		q := p[:4:4]
		a0 := plain + uint32(q[0])
		a1 := a0 + uint32(q[1])
		a2 := a1 + uint32(q[2])
		plain = a2 + uint32(q[3])
		weighted += a0 + a1 + a2 + plain
		p = p[4:]
	}
	return plain, weighted
}

// adlerHasher is the Hasher of Adler32.
type adlerHasher struct{ state uint32 }

// Write implements [Hasher].
func (h *adlerHasher) Write(p []byte) (int, error) {
	h.state = UpdateAdler32(h.state, p)
	return len(p), nil
}

// Sum implements [Hasher]. The value is big-endian, as it is printed.
func (h *adlerHasher) Sum() hemera.Checksum {
	c := hemera.Checksum{Kind: hemera.Adler32}
	binary.BigEndian.PutUint32(c.Value[:], h.state)
	return c
}

// Reset implements [Hasher].
func (h *adlerHasher) Reset() { h.state = adlerInit }
