package checksum

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"

	"hemera/words/hemera"
)

// zcrcPoly is the polynomial of Ethernet, lowest power in the highest bit.
const zcrcPoly = 0xedb88320

// zcrcHasher computes the CRC-32 of zlib, gzip and Ethernet, lowest byte first: XRootD's clients and servers print zcrc32
// in this way on the machines that they run on.
type zcrcHasher struct{ sum uint32 }

// Write implements [Hasher].
func (h *zcrcHasher) Write(p []byte) (int, error) {
	h.sum = crc32.Update(h.sum, crc32.IEEETable, p)
	return len(p), nil
}

// Sum implements [Hasher], with the bytes reversed.
func (h *zcrcHasher) Sum() hemera.Checksum { return sum32(hemera.ZCRC32, bits.ReverseBytes32(h.sum)) }

// Reset implements [Hasher].
func (h *zcrcHasher) Reset() { h.sum = 0 }

// sum32 returns a checksum of four bytes, big-endian.
func sum32(kind hemera.ChecksumKind, value uint32) hemera.Checksum {
	c := hemera.Checksum{Kind: kind}
	binary.BigEndian.PutUint32(c.Value[:], value)
	return c
}

// cksumHasher computes the CRC of POSIX's cksum, which XRootD calls crc32: the polynomial of zlib's with the bits of a
// byte in their own order, over the data and then its length, lowest byte first, without leading zeros.
type cksumHasher struct {
	sum    uint32
	length uint64
}

// Write implements [Hasher].
func (h *cksumHasher) Write(p []byte) (int, error) {
	h.sum, h.length = updateCksum(h.sum, p), h.length+uint64(len(p))
	return len(p), nil
}

// Sum implements [Hasher]. The caller may write more afterwards, so the length is added to a copy.
func (h *cksumHasher) Sum() hemera.Checksum {
	return sum32(hemera.CRC32, ^updateCksum(h.sum, cksumLength(int64(h.length))))
}

// cksumLength returns the bytes of the length that cksum appends to a content of n bytes.
func cksumLength(n int64) (p []byte) {
	for ; n > 0; n >>= 8 {
		p = append(p, byte(n))
	}
	return p
}

// Reset implements [Hasher].
func (h *cksumHasher) Reset() { *h = cksumHasher{} }

// cksumPoly is the polynomial of Ethernet and POSIX, highest bit first.
const cksumPoly = 0x04c11db7

// cksumTables[k][b] is the effect of byte b with k more bytes behind it in a group of eight.
var cksumTables = func() (t [8][256]uint32) {
	for i := range 256 {
		sum := uint32(i) << 24
		for range 8 {
			sum = sum<<1 ^ cksumPoly&-(sum>>31)
		}
		t[0][i] = sum
	}
	for k := 1; k < 8; k++ {
		for i := range 256 {
			sum := t[k-1][i]
			t[k][i] = sum<<8 ^ t[0][sum>>24]
		}
	}
	return t
}()

// updateCksum processes eight bytes at a time with eight tables (slicing-by-8), because processors have no instruction
// for this order of bits.
func updateCksum(sum uint32, p []byte) uint32 {
	t := &cksumTables
	for ; len(p) >= 8; p = p[8:] {
		sum ^= binary.BigEndian.Uint32(p)
		sum = t[7][sum>>24] ^ t[6][sum>>16&0xff] ^ t[5][sum>>8&0xff] ^ t[4][sum&0xff] ^
			t[3][p[4]] ^ t[2][p[5]] ^ t[1][p[6]] ^ t[0][p[7]]
	}
	for _, b := range p {
		sum = sum<<8 ^ t[0][byte(sum>>24)^b]
	}
	return sum
}
