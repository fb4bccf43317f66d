package checksum

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC32C is the CRC32C (Castagnoli) of p.
func CRC32C(p []byte) uint32 {
	sum, done := crcFold(p)
	if done == len(p) {
		return sum
	}
	return crc32.Update(sum, castagnoli, p[done:])
}
