package disk

import (
	"encoding/binary"

	"hemera"
	"hemera/rules/checksum"
)

// The geometry of a piece of size bytes (docs/formats/piece.md):
//
//	0                data, padded with zeros to whole pages
//	tableOff(size)   CRC32C of every page, in blocks that end in a CRC32C of their own
//	footerOff(size)  footer, to the end of the file
//
// A table block holds up to blockSums page CRCs and fills 4 KiB; the last one is as short as it can
// be. So a block is found by arithmetic, is checked by itself, and covers about 4 MiB of data.
const (
	blockSums = 1023
	blockSize = 4 * (blockSums + 1)
)

// pages is how many pages the data has; the last may be short.
func pages(size int64) int64 { return (size + hemera.PageSize - 1) / hemera.PageSize }

// blocks is how many blocks the table has.
func blocks(size int64) int64 { return (pages(size) + blockSums - 1) / blockSums }

// tableOff is where the table begins: the last page is filled up, so that the table does not share one with data.
func tableOff(size int64) int64 { return pages(size) * hemera.PageSize }

// footerOff is where the footer begins: behind four bytes for each page and for each block.
func footerOff(size int64) int64 { return tableOff(size) + 4*(pages(size)+blocks(size)) }

// pageLen is how many bytes of data the page holds: all but the last are full. The CRC of a page is
// that of these bytes, so that it can be sent as it is.
func pageLen(size, page int64) int {
	return int(max(0, min(hemera.PageSize, size-page*hemera.PageSize)))
}

// blockLen is how many sums the table block holds.
func blockLen(size, block int64) int { return int(min(blockSums, pages(size)-block*blockSums)) }

// appendBlock writes a table block of the sums, and their own CRC.
func appendBlock(b []byte, sums []uint32) []byte {
	start := len(b)
	for _, s := range sums {
		b = binary.LittleEndian.AppendUint32(b, s)
	}
	return binary.LittleEndian.AppendUint32(b, checksum.CRC32C(b[start:]))
}

// parseBlock reads a table block of len(sums) sums; false if its own CRC does not match.
func parseBlock(b []byte, sums []uint32) bool {
	n := 4 * len(sums)
	if len(b) != n+4 || binary.LittleEndian.Uint32(b[n:]) != checksum.CRC32C(b[:n]) {
		return false
	}
	for i := range sums {
		sums[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return true
}
