package pebblekv

import (
	"bufio"
	"encoding/binary"
	"io"

	"hemera/rules/checksum"
)

// logMagic1 begins a file of the log's first format, in which records have neither mark nor durable.
const logMagic1 = "hemlog1\n"

// records1 are those of such a file. They end where one is damaged, or does not go on.
type records1 struct {
	in       *bufio.Reader
	previous uint64
}

// next is io.EOF behind the last record. All before the first record of a file were durable.
func (r *records1) next() (record, error) {
	var head [4 + 4 + 8]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return record{}, atEnd(err)
	}
	length, number := binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint64(head[8:])
	if length == 0 || length > batchMax || r.previous != 0 && number != r.previous+1 {
		return record{}, io.EOF
	}
	batch := make([]byte, length)
	if _, err := io.ReadFull(r.in, batch); err != nil {
		return record{}, atEnd(err)
	}
	if checksum.UpdateCRC32C(checksum.CRC32C(head[4:]), batch) != binary.BigEndian.Uint32(head[:]) {
		return record{}, io.EOF
	}
	found := record{number: number, batch: batch}
	if r.previous == 0 {
		found.durable = number - 1
	}
	r.previous = number
	return found, nil
}

func atEnd(err error) error {
	if notEnd(err) == nil {
		return io.EOF
	}
	return err
}
