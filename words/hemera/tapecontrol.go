package hemera

import (
	"context"
	"time"
)

// TapeControl is what a tape server asks of the manager. A tape server is a node with a tape library: node and epoch are those of its lease, as in
// [Control], and calls with an older epoch fail with Fenced. The server owns its library alone: no other one mounts its tapes. Calls block for a
// round trip, and for the manager's store where something changes.
type TapeControl interface {
	// ReportLibrary says what the library and its drives are now. It is called when that changes, and every 10 s.
	ReportLibrary(ctx context.Context, node NodeID, epoch uint64, l TapeLibrary) error
	// NextMount asks what a drive that has nothing to do is to do, and waits up to some seconds for an answer other than "nothing".
	NextMount(ctx context.Context, node NodeID, epoch uint64, drive string) (TapeMount, error)
	// TapeJobs gives a mount its next jobs, in order; none when nothing is left for it. Jobs that a mount was given are given to no other one
	// until it ends, or its server does.
	TapeJobs(ctx context.Context, node NodeID, epoch uint64, want TapeJobsRequest) (TapeJobsReply, error)
	// TapeGrant permits to read the content of a job that archives, or to write that of one that recalls. NotFound, Conflict: the job is void.
	TapeGrant(ctx context.Context, node NodeID, epoch uint64, mount uint64, job TapeJobKey) (TapeGrant, error)
	// TapeDone reports what a mount did. When err is nil everything in it is durable, and seen is the mark of the store with it: see
	// HeartbeatReply.Seen. It may be sent again after Timeout and Unavailable.
	TapeDone(ctx context.Context, node NodeID, epoch uint64, r TapeResults) (seen []byte, err error)
}

// TapeLibrary is a library and its drives, as their server sees them.
type TapeLibrary struct {
	Name   string
	Drives []TapeDriveState
	// VIDs are the cartridges in the library, with their media types.
	VIDs map[string]string
	// Capacities are those of cartridges in bytes, as far as the library tells them.
	Capacities map[string]int64
	Problem    string // what keeps it from working, "" for nothing
	// Speed is how many times faster than real ones an emulated library's devices are; 0: they are real.
	Speed int `json:",omitempty"`
	// Ended is of the last report of a server that ends in order: nothing of the library can be used until it reports again.
	Ended bool `json:",omitempty"`
}

// TapeDriveState is one drive as its server sees it.
type TapeDriveState struct {
	Name    string // unique in the cluster
	Model   string
	Serial  string
	Device  string
	Media   []string // media types that it writes
	Reads   []string // and those that it reads besides
	VID     string   // what is mounted, "" for nothing
	Mount   uint64   // what it works on, 0 for nothing
	Status  string   // UP, DOWN, STARTING, MOUNTING, TRANSFERRING, UNMOUNTING, DRAINING, CLEANINGUP, SHUTDOWN
	Since   time.Time
	Problem string // why it is down by itself
	Object  uint64 // where the tape stands
	Session TapeSession
}

// TapeSession says how a session of a drive went, or goes. Durations are sums of what the drive waited for.
type TapeSession struct {
	Mount       uint64
	Kind        TapeJobKind
	VID         string
	Drive       string
	Begun       time.Time
	Ended       time.Time `json:",omitzero"`
	Files       int64
	Bytes       int64
	Failed      int64
	Elapsed     time.Duration // of data transfer, without mounting
	Streaming   float64       // share of it in which the tape moved at its speed, 0 to 1
	BackHitches int64
	Disk        time.Duration // waited for nodes: their disks had not given the data, or not taken it
	Network     time.Duration // waited while data was on its way between a node and the tape server
	Robot       time.Duration
	Tape        time.Duration // positioning, loading and flushing
	Flushes     int64
	Error       string `json:",omitempty"`
	// Course is how the session went over time, when it has ended; at most TapeCourseMax samples. Lists of sessions leave it out.
	Course []TapeSample `json:",omitempty"`
}

// TapeCourseMax bounds the samples of a session, however long it was.
const TapeCourseMax = 200

// TapeSample is what a session had done at a moment of it. All but Buffered only grow.
type TapeSample struct {
	At       time.Duration // since the transfer began
	Bytes    int64         // that the drive took or gave
	Buffered int64         // bytes in the memory of the session: of an archive they wait for the drive, of a recall for disks
	// As in the figures of the session.
	Disk, Network, Tape time.Duration
	BackHitches         int64
}

// TapeMountKind is what a drive is to do.
type TapeMountKind uint8

// The kinds of mounts.
const (
	MountNothing TapeMountKind = 0 // ask again
	MountWork    TapeMountKind = 1 // mount the tape, unless it is mounted, and do its jobs
	MountUnload  TapeMountKind = 2 // unmount what is mounted
	MountLabel   TapeMountKind = 3 // mount, check that nothing of worth is on it, and label
	MountScan    TapeMountKind = 4 // mount, and report which files are on the tape
)

