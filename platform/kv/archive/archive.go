// Package archive is a whole store as one stream of bytes, for backup: all keys and values of one
// snapshot in order, whatever the engine, between a head that says what it is and an end that proves
// that nothing is missing or changed. docs/formats/backup.md is the reference.
//
// An archive is read from its beginning to its end, and nothing that came out of it counts before
// [Read] returned without error: only then all of it was there.
//
// The stream is a magic line and frames: one with the header, those of attachments, those of pairs, and the end. Each
// frame has a length and a CRC32C, so damage is found where it is. The end has the SHA-256 of all bytes before it and the
// counts, so nothing can be missing between intact frames. Writer and reader hold one frame in memory (1 to 2 MiB), whatever
// the size of the store. Neither has state outside of a call, and each belongs to one goroutine.
package archive

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// Header says what an archive is of. The writer of the archive fills it in.
type Header struct {
	Taken    time.Time // when the snapshot was taken, by the manager's clock
	Epoch    uint64    // the writer's, in the store that was backed up
	Sequence uint64    // of the last event in it
	Program  string    // name and version of what wrote it
	Manager  string    // its address
	// Files and Directories are what the namespace counts, and Pairs is about how many keys there are:
	// for progress. What is proven is in [Totals].
	Files, Directories, Pairs int64
}

// Totals is what an archive holds. The writer counts, and the reader compares.
type Totals struct {
	Pairs, KeyBytes, ValueBytes int64  // bytes before compression, without the lengths in front of them
	Attachments                 int64  // number of attachments
	SHA256                      string // of all bytes before the end's frame, in hexadecimal
}

// Visitor takes what is in an archive; a function that is nil lets it pass. Slices are valid during
// the call only. An error ends the reading and is returned as it is.
// It may refuse an archive by its error before any pair was read.
type Visitor struct {
	Header     func(Header) error
	Attachment func(name string, content []byte) error
	// Keys come in ascending order, without duplicates.
	Pair func(key, value []byte) error
}

// An archive is magic and frames: the head's, attachments', pairs', the end's.
const (
	magic = "hemera-backup 1\n"

	kindHeader     = 'h'
	kindAttachment = 'a'
	kindPairs      = 'p'
	kindEnd        = 'e'

	// frameHead is kind, codec, stored length, plain length and CRC32C.
	frameHead = 1 + 1 + 4 + 4 + 4
	// crcAt is where the CRC begins. It is last, so that it covers what stands before it and the content behind it.
	crcAt = frameHead - 4

	// A frame that zstd would make larger is stored as it is.
	codecPlain = 0
	codecZstd  = 1

	// frameAim is how many bytes of pairs make a frame; the last pair may go beyond it.
	frameAim = 1 << 20
	// frameMax bounds what a reader believes. A frame's last pair is at most [pairMax] bytes.
	frameMax = frameAim + pairMax
	pairMax  = kv.KeyMax + kv.ValueMax + 2*binary.MaxVarintLen32
	// AttachmentMax bounds one attachment and AttachmentsMax their number.
	// Both keep a damaged or hostile archive from filling the reader's memory.
	AttachmentMax  = 1 << 20
	AttachmentsMax = 16
)

// castagnoli is read only.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// damaged is the error of an archive that is not what was written.
func damaged(what string) error {
	return errs.New(errs.Corrupt, "archive.Read", "", what).
		WithRemedy("it was cut off or changed since it was made: use another backup")
}
