package schema

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// ErrRecord is the one thing that can be wrong with a record. The caller knows which key it belongs to; see [Damaged].
var ErrRecord = errors.New("the stored record is damaged or of a newer version")

// Damaged returns the error about the record at a key.
func Damaged(k []byte, err error) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "namespace.Read", Subject: string(k), Cause: err,
		Remedy: "restore the manager's store from its latest backup, or run this version's successor if it was newer"}
}

// recordVersion begins every record that may grow.
const recordVersion = 1

// noTime stands for the zero time, which has no nanosecond count.
const noTime = math.MinInt64

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return binary.AppendVarint(b, noTime)
	}
	return binary.AppendVarint(b, t.UnixNano())
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decoder reads the fields of a record one after the other. It remembers that something was wrong, so that the
// code that reads a record has one check, at its end. After a failure all fields read as zero.
// It compares lengths with the bytes that are left before anything is allocated: a damaged length costs no memory.
type decoder struct {
	rest []byte
	bad  bool
}

// version reads the first byte of a record that exists in one version.
func (d *decoder) version() {
	if d.byte() != recordVersion {
		d.bad = true
	}
}

// take returns the next n bytes, which are the record's own.
func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.rest) {
		d.bad, d.rest = true, nil
		return nil
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uint() uint64 {
	n, used := binary.Uvarint(d.rest)
	if d.take(used) == nil || used <= 0 {
		d.bad = true
		return 0
	}
	return n
}

func (d *decoder) int() int64 {
	n, used := binary.Varint(d.rest)
	if d.take(used) == nil || used <= 0 {
		d.bad = true
		return 0
	}
	return n
}

func (d *decoder) uint32() uint32 {
	n := d.uint()
	if n > math.MaxUint32 {
		d.bad = true
	}
	return uint32(n)
}

func (d *decoder) time() time.Time {
	n := d.int()
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func (d *decoder) text() string { return string(d.bytes()) }

// bytes reads a text without copying it.
func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.rest)) {
		d.bad = true
		return nil
	}
	return d.take(int(n))
}

func (d *decoder) amount() hemera.QuotaAmount {
	return hemera.QuotaAmount{Files: d.int(), Bytes: d.int(), Physical: d.int()}
}

// count reads the number of items that follow, each at least size bytes long.
func (d *decoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.rest)/size) {
		d.bad = true
		return 0
	}
	return int(n)
}

// end reports whether the record was right as a whole: no field was damaged and no byte is left.
func (d *decoder) end() error {
	if d.bad || len(d.rest) > 0 {
		return ErrRecord
	}
	return nil
}
