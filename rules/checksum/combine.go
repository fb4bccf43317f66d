package checksum

// CombineCRC32C returns the CRC32C of A followed by B, which has lenB bytes.
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

// crcShift returns x to the power of 8n: the factor for a CRC when n zero bytes follow.
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
