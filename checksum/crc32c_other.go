//go:build !amd64

package checksum

// crcFold leaves all of p to package hash/crc32.
func crcFold(p []byte) (sum uint32, done int) { return 0, 0 }
