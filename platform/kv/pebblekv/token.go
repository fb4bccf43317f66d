package pebblekv

import (
	"bytes"
	"encoding/binary"

	"hemera/rules/checksum"
)

// markBytes is the size of a mark: 64 random bits, so that no bytes of users or of other processes equal it by chance.
const markBytes = 8

// mark is random for each process that writes a store. Each token has it. So a token can be found behind damage of any
// length, and bytes that a user put into a value are not taken for one.
type mark [markBytes]byte

// token is in each batch of the log, as data that Pebble keeps in the log alone. It says up to which batch the store was
// durable before this batch was written. Pebble's own record of that (FormatWALSyncChunks) is not enough: its reader
// skips the damaged 32 KiB block, and version 2.1.7 counts only a part of the bytes that it has synced.
type token struct {
	number  uint64 // of the batch; in a note, that of the last batch
	durable uint64 // number of the last batch known to be durable before this one was written
}

// tokenBytes is the size of a token: number, durable, mark and a checksum of the three. Because of the checksum, half of
// a token in a torn block does not count.
const tokenBytes = 8 + 8 + markBytes + 4

// encode returns the bytes of a token. Numbers are big endian.
func (t token) encode(m mark) []byte {
	b := make([]byte, 0, tokenBytes)
	b = binary.BigEndian.AppendUint64(b, t.number)
	b = binary.BigEndian.AppendUint64(b, t.durable)
	b = append(b, m[:]...)
	return binary.BigEndian.AppendUint32(b, checksum.CRC32C(b))
}

// tokens calls visit with each token of a mark in some bytes. It does not find a token that Pebble split over two chunks,
// as in one of a thousand batches.
func tokens(raw []byte, m mark, visit func(token)) {
	const before = 8 + 8 // bytes of a token ahead of its mark
	for at := 0; ; at++ {
		found := bytes.Index(raw[at:], m[:])
		if found < 0 {
			return
		}
		at += found
		if at < before || at-before+tokenBytes > len(raw) {
			continue // torn: a token is not complete here
		}
		b := raw[at-before:][:tokenBytes]
		if sum := b[tokenBytes-4:]; binary.BigEndian.Uint32(sum) == checksum.CRC32C(b[:tokenBytes-4]) {
			visit(token{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])})
		}
	}
}