// TapeMount is what a drive is to do.
type TapeMount struct {
	ID     uint64
	Kind   TapeMountKind
	Job    TapeJobKind // of its jobs
	VID    string
	Pool   string
	Labels TapeLabels
	Data   bool   // of a scan: files that no index lists are read, for their checksums
	After  uint64 `cbor:",omitempty"` // of a scan: the files up to this fSeq are known; 0: the whole tape
	// ReadBack: the files are read as they were written lately, and nobody has asked for it.
	ReadBack bool   `cbor:",omitempty"`
	Why      string // the rule that decided
}

// TapeLabels is what a session must know of a tape before it writes or reads.
type TapeLabels struct {
	LastFSeq uint64
	LastID   uint64 // archive id of the last tape file, which is compared before an append
	// ReclaimedFSeq and ReclaimedID name the last tape file of what a reclaim ended, until the tape is written again; zero: none.
	ReclaimedFSeq uint64 `cbor:",omitempty"`
	ReclaimedID   uint64 `cbor:",omitempty"`
	Media         string
	Key           TapeKey
	Force         bool // of a label: whatever is on the tape may go
	Protected     bool // of a label: with checksums of blocks between host and drive
}

// TapeJobsRequest asks for jobs.
type TapeJobsRequest struct {
	Mount uint64
	Files int
	Bytes int64
}

// TapeJobsReply has jobs with what the tape's labels and index say of their files.
type TapeJobsReply struct {
	Jobs []TapeWork
	// Last: the session is to end when these are done.
	Last bool
}

// TapeWork is a job with what is needed to do it.
type TapeWork struct {
	TapeJob
	Path     string
	Checksum []Checksum // of the content
	Owner    FileOwner  // of the file; UID of the job is who asked
	Mtime    time.Time
	Class    string
}

// TapeGrant permits a job: open the file at Addr with Token, as a client does.
type TapeGrant struct {
	Addr  string
	Token string
	Path  string
	Size  int64
}

// TapeResults is what a mount did since its last report.
type TapeResults struct {
	Mount   uint64
	VID     string
	Key     string        // name of the key that Written is encrypted with, "" for none
	Written []TapeWritten // in the order of fSeq, which follows that of the tape without gaps
	Failed  []TapeFailure
	Done    []TapeJobKey // recalls whose file was committed, and verifications
	// Full: no more is to be written to the tape.
	Full     bool
	Labelled bool
	// Scan is of a mount that scans: what it found since its last report.
	Scan *TapeScanResults `cbor:",omitempty"`
	// Unscanned says which files on the tape keep it from being written: the catalogue does not know them.
	Unscanned string `cbor:",omitempty"`
	// Problem is what is wrong with the tape or the drive; the manager decides what follows.
	Problem string
	Cause   TapeCause `cbor:",omitempty"` // of the problem, "" for none that is known
	Ended   bool      // the mount is over; the tape may still be in the drive
	Session TapeSession
}

// TapeWritten is a tape file that is durable. Jobs that share one are members of a container.
type TapeWritten struct {
	Job       TapeJobKey // of kind 0: no file is behind it (an index, or a file that failed in the middle)
	ArchiveID uint64
	FSeq      uint64
	Block     uint64
	Member    uint32
	Size      int64
	Sum       Checksum // adler32 of what was written
	Bytes     int64    // on tape, labels included; of one member of a container only
}

// TapeFailure is a job that failed.
type TapeFailure struct {
	Job   TapeJobKey
	Error string
	// Void: it can never succeed: the file is gone or has another content.
	Void bool
	// Copy: the copy on tape is bad, so another one is to be read.
	Copy bool
	// PutOff: the disks could not take the file, or another writer holds it. The job is put off, and has not failed.
	PutOff bool
}

// TapeScanResults is what a scan found. Files come in the order from the end of the tape to its beginning.
type TapeScanResults struct {
	Files []TapeScanned
	End   TapeEnd
	// Complete: the scan has reached the beginning of the tape, and End.Bytes counts all of it.
	Complete bool
	Blank    bool // nothing was ever written to it, a label neither
}

// TapeEnd is the last tape file of a tape, and how much is written up to its end. All of it is zero for a tape without files.
type TapeEnd struct {
	FSeq      uint64
	ArchiveID uint64
	Bytes     int64 // with labels; 0 before that is known
}

// TapeScanned is a file that a scan found on a tape.
type TapeScanned struct {
	Written TapeWritten
	File    FileID
	Path    string // "" where only labels tell of it
	Sums    []Checksum
	Owner   FileOwner
	Mtime   time.Time
	Class   string
	Copy    uint8
}
