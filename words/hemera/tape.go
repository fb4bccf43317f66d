package hemera

import "strconv"

// VID names a tape: the volume id of its label and its barcode, at most six capital letters and digits.
type VID string

// TapeCopy is a copy of a file's content on tape, durable there. The vocabulary is CTA's.
type TapeCopy struct {
	Number uint8  // of the copies that the storage class asks for, from 1
	VID    VID    // of the tape
	FSeq   uint64 // number of the tape file on its tape, from 1
	Block  uint64 // block id: the number of the tape object where the file begins
	Member uint32 // of a container, from 1; 0: the tape file is this content alone
}

// Attributes of files that are, or shall be, on tape. Their names are those of EOS. Only the system sets them on files; the first one is also set on
// directories, by their owners: files that are made below are archived.
const (
	AttrStorageClass  = "sys.archive.storage_class"
	AttrArchiveID     = "sys.archive.file_id"        // of the content, decimal
	AttrArchiveError  = "sys.archive.error"          // why the last attempt to archive failed
	AttrRecallIDs     = "sys.retrieve.req_id"        // requests that wait for the file, separated by commas
	AttrRecallTime    = "sys.retrieve.req_time"      // when the first of them came, seconds since 1970
	AttrRecallError   = "sys.retrieve.error"         // why the last recall failed
	AttrEvictCounter  = "sys.retrieve.evict_counter" // how many requests still use the file on disk
	AttrReleased      = "sys.retrieve.released"      // "1": nobody needs the disk copies, which go as soon as tape gives the content back
	AttrRecallPins    = "sys.retrieve.pins"          // requests that wait for the file or use it on disk, each as UID:ID, separated by commas
	AttrDropOnArchive = "sys.archive.dropdiskcopies" // of a directory: "1" removes disk copies once all tape copies are there
)

// TapeCopiesMax bounds the copies of one content.
const TapeCopiesMax = 4

// Evicted reports whether the file is on tape only.
func (e *Entry) Evicted() bool {
	return e.Kind == KindFile && e.Size > 0 && len(e.Pieces) == 0 && len(e.Tape) > 0
}

// OnTape reports whether tape gives the content back: a copy was written and, where the settings ask for it, read back. This is what users and
// clients are told. An empty file has nothing to write to a tape: it is on tape by the record that it is archived.
func (e *Entry) OnTape() bool {
	return e.Kind == KindFile && (len(e.Tape) > 0 && !e.TapeUnread || e.Size == 0 && e.ArchiveID() != 0)
}

// ArchiveID returns the number that the content has on tape; zero for files that are not to be archived.
func (e *Entry) ArchiveID() uint64 {
	id, _ := strconv.ParseUint(string(e.Xattrs[AttrArchiveID]), 10, 64)
	return id
}

// StorageClass returns the class that the content is archived by, "" for none.
func (e *Entry) StorageClass() string {
	if e.IsDir() || e.ArchiveID() == 0 {
		return ""
	}
	return string(e.Xattrs[AttrStorageClass])
}
