package journal

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
	// markBytes is the size of a mark.
	markBytes = 8
	// recordHead is the size of mark, checksum, length, number and durable of a record.
	recordHead = markBytes + 4 + 4 + 8 + 8
	checkedAt  = markBytes + 4 // where the bytes begin that the checksum covers
	// batchMax is an upper bound of the bytes of a batch. A greater length is damage.
	batchMax = 2*kv.BatchBytes + 64*kv.BatchOps
)

// Mark begins each record that one process wrote. It is random, so a record can be found behind damage of any length,
// and a record that a user put into a value is not taken for one.
type Mark [markBytes]byte

// record is one record of a journal.
type record struct {
	number uint64
	// durable is the number of the last batch that was durable before this record was written. Records were written in
	// groups, each when the one before was durable; the records of a group have the same value.
	durable uint64
	batch   []byte // empty: the record only says what is durable
}

// successor returns the number of the file that the record names as the next, or zero. The last record of a file has no
// number and names the next file.
func (r record) successor() uint64 {
	if r.number != 0 || len(r.batch) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(r.batch)
}

// records finds the records of one process in a file, whatever is before, between and behind them.
type records struct {
	in   *bufio.Reader
	mark Mark
}

func newRecords(file io.Reader, m Mark) *records {
	return &records{bufio.NewReaderSize(file, recordHead+batchMax), m}
}

// next returns the next record, or io.EOF behind the last one. The batch is valid until the next call.
func (r *records) next() (record, error) {
	for {
		found, size, err := r.peek()
		if err != nil {
			return record{}, err
		}
		if size > 0 {
			_, err := r.in.Discard(size) // the bytes of the batch stay where they are
			return found, err
		}
		if err := r.seek(); err != nil {
			return record{}, err
		}
	}
}

// peek returns the record at the current offset and its size. The size is 0 if there is no record.
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

// seek moves to the next mark behind the current offset.
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

// notEnd returns nil for the errors of a file that is too short.
func notEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
