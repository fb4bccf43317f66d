package checksum

import (
	"encoding/binary"
	"math/bits"

	"hemera/words/hemera"

	"github.com/minio/crc64nvme"
)

// A hole is a range of zeros that were never written. Its effect on a CRC or an Adler-32 follows from its length alone; a
// digest such as md5 must see every byte.

// ZeroPage is the CRC32C of a page of zeros.
const ZeroPage = 0x98f94189

// SkipsZeros reports whether this kind processes any number of zeros at once.
func SkipsZeros(kind hemera.ChecksumKind) bool {
	switch kind {
	case hemera.Adler32, hemera.CRC32C, hemera.CRC32, hemera.ZCRC32, hemera.CRC64NVME:
		return true
	}
	return false
}

// ZerosCRC32C returns the CRC32C of n zero bytes.
func ZerosCRC32C(n int64) uint32 { return ^crcTimes(crcShift(n), ^uint32(0)) }

// zeroWriter is a Hasher that can write zeros by their number.
type zeroWriter interface{ writeZeros(n int64) }

// WriteZeros has the effect of writing n zero bytes. It takes almost no time for kinds for which [SkipsZeros] returns
// true.
func (m *Multi) WriteZeros(n int64) {
	for _, h := range m.hashers {
		if z, ok := h.(zeroWriter); ok {
			z.writeZeros(n)
			continue
		}
		zeros := make([]byte, min(n, multiBlock))
		for left := n; left > 0; left -= int64(len(zeros)) {
			zeros = zeros[:min(left, int64(len(zeros)))]
			_, _ = h.Write(zeros)
		}
	}
}

// writeZeros leaves a as it is and adds it to b n times.
func (h *adlerHasher) writeZeros(n int64) {
	a, b := uint64(h.state&0xffff), uint64(h.state>>16)
	h.state = uint32((b+uint64(n)%adlerMod*a)%adlerMod)<<16 | uint32(a)
}

// writeZeros continues the sum as Write of n zero bytes would, in time that grows with the logarithm of n.
func (h *crcHasher) writeZeros(n int64) { h.sum = ^crcTimes(crcShift(n), ^h.sum) }

// writeZeros works like crcHasher.writeZeros.
func (h *zcrcHasher) writeZeros(n int64) { h.sum = ^addZeros(^h.sum, n, zcrcPoly) }

// writeZeros reverses the register first: cksum keeps the lowest power in the lowest bit.
func (h *cksumHasher) writeZeros(n int64) {
	h.sum = bits.Reverse32(addZeros(bits.Reverse32(h.sum), n, bits.Reverse32(cksumPoly)))
	h.length += uint64(n)
}

// addZeros returns the register of a CRC after n zero bytes: the register times x to the power of 8n, modulo the
// polynomial. Both have the lowest power in the highest bit.
func addZeros[T uint32 | uint64](register T, n int64, poly T) T {
	return timesPower(register, ^(^T(0)>>1)>>8, n, poly) // x^8
}

// cutZeros undoes addZeros: it returns the register before n zero bytes.
func cutZeros[T uint32 | uint64](register T, n int64, poly T) T {
	// The polynomial without its lowest power, which is 1, and divided by x, is 1/x: times x, it is 1 modulo the
	// polynomial.
	power := poly<<1 | 1
	for range 3 {
		power = timesPower(power, power, 1, poly)
	}
	return timesPower(register, power, n, poly)
}

// timesPower returns the register times power to the n, modulo the polynomial.
func timesPower[T uint32 | uint64](register, power T, n int64, poly T) T {
	top := ^(^T(0) >> 1)
	times := func(a, b T) (p T) {
		for ; a != 0; a <<= 1 {
			if a&top != 0 {
				p ^= b
			}
			b = b>>1 ^ poly&-(b&1)
		}
		return p
	}
	for ; n != 0; n >>= 1 {
		if n&1 != 0 {
			register = times(power, register)
		}
		power = times(power, power)
	}
	return register
}

// crc64Hasher computes the CRC-64 of NVMe.
type crc64Hasher struct{ sum uint64 }

// crc64Poly is the polynomial of NVMe, lowest bit first.
const crc64Poly = 0x9a6c9329ac4bc9b5

// Write implements [Hasher].
func (h *crc64Hasher) Write(p []byte) (int, error) {
	h.sum = crc64nvme.Update(h.sum, p)
	return len(p), nil
}

// Sum implements [Hasher].
func (h *crc64Hasher) Sum() hemera.Checksum {
	c := hemera.Checksum{Kind: hemera.CRC64NVME}
	binary.BigEndian.PutUint64(c.Value[:], h.sum)
	return c
}

// Reset implements [Hasher].
func (h *crc64Hasher) Reset() { h.sum = 0 }

// writeZeros works like crcHasher.writeZeros.
func (h *crc64Hasher) writeZeros(n int64) { h.sum = ^addZeros(^h.sum, n, crc64Poly) }

// MayBeZeros reports whether n bytes that begin at a page may be zeros, judged by the sums of their pages. It is only a
// hint where a hole may be: other bytes can have the same sums.
func MayBeZeros(sums []uint32, n int) bool {
	for i, sum := range sums {
		k := min(hemera.PageSize, n-i*hemera.PageSize)
		if k == hemera.PageSize && sum != ZeroPage || k < hemera.PageSize && sum != ZerosCRC32C(int64(k)) {
			return false
		}
	}
	return true
}
