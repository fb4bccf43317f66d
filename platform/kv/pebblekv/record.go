package pebblekv

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"hemera/platform/kv"
	"hemera/rules/checksum"
)

const (
	// markBytes are those of a life's mark.
	markBytes = 8
	// recordHead is mark, checksum, length, number and durable of a record.
	recordHead = markBytes + 4 + 4 + 8 + 8
	checkedAt  = markBytes + 4 // what the checksum is of
	// batchMax is more than the bytes of any batch: a length beyond it is none.
	batchMax = 2*kv.BatchBytes + 64*kv.BatchOps
)

// mark begins each record of one life of a store: random, so that a record can be told behind damage of
// any length from whatever else is in a file, also from a record that a user put into a value.
type mark [markBytes]byte

// record is one of the log.
type record struct {
	number uint64
	// durable is the number of the last batch that was durable before the record was written. Records are
	// written one lot after the other, each lot when the one before is durable; the records of a lot have the same.
	durable uint64
	batch   []byte // empty: a note, which says what is durable and is no batch
}

// successor is the last record of a file: it has no number, which no batch has, and names the next file.
func successor(file uint64) record { return record{batch: binary.BigEndian.AppendUint64(nil, file)} }

// successor is the number of the file that the record names as the next; zero if it is no such record.
func (r record) successor() uint64 {
	if r.number != 0 || len(r.batch) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(r.batch)
}

// appendTo is the format of a record.
func (r record) appendTo(b []byte, m mark) []byte {
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

// records finds those of one life in a file, whatever is before, between and behind them.
type records struct {
	in   *bufio.Reader
	mark mark
}

func newRecords(file io.Reader, m mark) *records {
	return &records{bufio.NewReaderSize(file, recordHead+batchMax), m}
}

// next is io.EOF behind the last record. The batch is valid until the next call.
func (r *records) next() (record, error) {
	for {
		found, size, err := r.peek()
		if err != nil {
			return record{}, err
		}
		if size > 0 {
			_, err := r.in.Discard(size) // of which the bytes stay where they are
			return found, err
		}
		if err := r.seek(); err != nil {
			return record{}, err
		}
	}
}

// peek is the record at the place, and no size if there is none.
func (r *records) peek() (found record, size int, err error) {
	head, err := r.in.Peek(recordHead)
	if err != nil || !bytes.HasPrefix(head, r.mark[:]) {
		return record{}, 0, notEnd(err)
	}
	length := binary.BigEndian.Uint32(head[checkedAt:])
	if length > batchMax {
		return record{}, 0, nil
	}
	size = recordHead + int(length)
	raw, err := r.in.Peek(size)
	if err != nil || checksum.CRC32C(raw[checkedAt:]) != binary.BigEndian.Uint32(raw[markBytes:]) {
		return record{}, 0, notEnd(err)
	}
	return record{binary.BigEndian.Uint64(raw[checkedAt+4:]), binary.BigEndian.Uint64(raw[checkedAt+12:]), raw[recordHead:]}, size, nil
}

// seek goes on to the next mark behind the place.
func (r *records) seek() error {
	_, err := r.in.Discard(1)
	for err == nil {
		if _, err = r.in.Peek(markBytes); err != nil {
			break
		}
		window, _ := r.in.Peek(r.in.Buffered())
		at := bytes.Index(window, r.mark[:])
		if at >= 0 {
			_, err = r.in.Discard(at)
			break
		}
		_, err = r.in.Discard(len(window) - markBytes + 1)
	}
	return err
}

// notEnd is nil for the errors of a file that is too short.
func notEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
