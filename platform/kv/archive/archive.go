// Package archive stores a whole store as one stream of bytes, for backup: all keys and values of one snapshot in order,
// for any engine, between a header that describes the archive and an end that proves that nothing is missing or changed.
// docs/formats/backup.md is the reference.
//
// An archive is read from its beginning to its end. A reader must not use its content before [Read] returned without
// error: only then it is known to be complete.
//
// The stream is a magic line and frames: one with the header, those of attachments, those of pairs, and the end. Each
// frame has a length and a CRC32C, so damage is found in its place. The end has the SHA-256 of all bytes before it and
// the counts, so nothing can be missing between intact frames. Writer and reader hold one frame in memory (1 to 2 MiB),
// whatever the size of the store. Neither has state outside of a call, and each belongs to one goroutine.
package archive

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// Header describes the store in an archive. The writer of the archive fills it in.
type Header struct {
	Taken    time.Time // when the snapshot was taken, by the manager's clock
	Epoch    uint64    // the writer's, in the store of the backup
	Sequence uint64    // of the last event in it
	Program  string    // name and version of the program that wrote it
	Manager  string    // its address
	// Files and Directories are the namespace's counts, and Pairs is the approximate number of keys: for progress.
	// [Totals] has the verified numbers.
	Files, Directories, Pairs int64
}

// Totals counts the content of an archive. The writer counts, and the reader compares.
type Totals struct {
	Pairs, KeyBytes, ValueBytes int64  // bytes before compression, without the length prefixes
	Attachments                 int64  // number of attachments
	SHA256                      string // of all bytes before the end's frame, in hexadecimal
}

// Visitor receives the content of an archive; parts with a nil function are skipped. Slices are valid during the call
// only. An error ends the reading and is returned as it is. Header may refuse an archive by its error before any pair is
// read.
type Visitor struct {
	Header     func(Header) error
	Attachment func(name string, content []byte) error
	// Keys come in ascending order, without duplicates.
	Pair func(key, value []byte) error
}

// An archive is the magic and frames: header, attachments, pairs, end.
const (
	magic = "hemera-backup 1\n"

	kindHeader     = 'h'
	kindAttachment = 'a'
	kindPairs      = 'p'
	kindEnd        = 'e'

	// frameHead is kind, codec, stored length, plain length and CRC32C.
	frameHead = 1 + 1 + 4 + 4 + 4
	// crcAt is the offset of the CRC. It is last in the frame's head, so that it covers the fields before it and the
	// content after it.
	crcAt = frameHead - 4

	// A frame that zstd would make larger is stored uncompressed.
	codecPlain = 0
	codecZstd  = 1

	// frameAim is the number of bytes of pairs in a frame; the last pair may go beyond it.
	frameAim = 1 << 20
	// frameMax bounds the lengths that a reader accepts. A frame's last pair is at most [pairMax] bytes.
	frameMax = frameAim + pairMax
	pairMax  = kv.KeyMax + kv.ValueMax + 2*binary.MaxVarintLen32
	// AttachmentMax bounds one attachment and AttachmentsMax their number, so that a damaged or hostile archive cannot
	// fill the reader's memory.
	AttachmentMax  = 1 << 20
	AttachmentsMax = 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// damaged returns the error for an archive that differs from the written one.
func damaged(what string) error {
	return errs.New(errs.Corrupt, "archive.Read", "", what).
		WithRemedy("it was cut off or changed since it was made: use another backup")
}
