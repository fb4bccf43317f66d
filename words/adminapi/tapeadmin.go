package adminapi

import (
	"context"
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// TapeAdmin shows tapes to admins and changes them. Callers have checked that the user is one. Calls block for the
// manager's store, but wait for no drive. A change of the configuration is durable at return. They fail with NotFound for
// what does not exist, and with Invalid for what makes no sense.
type TapeAdmin interface {
	// TapeConfig is the configuration as JSON: storage classes, pools, routes, organisations, mount policies and rules, media types, libraries.
	TapeConfig(ctx context.Context) ([]byte, error)
	// ChangeTape changes one object of it, or a tape, or a drive's wanted state. NotFound, Exists, Invalid; NotEmpty for one that is in use.
	ChangeTape(ctx context.Context, who string, c TapeChange) error
	// Tapes lists tapes by VID.
	Tapes(ctx context.Context) ([]tapeapi.Tape, error)
	// TapeFiles lists what is on a tape, by fSeq from the one after after, at most 1000.
	TapeFiles(ctx context.Context, vid hemera.VID, after uint64, dead bool) ([]tapeapi.File, error)
	// TapePicture is libraries, drives, queues and what needs a person, now.
	TapePicture(ctx context.Context) (TapePicture, error)
	// TapeJobList lists jobs: of a queue, or that failed.
	TapeJobList(ctx context.Context, q TapeJobQuery) ([]tapeapi.Work, error)
	// ExplainTape says of a path, VID, drive, pool or job why it waits, and an estimate.
	ExplainTape(ctx context.Context, subject string) ([]string, error)
	// OrderTape has something done: see the kinds of [TapeOrder].
	OrderTape(ctx context.Context, who string, o TapeOrder) (string, error)
}

// TapeSessions returns the course of single sessions of drives. It answers from memory.
type TapeSessions interface {
	// TapeSession is a session that ended lately, with its course. NotFound for others.
	TapeSession(ctx context.Context, mount tapeapi.MountID) (tapeapi.Session, error)
}

// TapeChange changes one object.
type TapeChange struct {
	Object string // pool, class, route, organisation, policy, rule, media, library, tape, drive, key
	Verb   string // add, set, remove
	Name   string
	Values map[string]string // by the names of the JSON
}

// TapeOrderKind is something to be done once.
type TapeOrderKind string

// The orders.
const (
	OrderLabel    TapeOrderKind = "label"    // a tape that is empty, or with Force any
	OrderRepack   TapeOrderKind = "repack"   // move the files of a tape to others, and write copies that they lack
	OrderCopies   TapeOrderKind = "copies"   // write the copies that the files of a tape lack
	OrderStopTape TapeOrderKind = "cancel"   // a repack, verification, scan or label
	OrderReclaim  TapeOrderKind = "reclaim"  // forget what a full tape without files held, so that it is written again
	OrderScan     TapeOrderKind = "scan"     // read what is on a tape into the catalogue; without a subject all tapes of the libraries
	OrderCheck    TapeOrderKind = "verify"   // read all files of a tape
	OrderRetry    TapeOrderKind = "retry"    // failed jobs: of a subject, or all
	OrderForget   TapeOrderKind = "forget"   // failed jobs
	OrderUndelete TapeOrderKind = "undelete" // a removed file that is still on tape, by its archive id or the path that it had
)

// TapeOrder is an order of an admin.
type TapeOrder struct {
	Kind    TapeOrderKind
	Subject string // a VID, a path or an archive id
	Force   bool   // of a label: whatever is on the tape
	Only    bool   // of a repack: write no copies that the files lack; of a scan: those tapes that wait for one
	DryRun  bool
	To      string // of an undeletion: another path than the one that the file had
	Data    bool   // of a scan: read files that no index lists, for their checksums
	// After belongs to a scan that the manager orders itself: the files up to this fSeq are known.
	After uint64 `json:",omitempty"`
	Lose  int64  `json:",omitempty"` // of a reclaim: so many files may be lost that only scans call removed
	Tape  bool   `json:",omitempty"` // of an undeletion: the subject is a tape, and all its files come back that only scans call removed
}

// TapePicture is the work of the tape tier now.
type TapePicture struct {
	Libraries []tapeapi.Library
	Drives    []TapeDrive
	Pools     []TapePool
	Queues    []TapeQueue
	Failed    []TapeQueue       // jobs that are not tried again by themselves: kind, name and number; without Held
	Held      []TapeHeld        // files that no pool takes, by class
	Sessions  []tapeapi.Session // that ended lately, newest first
	Scans     []TapeScan        // the last of each tape, by VID: those that wait, go on, or have ended
	// Attention has the conditions that need a person, with the command to type.
	Attention []tapeapi.Attention
	WentBack  hemera.WentBack `json:",omitzero"` // tapes and disks may have files that the namespace does not know
}

// TapeHeld is the files of a storage class that are to be archived and that no tape pool takes. The tier queues them by itself once one does.
type TapeHeld struct {
	Class        string
	Files, Bytes int64
	TooLarge     bool   // the organisation takes no files of their size; else the class is unknown, or has no route
	Why, Command string // what keeps them, and what an admin types
}

// TapeScan is the progress of a scan of a tape, and the result for the files that it found.
type TapeScan struct {
	VID     hemera.VID
	DryRun  bool
	Asked   time.Time
	Begun   time.Time `json:",omitzero"` // zero: it waits for a drive
	Ended   time.Time `json:",omitzero"` // zero: it goes on
	Drive   string
	FSeq    uint64 // that was reached; 1 is the beginning of the tape
	Files   int64  // found so far
	Bytes   int64  // of their contents
	Counts  map[tapeapi.Outcome]int64
	Found   []tapeapi.Taken // what a person should know: the first of those that became no live file, and were not known
	Why     string          // why nothing is taken, or what the scan waits for
	Problem string          // why it ended before the beginning of the tape, or took nothing
}

// TapeDrive is a drive with what the manager knows of it.
type TapeDrive struct {
	tapeapi.DriveState
	Library string
	Node    hemera.NodeID
	Up      bool   // wanted by admins
	Reason  string // why not
	Comment string // of admins
	Pool    tapeapi.PoolName
	Kind    tapeapi.JobKind // of what it does
	Seen    time.Time       // when its server reported last
	// Of its work, empty without one: the organisation that is charged, the priority of its queue, and bytes of the disk buffer that it may still fill.
	Organisation string
	Priority     int64
	Reserved     int64
	// LibraryDisabled: admins took its library out of use.
	LibraryDisabled bool
	// Totals are sums over its sessions since the manager was started, one for each kind.
	Totals []TapeTotals `json:",omitempty"`
}

// TapeTotals are sums over sessions of one kind. Durations are those of [tapeapi.Session]; Streaming is its share of Elapsed.
type TapeTotals struct {
	Kind                 tapeapi.JobKind
	Sessions             int64 // that ended
	Files, Bytes, Failed int64
	BackHitches, Flushes int64
	Elapsed, Streaming   time.Duration
	Disk, Network        time.Duration
	Robot, Tape          time.Duration
}

// TapePool is a pool with sums over its tapes.
type TapePool struct {
	Name, Organisation     string
	Tapes, FullTapes, Free int64 // Free: empty tapes
	Capacity, Used         int64 // bytes
	Writable               int64 // bytes that its active tapes can still take, those of supply pools not included
	Files, Bytes           int64 // live
}

// TapeQueue is jobs of one kind that wait for the same pool or tape.
type TapeQueue struct {
	Kind           tapeapi.JobKind
	Name           string // pool or VID
	Pool           tapeapi.PoolName
	Organisation   string
	Library        string
	Files, Bytes   int64
	Oldest, Newest time.Time
	Priority       int64
	MinAge         time.Duration
	Mounts         int64 // that work on it now
	MountFiles     int64
	MountBytes     int64
	Why            string // what it waits for
	Estimate       time.Time
	// Drives that its organisation may have, to read and to write.
	ReadDrives, WriteDrives int64
	// Tapes are sums over those of the pool, or of the tape that is read. Writable counts those that can be written now.
	Tapes    TapePool
	Writable int64
	// NoRoom: there is no room on disks for what is to be recalled.
	NoRoom bool
	// Mount policies that give the queue its priority and its age.
	PriorityPolicy, AgePolicy string
}

// TapeJobQuery selects jobs.
type TapeJobQuery struct {
	Kind   tapeapi.JobKind // 0: all
	Queue  string          // "": all
	Failed bool            // only those that are not tried again
	Limit  int             // at most 1000
	// Path asks for the jobs of one file, those that failed too; the other fields do not count then. NotFound if there is no such file.
	Path string
}
