package journal

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/zeebo/xxh3"

	"hemera/words/errs"
)

// Entry is one batch of the journal.
type Entry struct {
	Seq   uint64 // its number
	Epoch uint64 // of its writer
	Prev  uint64 // the sum of the entry before
	Batch []byte // at most BatchMax bytes
}

const (
	// BatchMax is the size of the largest batch: the largest of package kv, with the lengths of its keys and values.
	BatchMax = 1<<20 + 64<<10

	entryVersion = 1 // the first byte
	headBytes    = 1 + 3*8
	sumBytes     = 8
	// EntryMax is the size of the largest encoded entry.
	EntryMax = headBytes + BatchMax + sumBytes
)

// Encode returns the stored bytes of an entry: a version, the three numbers, big endian, the batch, and a sum of all that: XXH3 with 64 bits. It
// fails with TooLarge.
func (e Entry) Encode() ([]byte, error) {
	if len(e.Batch) > BatchMax {
		return nil, errs.New(errs.TooLarge, "journal.Encode", number(e.Seq), fmt.Sprintf("a batch of a journal has at most %d bytes, not %d", BatchMax, len(e.Batch)))
	}
	b := append(e.appendHead(make([]byte, 0, headBytes+len(e.Batch)+sumBytes)), e.Batch...)
	return binary.BigEndian.AppendUint64(b, xxh3.Hash(b)), nil
}

// appendHead appends what stands before the batch.
func (e Entry) appendHead(b []byte) []byte {
	b = append(b, entryVersion)
	b = binary.BigEndian.AppendUint64(b, e.Seq)
	b = binary.BigEndian.AppendUint64(b, e.Epoch)
	return binary.BigEndian.AppendUint64(b, e.Prev)
}

// Position returns the place of an entry, with the sum that Encode gives it.
func (e Entry) Position() Position {
	var h xxh3.Hasher
	var head [headBytes]byte
	_, _ = h.Write(e.appendHead(head[:0])) // a hash takes everything
	_, _ = h.Write(e.Batch)
	return Position{Seq: e.Seq, Chain: h.Sum64(), Epoch: e.Epoch}
}

// Decode returns the entry of stored bytes, and its position. The batch is a part of b. It fails with Corrupt, and with Unsupported for the entry
// of a later version.
func Decode(b []byte) (Entry, Position, error) {
	switch {
	case len(b) < headBytes+sumBytes || len(b) > EntryMax:
		return Entry{}, Position{}, errs.New(errs.Corrupt, "journal.Decode", "", fmt.Sprintf("an entry of the journal cannot have %d bytes", len(b)))
	case xxh3.Hash(b[:len(b)-sumBytes]) != Sum(b):
		return Entry{}, Position{}, errs.New(errs.Corrupt, "journal.Decode", "", "an entry of the journal does not match its checksum")
	case b[0] != entryVersion:
		return Entry{}, Position{}, errs.New(errs.Unsupported, "journal.Decode", "", fmt.Sprintf("a later version of Hemera wrote an entry of the journal (format %d)", b[0])).
			WithRemedy("install the version of the other managers here")
	}
	e := Entry{
		Seq:   binary.BigEndian.Uint64(b[1:]),
		Epoch: binary.BigEndian.Uint64(b[9:]),
		Prev:  binary.BigEndian.Uint64(b[17:]),
		Batch: b[headBytes : len(b)-sumBytes : len(b)-sumBytes],
	}
	return e, Position{Seq: e.Seq, Chain: Sum(b), Epoch: e.Epoch}, nil
}

// Sum returns the sum of an encoded entry, which the entry after it has as Prev.
func Sum(encoded []byte) uint64 { return binary.BigEndian.Uint64(encoded[len(encoded)-sumBytes:]) }

// number returns a number for messages.
func number(n uint64) string { return strconv.FormatUint(n, 10) }
