package checksum

import (
	"encoding/binary"
	"fmt"

	"hemera"
)

// Combine is the checksum of A followed by B, from theirs and the length of B. Both must be of one
// kind, adler32 or crc32c; other kinds cannot be combined.
func Combine(a, b hemera.Checksum, lenB int64) (hemera.Checksum, error) {
	if a.Kind != b.Kind || lenB < 0 {
		return hemera.Checksum{}, fmt.Errorf("combine %s with %s of %d bytes", a.Kind, b.Kind, lenB)
	}
	x, y := binary.BigEndian.Uint32(a.Value[:]), binary.BigEndian.Uint32(b.Value[:])
	switch a.Kind {
	case hemera.Adler32:
		x = CombineAdler32(x, y, lenB)
	case hemera.CRC32C:
		x = CombineCRC32C(x, y, lenB)
	default:
		return hemera.Checksum{}, fmt.Errorf("%s cannot be combined from parts", a.Kind)
	}
	c := hemera.Checksum{Kind: a.Kind}
	binary.BigEndian.PutUint32(c.Value[:], x)
	return c, nil
}

// CombineAdler32 is the Adler-32 of A followed by B, which has lenB bytes.
func CombineAdler32(a, b uint32, lenB int64) uint32 {
	n := uint64(lenB) % adlerMod
	a1, a2 := uint64(a&0xffff), uint64(a>>16)
	b1, b2 := uint64(b&0xffff), uint64(b>>16)
	// B began with 1 where it would have begun with a1: every one of its n values is a1-1 higher.
	lift := a1 + adlerMod - 1
	return uint32((a2+b2+n*lift)%adlerMod)<<16 | uint32((b1+lift)%adlerMod)
}

// CombineCRC32C is the CRC32C of A followed by B, which has lenB bytes.
func CombineCRC32C(a, b uint32, lenB int64) uint32 {
	return crcTimes(crcShift(lenB), a) ^ b
}

// crcPoly is the Castagnoli polynomial, lowest power in the highest bit as CRC32C keeps them.
const crcPoly = 0x82f63b78

// crcTimes multiplies two polynomials modulo crcPoly.
func crcTimes(a, b uint32) uint32 {
	var p uint32
	for ; a != 0; a <<= 1 {
		p ^= b & -(a >> 31)
		b = b>>1 ^ crcPoly&-(b&1)
	}
	return p
}

// crcShift is x to the power of 8n: what a CRC is multiplied by when n zero bytes follow.
func crcShift(n int64) uint32 {
	p := uint32(1 << 31)
	for k := 0; n != 0; k, n = k+1, n>>1 {
		if n&1 != 0 {
			p = crcTimes(crcPowers[k], p)
		}
	}
	return p
}

// crcPowers[k] is x to the power of 8<<k.
var crcPowers = func() (t [63]uint32) {
	p := uint32(1 << 30) // x
	for range 3 {
		p = crcTimes(p, p)
	}
	for k := range t {
		t[k] = p
		p = crcTimes(p, p)
	}
	return t
}()
