package linux

import (
	"encoding/binary"
	"hash/crc32"

	"hemera/tape/device"
	"hemera/tape/device/scsi"
)

// checksums is the host's side of logical block protection: CRC32C, little endian, behind each block. Blocks are copied once
// each way, because the checksum has to be next to them in memory.
type checksums struct {
	read, write bool
	room        []byte // one block with its checksum; it grows to the largest block that was used
}

// castagnoli returns the table of CRC32C; the library makes it once and uses the processor's instruction.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// buffer returns n bytes that are used again by the next call.
func (c *checksums) buffer(n int) []byte {
	if cap(c.room) < n {
		c.room = make([]byte, n)
	}
	return c.room[:n]
}

// seal returns a copy of the block with its checksum. It is valid until the next call.
func (c *checksums) seal(block []byte) []byte {
	sealed := c.buffer(len(block) + scsi.CRC32CLength)
	copy(sealed, block)
	binary.LittleEndian.PutUint32(sealed[len(block):], crc32.Checksum(block, castagnoli()))
	return sealed
}

// unseal copies the block to buf, and returns its length or device.ErrProtection.
func (c *checksums) unseal(buf, sealed []byte) (int, error) {
	n := len(sealed) - scsi.CRC32CLength
	if n <= 0 || crc32.Checksum(sealed[:n], castagnoli()) != binary.LittleEndian.Uint32(sealed[n:]) {
		return 0, device.ErrProtection
	}
	return copy(buf, sealed[:n]), nil
}
