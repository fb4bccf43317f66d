package hemera

import (
	"cmp"
	"strconv"
	"time"
)

// TapeCopy is a copy of a file's content on tape, durable there. The vocabulary is CTA's.
type TapeCopy struct {
	Number uint8  // of the copies that the storage class asks for, from 1
	VID    string // of the tape
	FSeq   uint64 // number of the tape file on its tape, from 1
	Block  uint64 // block id: the number of the tape object where the file begins
	Member uint32 // of a container, from 1; 0: the tape file is this content alone
}

// ComparePlace compares the places of two copies on one tape, as cmp.Compare does. Members of a container have one block, and lie in their order.
func (c *TapeCopy) ComparePlace(o *TapeCopy) int {
	return cmp.Or(cmp.Compare(c.Block, o.Block), cmp.Compare(c.Member, o.Member))
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

// ArchiveID is the number that the content has on tape; zero for files that are not to be archived.
func (e *Entry) ArchiveID() uint64 {
	id, _ := strconv.ParseUint(string(e.Xattrs[AttrArchiveID]), 10, 64)
	return id
}

// StorageClass is the class that the content is archived by, "" for none.
func (e *Entry) StorageClass() string {
	if e.IsDir() || e.ArchiveID() == 0 {
		return ""
	}
	return string(e.Xattrs[AttrStorageClass])
}

// TapeJobKind says what is to be done with a file and a tape. The numbers are stored.
type TapeJobKind uint8

// The kinds of jobs.
const (
	TapeArchive TapeJobKind = 1 // write a copy of a file on disk to a tape of a pool
	TapeRecall  TapeJobKind = 2 // bring a file from a tape to disk
	TapeVerify  TapeJobKind = 3 // read a copy and compare its checksum
	TapeRepack  TapeJobKind = 4 // write a copy again to another tape, in place of one
	// Of sessions only; no job is of these kinds.
	TapeScanning  TapeJobKind = 5 // read what is on a tape into the catalogue
	TapeLabelling TapeJobKind = 6 // write the label of a tape
	TapeReadBack  TapeJobKind = 7 // read what a session wrote, before disk copies go that count on it
)

// String is the name in tables.
func (k TapeJobKind) String() string {
	switch k {
	case TapeArchive:
		return "archive"
	case TapeRecall:
		return "recall"
	case TapeVerify:
		return "verify"
	case TapeRepack:
		return "repack"
	case TapeScanning:
		return "scan"
	case TapeLabelling:
		return "label"
	case TapeReadBack:
		return "read back"
	}
	return "unknown"
}

// TapeJobKey names a job: there is one at most of a kind for a copy of a file.
type TapeJobKey struct {
	File FileID
	Kind TapeJobKind
	Copy uint8 // number of the copy; of a recall that of the copy that is read
}

// TapeJob is work that waits for a tape, or is done by a mount. It is durable until it is done or cancelled.
type TapeJob struct {
	TapeJobKey
	ArchiveID uint64
	Queue     string // the tape pool to write to, or the VID to read from
	Size      int64
	UID       uint32 // who asked; of archives the owner of the file
	Asked     time.Time
	Activity  string    `json:",omitempty"` // as a request named it
	Policy    string    `json:",omitempty"` // name of the mount policy, from when it was queued; "" for jobs of before: by the user
	From      *TapeCopy `json:",omitempty"` // what is read; nil of archives
	Attempts  int       `json:",omitempty"`
	Error     string    `json:",omitempty"` // of the last attempt
	// Waits is why the job was put off without an attempt that failed.
	Waits string `json:",omitempty"`
	// After is when the next attempt may begin; zero: now.
	After time.Time `json:",omitzero"`
	// Failed jobs are not tried again until somebody asks for it.
	Failed bool   `json:",omitempty"`
	Seq    uint64 // in the order of asking, within the queue
}

// TapeState says what may be done with a tape. The names are those of CTA.
type TapeState string

// The states.
const (
	TapeActive            TapeState = "ACTIVE"
	TapeDisabled          TapeState = "DISABLED" // jobs are queued, but it is not mounted
	TapeRepacking         TapeState = "REPACKING"
	TapeRepackingDisabled TapeState = "REPACKING_DISABLED"
	TapeBroken            TapeState = "BROKEN"
	TapeExported          TapeState = "EXPORTED"
)

// Tape is what the catalogue knows of one tape.
type Tape struct {
	VID       string    `json:"vid"`
	MediaType string    `json:"mediaType"`
	Vendor    string    `json:"vendor"`
	Library   string    `json:"logicalLibrary"`
	Pool      string    `json:"tapepool"`
	Capacity  int64     `json:"capacity"`      // bytes
	Occupancy int64     `json:"occupancy"`     // bytes written, of files that were removed since too
	LastFSeq  uint64    `json:"lastFseq"`      // of the last tape file that is durable
	LastID    uint64    `json:"lastArchiveId"` // its archive id, which an append compares
	Files     int64     `json:"nbMasterFiles"` // that are in the tree
	Bytes     int64     `json:"masterDataInBytes"`
	Full      bool      `json:"full"`
	State     TapeState `json:"state"`
	Reason    string    `json:"stateReason"`
	// Cause is why the system put the tape aside; "" when a person did, or when it is not known.
	Cause     TapeCause `json:"stateCause,omitempty"`
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
	Foreign   bool      `json:"foreign,omitempty"`
	Repack    *TapeTask `json:"repack,omitempty"`       // while its files move to other tapes
	Verifying *TapeTask `json:"verification,omitempty"` // while its files are read and compared
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
	Relabel *TapeRelabel `json:"relabel,omitempty"`
}

// TapeCause is what a drive found wrong with a tape. The words are stored.
type TapeCause string

// What is wrong with tapes.
const (
	TapeWriteProtected TapeCause = "write-protected" // the cartridge's tab is set: it can be read
	TapeUnreadable     TapeCause = "unreadable"      // the drive could not read or write it
	TapeEncrypted      TapeCause = "encrypted"       // with a key that the drive was not given
	TapeMislabelled    TapeCause = "label"           // its label, or its end, is not what the catalogue has
)

// TapeRelabel is an order to label a tape without files.
type TapeRelabel struct {
	By    string    `json:"by"`
	Asked time.Time `json:"asked"`
	Force bool      `json:"force,omitempty"` // whatever is on the tape
}

// TapeTask is what is being done with all files of a tape. It ends by itself, or with [OrderStopTape].
type TapeTask struct {
	By     string    `json:"by"`
	Begun  time.Time `json:"begun"`
	Files  int64     `json:"totalFiles"` // in the tree, when it began
	Bytes  int64     `json:"totalBytes"`
	Queued uint64    `json:"queuedFseq"` // the files up to this fSeq have their requests
	Copies bool      `json:"addCopies"`  // copies that the files lack are written too
	Filled bool      `json:"allQueued"`
	// Left are the files of a repack that cannot move, by storage class: the first TapeLeftMax kinds.
	Left []TapeLeft `json:"left,omitempty"`
	// Waits is what its next file waits for, in lists of tapes. It is not stored.
	Waits string `json:"waits,omitempty"`
}

// TapeLeftMax bounds [TapeTask.Left].
const TapeLeftMax = 20

// TapeLeft counts files of one storage class and copy that a repack leaves on their tape.
type TapeLeft struct {
	Class  string `json:"storageClass"`
	Copy   uint8  `json:"copyNb"`
	Files  int64  `json:"files"`
	Path   string `json:"firstPath"` // of the first of them
	Why    string `json:"why"`
	Remedy string `json:"remedy"`
}

// TapeFile is one row of a tape's list of files. A file that was removed or replaced stays in it until the tape is reclaimed, and can be brought back until then.
type TapeFile struct {
	TapeCopy
	ArchiveID uint64
	File      FileID
	Size      int64
	Written   time.Time
	Dead      *DeadTapeFile `json:",omitempty"` // nil: the content is a file's now
	Found     bool          `json:",omitempty"` // by a scan
}

// DeadTapeFile is what was known of a file when its content was removed or replaced.
type DeadTapeFile struct {
	Path     string
	Removed  time.Time
	Why      string
	UID, GID uint32
	Mode     uint32
	Mtime    time.Time
	Class    string
	Sums     []Checksum `json:",omitempty"`
	// Inferred: no removal is known. A scan found the content, and the tree has no file of it.
	Inferred bool `json:",omitempty"`
}
