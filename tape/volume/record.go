package volume

import (
	"time"

	"hemera/words/hemera"
)

// RecordKind says what a tape file, or a part of one, is.
type RecordKind string

// The kinds of records.
const (
	KindFile      RecordKind = "file"
	KindMember    RecordKind = "member"    // of a container: FSeq and Block are those of the container
	KindContainer RecordKind = "container" // its members have records of their own
	KindIndex     RecordKind = "index"
	KindDead      RecordKind = "dead" // begun, and ended without all of its data
)

// Record is one file of an index, or one member of a container: where it is on tape, and what the namespace had of it. Its names in JSON
// are stored, so they never change; new ones may be added, which older readers ignore. Block is a number of tape objects, Size and Offset are bytes.
type Record struct {
	Kind      RecordKind        `json:"kind"`
	FSeq      uint64            `json:"fSeq"`
	Block     uint64            `json:"blockId"`
	ArchiveID uint64            `json:"archiveId,string"`
	Size      int64             `json:"size"`
	Sums      []hemera.Checksum `json:"checksums,omitempty"`
	// Member and Offset are of members: the number in the table, from 1, and the first byte behind the table.
	Member uint32 `json:"member,omitempty"`
	Offset int64  `json:"offset,omitempty"`
	// What follows is of the namespace when the file was written. Files can have been moved since.
	Path  string        `json:"path,omitempty"`
	File  hemera.FileID `json:"fileId,omitempty"`
	UID   uint32        `json:"uid"`
	GID   uint32        `json:"gid"`
	Mode  uint32        `json:"mode,omitempty"` // permission bits
	Mtime time.Time     `json:"mtime,omitzero"`
	Class string        `json:"storageClass,omitempty"`
	Copy  uint8         `json:"copy,omitempty"`
}

// Reserved archive ids have one of the two highest bits set; those of files never have. The rest is the fSeq.
const (
	indexBit     = 1 << 63
	containerBit = 1 << 62
)

// IndexID returns the archive id of an index file.
func IndexID(fseq uint64) uint64 { return indexBit | fseq }

// ContainerID returns the archive id of a container.
func ContainerID(fseq uint64) uint64 { return containerBit | fseq }

// kindOf returns the kind of a tape file by its archive id.
func kindOf(archiveID uint64) RecordKind {
	switch {
	case archiveID&indexBit != 0:
		return KindIndex
	case archiveID&containerBit != 0:
		return KindContainer
	}
	return KindFile
}
