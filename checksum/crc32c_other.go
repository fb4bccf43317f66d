//go:build !amd64

package checksum

// crcFold leaves all of p to package hash/crc32.
func crcFold(p []byte) (sum uint32, done int) { return 0, 0 }

// crcPages leaves all pages to package hash/crc32.
func crcPages(p []byte, sums []uint32) int { return 0 }

// crcReadsAhead reports whether summing pages needs no help to get them from memory.
func crcReadsAhead() bool { return false }
