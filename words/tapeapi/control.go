package tapeapi

import (
	"context"
	"time"

	"hemera/words/hemera"
)

// Control has the calls of a tape server to the manager. A tape server is a node with a tape library: node and epoch are those of its lease, as in
// [hemera.Control], and calls with an older epoch fail with Fenced. The server owns its library alone: no other one mounts its tapes. Calls block for
// a round trip, and for the manager's store where something changes.
type Control interface {
	// ReportLibrary says what the library and its drives are now. It is called when that changes, and every 10 s.
	ReportLibrary(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, l Library) error
	// NextMount asks what a drive that has nothing to do is to do, and waits up to some seconds for an answer other than "nothing".
	NextMount(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, drive string) (Mount, error)
	// TapeJobs gives a mount its next jobs, in order; none when nothing is left for it. Jobs that a mount was given are given to no other one
	// until it ends, or its server does.
	TapeJobs(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, want JobsRequest) (JobsReply, error)
	// TapeGrant permits to read the content of a job that archives, or to write that of one that recalls. NotFound, Conflict: the job is void.
	TapeGrant(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, mount MountID, job JobKey) (Grant, error)
	// TapeDone reports what a mount did. When err is nil everything in it is durable, and seen is the mark of the store with it: see
	// HeartbeatReply.Seen. It may be sent again after Timeout and Unavailable.
	TapeDone(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, r Results) (seen []byte, err error)
}

// Library is a library and its drives, as their server sees them.
type Library struct {
	Name   string
	Drives []DriveState
	// VIDs are the cartridges in the library, with their media types.
	VIDs map[hemera.VID]string
	// Capacities are those of cartridges in bytes, as far as the library tells them.
	Capacities map[hemera.VID]int64
	Problem    string // what keeps it from working, "" for nothing
	// Speed is the factor by which an emulated library's devices are faster than real ones; 0: they are real.
	Speed int `json:",omitempty"`
	// Ended marks the last report of a server that ends in order: nothing of the library can be used until it reports again.
	Ended bool `json:",omitempty"`
}

// DriveStatus is the state of a drive in CTA's words.
type DriveStatus string

// The states of drives. CTA has more: these are the ones that a server reports.
const (
	DriveUp           DriveStatus = "UP"
	DriveDown         DriveStatus = "DOWN"
	DriveStarting     DriveStatus = "STARTING" // it is probed
	DriveMounting     DriveStatus = "MOUNTING"
	DriveTransferring DriveStatus = "TRANSFERRING"
	DriveUnmounting   DriveStatus = "UNMOUNTING"
	DriveCleaningUp   DriveStatus = "CLEANINGUP"
)

// DriveState is one drive as its server sees it.
type DriveState struct {
	Name    string // unique in the cluster
	Model   string
	Serial  string
	Device  string
	Media   []string   // media types that it writes
	Reads   []string   // and those that it reads besides
	VID     hemera.VID // what is mounted, "" for nothing
	Mount   MountID    // what it works on, 0 for nothing
	Status  DriveStatus
	Since   time.Time
	Problem string // why it is down by itself
	Object  uint64 // where the tape stands
	Session Session
}

// MountID names what a drive was given to do. Ids only grow; zero is nothing.
type MountID uint64

// MountKind is the kind of a drive's work.
type MountKind uint8

// The kinds of mounts.
const (
	MountNothing MountKind = 0 // ask again
	MountWork    MountKind = 1 // mount the tape, unless it is mounted, and do its jobs
	MountUnload  MountKind = 2 // unmount what is mounted
	MountLabel   MountKind = 3 // mount, check that nothing of worth is on it, and label
	MountScan    MountKind = 4 // mount, and report which files are on the tape
)

// Mount is the next work of a drive.
type Mount struct {
	ID     MountID
	Kind   MountKind
	Job    JobKind // of its jobs
	VID    hemera.VID
	Pool   PoolName
	Labels Labels
	Data   bool   // of a scan: files that no index lists are read, for their checksums
	After  uint64 `cbor:",omitempty"` // of a scan: the files up to this fSeq are known; 0: the whole tape
	// ReadBack: the files are read since they were written lately, and not for a user.
	ReadBack bool   `cbor:",omitempty"`
	Why      string // the rule that decided
}

// Labels has the facts of a tape that a session must know before it writes or reads.
type Labels struct {
	LastFSeq uint64
	LastID   uint64 // archive id of the last tape file, which is compared before an append
	// ReclaimedFSeq and ReclaimedID name the last tape file of what a reclaim ended, until the tape is written again; zero: none.
	ReclaimedFSeq uint64 `cbor:",omitempty"`
	ReclaimedID   uint64 `cbor:",omitempty"`
	Media         string
	Key           Key
	Force         bool // of a label: whatever is on the tape may go
	Protected     bool // of a label: with checksums of blocks between host and drive
}

// JobsRequest asks for jobs.
type JobsRequest struct {
	Mount MountID
	Files int
	Bytes int64
}

// JobsReply has jobs with what the tape's labels and index say of their files.
type JobsReply struct {
	Jobs []Work
	// Last: the session is to end when these are done.
	Last bool
}

// Grant permits a job: open the file at Addr with Token, as a client does.
type Grant struct {
	Addr  string
	Token string
	Path  string
	Size  int64
}

// Results has the work of a mount since its last report.
type Results struct {
	Mount   MountID
	VID     hemera.VID
	Key     string    // name of the key that Written is encrypted with, "" for none
	Written []Written // in the order of fSeq, which follows that of the tape without gaps
	Failed  []Failure
	Done    []JobKey // recalls whose file was committed, and verifications
	// Full: no more is to be written to the tape.
	Full     bool
	Labelled bool
	// Scan has the finds of a mount that scans, since its last report.
	Scan *ScanResults `cbor:",omitempty"`
	// Unscanned says which files on the tape keep it from being written: the catalogue does not know them.
	Unscanned string `cbor:",omitempty"`
	// Problem is the problem of the tape or the drive; the manager decides what follows.
	Problem string
	Cause   Cause `cbor:",omitempty"` // of the problem, "" for none that is known
	Ended   bool  // the mount is over; the tape may still be in the drive
	Session Session
}

// Written is a tape file that is durable. Jobs that share one are members of a container.
type Written struct {
	Job       JobKey // of kind 0: no file is behind it (an index, or a file that failed in the middle)
	ArchiveID uint64
	FSeq      uint64
	Block     uint64
	Member    uint32
	Size      int64
	Sum       hemera.Checksum // adler32 of what was written
	Bytes     int64           // on tape, labels included; of one member of a container only
}

// Failure is a job that failed.
type Failure struct {
	Job   JobKey
	Error string
	// Void: it can never succeed: the file is gone or has another content.
	Void bool
	// Copy: the copy on tape is bad, so another one is to be read.
	Copy bool
	// PutOff: the disks could not take the file, or another writer holds it. The job is put off, and has not failed.
	PutOff bool
}
