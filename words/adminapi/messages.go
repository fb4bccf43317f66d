package adminapi

import (
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Requests and answers of verbs for which the interfaces of services have no type of their own. Their JSON is the API: fields may be
// added, never renamed.

// None is an empty request or answer.
type None struct{}

// AddDiskRequest is the request of AddDisk.
type AddDiskRequest struct {
	Node  hemera.NodeID
	Path  string // at the node, absolute
	Space hemera.SpaceName
	// Folder takes a directory that is no filesystem of its own.
	Folder bool `json:",omitempty"`
}

// SetDiskRequest is the request of SetDisk. Keys and values are those of `hemera fs set`; the service checks both.
type SetDiskRequest struct {
	ID         hemera.DiskID
	Key, Value string
}

// RemoveDiskRequest is the request of RemoveDisk.
type RemoveDiskRequest struct {
	ID    hemera.DiskID
	Force bool // also if pieces are on it
	Lose  bool `json:",omitempty"` // files, with Force
}

// SetNodeRequest is the request of SetNode. Keys and values are those of `hemera node set`.
type SetNodeRequest struct {
	ID         hemera.NodeID
	Key, Value string
}

// RemoveNodeRequest is the request of RemoveNode.
type RemoveNodeRequest struct{ ID hemera.NodeID }

// SetSpaceRequest is the request of SetSpace. Keys and values are those of `hemera space set`.
type SetSpaceRequest struct {
	Name       hemera.SpaceName
	Key, Value string
}

// RemoveSpaceRequest is the request of RemoveSpace.
type RemoveSpaceRequest struct{ Name hemera.SpaceName }

// Token is the answer of CreateToken.
type Token struct{ Token string }

// RemoveTokenRequest is the request of RemoveToken.
type RemoveTokenRequest struct{ ID string }

// NodeRef is the request of AdmitNode and ExpelNode.
type NodeRef struct{ ID hemera.NodeID }

// RotateKeysRequest is the request of RotateKeys.
type RotateKeysRequest struct{ End bool }

// FileRef is the request of verbs about one file: by path or by id.
type FileRef struct {
	Ref    string // a path, fid:<dec> or fxid:<hex>
	Repair bool   `json:",omitempty"` // CheckFile only
}

// DiskFilesRequest asks for a page of the files of a disk.
type DiskFilesRequest struct {
	ID    hemera.DiskID // whose files
	After hemera.FileID // the last id of the page before; 0 begins
	Limit int           // files in the page; the service has a maximum of its own
}

// FsckRequest is the request of Fsck. Repair asks that what can be put right is put right at once.
type FsckRequest struct {
	Repair bool `json:",omitempty"`
}

// EventsRequest asks for events after a sequence number.
type EventsRequest struct {
	After uint64 // the last sequence number that the caller has; 0 begins with the oldest that is kept
	Limit int
}

// MeasureRequest asks for what the machine of a node measures.
type MeasureRequest struct {
	Node    hemera.NodeID
	Command []string // the words behind `hemera`
}

// Measured is the answer of Measure.
type Measured struct {
	JSON []byte
}

// WhyRequest asks for an explanation; kinds are WhyFile and so on.
type WhyRequest struct{ Kind, Ref string }

// ImpactRequest asks for what the loss of disks would mean.
type ImpactRequest struct{ Disks []hemera.DiskID }

// PathRequest is the request of verbs about one path.
type PathRequest struct{ Path string }

// MkdirRequest is the request of Mkdir.
type MkdirRequest struct {
	Path    string
	Mode    uint32
	Parents bool // make missing parents too; an existing directory is no error then
}

// RenameRequest is the request of Rename.
type RenameRequest struct{ From, To string }

// RemoveRequest is the request of Remove and Erase.
type RemoveRequest struct {
	Path string
	Kind hemera.EntryKind `json:",omitempty"` // zero: a file or a directory
}

// Entries is one message of a listing.
type Entries struct{ Entries []hemera.Entry }

// SetModeRequest is the request of SetMode.
type SetModeRequest struct {
	Path string
	Mode uint32 // permission bits, as for chmod(2)
}

// SetOwnerRequest is the request of SetOwner.
type SetOwnerRequest struct {
	Path     string
	UID, GID int64 // -1: leave
}

// SetTimesRequest is the request of SetTimes.
type SetTimesRequest struct {
	Path  string
	Mtime time.Time // the only time that a user may set
}

// SetXattrRequest is the request of SetXattr.
type SetXattrRequest struct {
	Path, Name string
	Value      []byte // any bytes, base64 in JSON
	CreateOnly bool   // fail with Exists if the attribute is set
}

// RemoveXattrRequest is the request of RemoveXattr.
type RemoveXattrRequest struct{ Path, Name string }

// SetQuotaRequest is the request of SetQuota.
type SetQuotaRequest struct {
	Key    hemera.QuotaKey // the quota node, and whose limit at it
	Limits hemera.QuotaAmount
}

// QuotasRequest asks for the quotas at and above a path, or for all.
type QuotasRequest struct{ Path string }

// PurgeRequest is the request of Purge.
type PurgeRequest struct{ ID hemera.FileID }

// RestoreVersionRequest is the request of RestoreVersion.
type RestoreVersionRequest struct{ Path, Version string }

// Restored is the answer of Restore.
type Restored struct{ Path string }

// RecycledEntries is one message of a list of what recycle bins have.
type RecycledEntries struct{ Entries []Recycled }

// WriteRef is the request of FreeWrite.
type WriteRef struct{ ID string } // as Writes shows it

// EndWriteRequest is the request of EndWrite.
type EndWriteRequest struct {
	ID     string // as Writes shows it
	Commit bool   // or it is removed
}

// ConversionRef is the request of StopConversion.
type ConversionRef struct{ ID uint64 } // as Conversions shows it

// Chunk is a run of an archive's bytes.
// Its size is what the writer of the archive wrote at once; the client puts chunks together in their order.
type Chunk struct{ Data []byte }

// BenchmarkPrefix is the request of CleanBenchmark.
type BenchmarkPrefix struct{ Prefix string }

// TapeFilesRequest asks for files of a tape, at most 1000.
type TapeFilesRequest struct {
	VID   hemera.VID // of the tape
	After uint64     // the page begins behind this fSeq
	Dead  bool       // with files that were removed from the tree
}

// AddTapeKeyRequest is a key to add. The secret travels in the request, which only processes of the manager's machine can make for an admin.
type AddTapeKeyRequest struct {
	Name    string
	Secret  []byte `json:",omitempty"` // none: the manager makes one
	Comment string
}

// Subject is the request of TapeExplain and Evict: a path, or a name of something.
type Subject struct{ Subject string }

// Said is a text for people.
type Said struct{ Text string }

// SessionRef names a session of a tape drive by its mount.
type SessionRef struct{ Mount tapeapi.MountID }

// StageRef names a request to stage files.
type StageRef struct{ ID string }

// StagesRequest asks for requests to stage files.
type StagesRequest struct{ All bool } // with those of other users

// CancelStageRequest withdraws paths from a request; none are all of it.
type CancelStageRequest struct {
	ID     string
	Paths  []string
	Forget bool
}

// PathsRequest is the request of Release and Localities.
type PathsRequest struct {
	ID    string // of a request, or ""
	Paths []string
}

// ArchiveRequest asks for a file's copies on tape.
type ArchiveRequest struct{ Path, Class string }

// Archived is the number of copies that Archive queued.
type Archived struct{ Copies int }

// Evicted is the number of bytes on disks that Evict frees.
type Evicted struct{ Freed int64 }
