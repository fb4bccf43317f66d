package tapeapi

import (
	"time"

	"hemera/words/hemera"
)

// State says what may be done with a tape. The names are those of CTA.
type State string

// The states.
const (
	Active            State = "ACTIVE"
	Disabled          State = "DISABLED" // jobs are queued, but it is not mounted
	Repacking         State = "REPACKING"
	RepackingDisabled State = "REPACKING_DISABLED"
	Broken            State = "BROKEN"
	Exported          State = "EXPORTED"
)

// PoolName names a pool of tapes. The pool is an object of the configuration.
type PoolName string

// Tape is the catalogue's record of one tape.
type Tape struct {
	VID       hemera.VID `json:"vid"`
	MediaType string     `json:"mediaType"`
	Vendor    string     `json:"vendor"`
	Library   string     `json:"logicalLibrary"`
	Pool      PoolName   `json:"tapepool"`
	Capacity  int64      `json:"capacity"`      // bytes
	Occupancy int64      `json:"occupancy"`     // bytes written, of files that were removed since too
	LastFSeq  uint64     `json:"lastFseq"`      // of the last tape file that is durable
	LastID    uint64     `json:"lastArchiveId"` // its archive id, which an append compares
	Files     int64      `json:"nbMasterFiles"` // that are in the tree
	Bytes     int64      `json:"masterDataInBytes"`
	Full      bool       `json:"full"`
	State     State      `json:"state"`
	Reason    string     `json:"stateReason"`
	// Cause is the reason for which the system put the tape aside; "" when a person did, or when it is not known.
	Cause     Cause     `json:"stateCause,omitempty"`
	Key       string    `json:"encryptionKeyName"`
	Labelled  time.Time `json:"labelTime,omitzero"`
	Read      time.Time `json:"lastReadTime,omitzero"`
	Written   time.Time `json:"lastWrittenTime,omitzero"`
	ReadBy    string    `json:"lastReadDrive"`
	WrittenBy string    `json:"lastWrittenDrive"`
	LabelBy   string    `json:"labelDrive"`
	Reads     int64     `json:"readMountCount"`
	Writes    int64     `json:"writeMountCount"`
	Verified  time.Time `json:"verifiedTime,omitzero"` // when all its files had been read and were right
	Made      time.Time `json:"creationTime,omitzero"`
	MadeBy    string    `json:"createdBy"`
	Changed   time.Time `json:"modificationTime,omitzero"`
	ChangedBy string    `json:"modifiedBy"`
	Comment   string    `json:"comment"`
	// Foreign: another system wrote what is on it, so ids in its indexes are not of this one. A reclaim ends that.
	Foreign   bool  `json:"foreign,omitempty"`
	Repack    *Task `json:"repack,omitempty"`       // while its files move to other tapes
	Verifying *Task `json:"verification,omitempty"` // while its files are read and compared
	// Life is the life of the store in which the tape was added, labelled or scanned last. A restore and a rebuild begin another life: what the
	// tape was written and reclaimed since the backup is not known then.
	Life uint64 `json:"life,omitempty"`
	// Doubt says which files of the tape keep it from being written, until a scan has read them.
	Doubt string `json:"doubt,omitempty"`
	// Unscanned says why the tape is not written, labelled with force or reclaimed until it was scanned, "" for one that may be. It is not stored.
	Unscanned string `json:"unscanned,omitempty"`
	// ReclaimedFSeq and ReclaimedID name the last tape file of what a reclaim ended, until the tape is written again.
	ReclaimedFSeq uint64 `json:"reclaimedFseq,omitempty"`
	ReclaimedID   uint64 `json:"reclaimedArchiveId,omitempty"`
	// Inferred counts files that a scan found and that no file has, without a removal that is known. A reclaim would lose them.
	Inferred int64 `json:"inferredFiles,omitempty"`
	// UnreadFSeq is the first tape file that was not read back after it was written; zero: none waits for that. Disk copies that count on it stay.
	UnreadFSeq uint64 `json:"unreadFseq,omitempty"`
	// ReturnFSeq is the first tape file whose disk copies may go now, as the tape can be read again or was read back: its file is to be looked at.
	// Zero: none. Returns counts how often the tape came back so.
	ReturnFSeq uint64 `json:"returnFseq,omitempty"`
	Returns    uint64 `json:"returns,omitempty"`
	// Relabel is an order to write a label, until a drive has done it, or has found that it cannot.
	Relabel *Relabel `json:"relabel,omitempty"`
}

// Cause is the problem that a drive found with a tape. The words are stored.
type Cause string

// What is wrong with tapes.
const (
	WriteProtected Cause = "write-protected" // the cartridge's tab is set: it can be read
	Unreadable     Cause = "unreadable"      // the drive could not read or write it
	Encrypted      Cause = "encrypted"       // with a key that the drive was not given
	Mislabelled    Cause = "label"           // its label, or its end, is not what the catalogue has
)

// Relabel is an order to label a tape without files.
type Relabel struct {
	By    string    `json:"by"`
	Asked time.Time `json:"asked"`
	Force bool      `json:"force,omitempty"` // whatever is on the tape
}

// Task is work on all files of a tape. It ends by itself, or by adminapi.OrderStopTape.
type Task struct {
	By     string    `json:"by"`
	Begun  time.Time `json:"begun"`
	Files  int64     `json:"totalFiles"` // in the tree, when it began
	Bytes  int64     `json:"totalBytes"`
	Queued uint64    `json:"queuedFseq"` // the files up to this fSeq have their requests
	Copies bool      `json:"addCopies"`  // copies that the files lack are written too
	Filled bool      `json:"allQueued"`
	// Left are the files of a repack that cannot move, by storage class: the first 20 kinds.
	Left []Left `json:"left,omitempty"`
	// Waits is the reason for which its next file waits, in lists of tapes. It is not stored.
	Waits string `json:"waits,omitempty"`
}

// Left counts files of one storage class and copy that a repack leaves on their tape.
type Left struct {
	Class  string `json:"storageClass"`
	Copy   uint8  `json:"copyNb"`
	Files  int64  `json:"files"`
	Path   string `json:"firstPath"` // of the first of them
	Why    string `json:"why"`
	Remedy string `json:"remedy"`
}

// File is one row of a tape's list of files. A file that was removed or replaced stays in it until the tape is reclaimed, and can be brought back until then.
type File struct {
	hemera.TapeCopy
	ArchiveID uint64
	File      hemera.FileID
	Size      int64
	Written   time.Time
	Dead      *DeadFile `json:",omitempty"` // nil: the content is a file's now
	Found     bool      `json:",omitempty"` // by a scan
}

// DeadFile is the record of a file when its content was removed or replaced.
type DeadFile struct {
	Path     string
	Removed  time.Time
	Why      string
	UID, GID uint32
	Mode     uint32
	Mtime    time.Time
	Class    string
	Sums     []hemera.Checksum `json:",omitempty"`
	// Inferred: no removal is known. A scan found the content, and the tree has no file of it.
	Inferred bool `json:",omitempty"`
}

// Attention is something that needs a person.
type Attention struct {
	Subject, What, Command string
}
