package journal

import (
	"encoding/binary"

	"hemera/rules/checksum"
)

// appendTo writes a record as the last version did that wrote journals.
func (r record) appendTo(b []byte, m Mark) []byte {
	start := len(b)
	b = append(b, m[:]...)
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(r.batch)))
	b = binary.BigEndian.AppendUint64(b, r.number)
	b = binary.BigEndian.AppendUint64(b, r.durable)
	b = append(b, r.batch...)
	binary.BigEndian.PutUint32(b[start+markBytes:], checksum.CRC32C(b[start+checkedAt:]))
	return b
}
