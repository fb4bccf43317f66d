package emulated

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"hemera/tape/device"
)

// recordSize is that of one record in an index file, in bytes.
const recordSize = 48

// kind is the kind of an object.
type kind uint8

const (
	kindBlock kind = 1
	kindMark  kind = 2
)

// Flags of a record.
const (
	flagEncrypted = 1 << iota // the stored bytes are AES-GCM: nonce, text, tag
	flagDiscarded             // no bytes are stored; the block reads as zeros
	flagNamed                 // of an encrypted block: its length and the name of the key stand in front of the nonce
	flagRepeated              // the stored bytes are one for each page of 4 KiB, which repeats it
)

// record describes one object. On file, little endian: kind, flags, two
// zeros, length, stored, marks, sum, key, at, data, four zeros, and the
// checksum of the object's number and all of this.
type record struct {
	kind   kind
	flags  uint8
	length uint32 // bytes of the block as the host sees them
	stored uint32 // bytes in the data file
	marks  uint32 // filemarks before this object
	sum    uint32 // CRC32C of the stored bytes
	key    uint32 // of an encrypted block: the first bytes of the key's digest
	at     uint64 // bytes of blocks before this object: where it is on tape
	data   uint64 // offset in the data file
}

// castagnoli returns the table of CRC32C. The standard library makes it once.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// encode appends the record of an object to b.
func (r record) encode(b []byte, object uint64) []byte {
	start := len(b)
	b = append(b, byte(r.kind), r.flags, 0, 0)
	for _, v := range []uint32{r.length, r.stored, r.marks, r.sum, r.key} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = binary.LittleEndian.AppendUint64(b, r.at)
	b = binary.LittleEndian.AppendUint64(b, r.data)
	// Room for a later format, covered by the checksum.
	b = append(b, 0, 0, 0, 0)
	return binary.LittleEndian.AppendUint32(b, recordSum(b[start:], object))
}

// recordSum returns the checksum of a record without its last four bytes. It
// covers the object's number, so that no record is valid in another's place.
func recordSum(b []byte, object uint64) uint32 {
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], object)
	return crc32.Update(crc32.Checksum(number[:], castagnoli()), castagnoli(), b)
}

// decode reads the record of an object. It is false for a damaged one.
func decode(b []byte, object uint64) (r record, ok bool) {
	if len(b) < recordSize || binary.LittleEndian.Uint32(b[44:]) != recordSum(b[:44], object) {
		return record{}, false
	}
	r = record{
		kind: kind(b[0]), flags: b[1],
		length: binary.LittleEndian.Uint32(b[4:]), stored: binary.LittleEndian.Uint32(b[8:]), marks: binary.LittleEndian.Uint32(b[12:]),
		sum: binary.LittleEndian.Uint32(b[16:]), key: binary.LittleEndian.Uint32(b[20:]),
		at: binary.LittleEndian.Uint64(b[24:]), data: binary.LittleEndian.Uint64(b[32:]),
	}
	// The checksum is right, so this finds only what a newer version wrote.
	switch r.kind {
	case kindBlock:
		ok = r.length > 0 && r.length <= device.BlockMax && r.stored <= device.BlockMax+sealOverhead+1+device.KeyNameMax &&
			(r.flags&flagRepeated == 0 || r.stored == (r.length+repeatPage-1)/repeatPage)
	case kindMark:
		ok = r.length == 0 && r.stored == 0
	}
	return r, ok
}

// next returns the record of an object behind this one, without what the
// object is.
func (r record) next() record {
	n := record{marks: r.marks, at: r.at + uint64(r.length), data: r.data + uint64(r.stored)}
	if r.kind == kindMark {
		n.marks++
	}
	return n
}

// follows reports whether r stands where the record before it says.
func (r record) follows(before record) bool {
	n := before.next()
	return r.marks == n.marks && r.at == n.at && r.data == n.data
}

// countRecords returns how many records of an index are good: up to the first
// one that is damaged, does not follow the one before it, or has bytes that
// the data file does not have. It reads the file once, in pieces.
func countRecords(index io.Reader, dataSize int64) (count uint64, last record, err error) {
	buf := make([]byte, 4096*recordSize)
	for {
		n, err := io.ReadFull(index, buf)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return count, last, err
		}
		// A rest shorter than a record is one that was being written.
		for b := buf[:n]; len(b) >= recordSize; b = b[recordSize:] {
			r, ok := decode(b, count)
			// Everything behind it is lost as well, since its place depends on this
			// one.
			if !ok || !r.follows(last) || r.data+uint64(r.stored) > uint64(max(dataSize, 0)) {
				return count, last, nil
			}
			count, last = count+1, r
		}
		if err != nil {
			return count, last, nil
		}
	}
}
