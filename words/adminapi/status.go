package adminapi

import (
	"context"
	"time"

	"hemera/words/hemera"
)

// StatusAdmin tells how well the cluster is, and why something is as it is. Callers have checked that who is an
// admin. Calls answer from memory, or block for the namespace's store. They fail only if that does, but for what a
// method says.
type StatusAdmin interface {
	// Status is a summary of the whole cluster, with everything that is not as it should be.
	Status(ctx context.Context) (ClusterStatus, error)
	// Impact counts what files would lose if the disks were removed now. NotFound.
	Impact(ctx context.Context, disks []hemera.DiskID) (Impact, error)
	// Why explains a file, a disk, a node or the jobs: what it waits for. kind is one of [WhyFile] and so
	// on. Files and directories are explained to users who may read them, without names of other users; the
	// caller sees to it that only admins ask for other kinds. NotFound, Denied, Invalid.
	Why(ctx context.Context, who hemera.Identity, kind, ref string) (Explanation, error)
	// Impaired calls visit for every file of the standing, in no order of names. It reads what the namespace lists for the disks and tapes that
	// cannot be read, and ends with visit's error, if any.
	Impaired(ctx context.Context, standing FileStanding, visit func(path string, e hemera.Entry) error) error
	// Network has the counts of the nodes about each other, and the judgement on each of them.
	Network(ctx context.Context) (NetworkReport, error)
}

// Severity says how bad a condition is.
type Severity string

// The severities. An error means that data is lost, or that something does not work now: reads of some
// files, or writes to a space. A warning means that everything works, with less redundancy or room than
// there should be. SeverityInfo is worth to know, and nothing is wrong. SeverityOK is that of a cluster
// without errors and warnings.
const (
	SeverityOK      Severity = "ok"
	SeverityInfo    Severity = "info"
	SeverityWarning Severity = "warning"
	SeverityError   Severity = "error"
)

// FileStanding says how well the content of a file can be read.
type FileStanding string

// The standings of files that are not as they should be, the worst first.
const (
	FileLost       FileStanding = "lost"       // too few pieces are on disks of the cluster, and no tape gives it
	FileUnreadable FileStanding = "unreadable" // too few pieces can be read now, or it is on tapes alone and none of them can be read
	FileDegraded   FileStanding = "degraded"   // it can be read, and a disk with a piece of it cannot
)

// Subject kinds of Why.
const (
	WhyFile    = "file"    // a path, fid:<dec> or fxid:<hex>
	WhyDisk    = "disk"    // its id
	WhyNode    = "node"    // its id
	WhyNetwork = "network" // the id of a node
	WhyJobs    = "jobs"    // all drains and repairs
)

// Explanation says why something is as it is, and what it waits for.
type Explanation struct {
	Subject string
	State   string // in a word or a sentence
	Missing bool   `json:",omitempty"` // there is no such file: the reasons are about a new one
	Reasons []Reason
}

// AboutNewFiles is the subject of the reason that says how new files of a directory are stored. It has a remedy when they
// cannot be.
const AboutNewFiles = "new files"

// Reason is one fact that explains a state. Remedy is empty where nothing needs to be done.
type Reason struct{ About, Text, Remedy string }

// Condition is one thing that is not as it should be.
type Condition struct {
	// Code names the kind of condition. Codes are stable: docs/operations.md lists them.
	Code     string
	Severity Severity
	// Subject is the subject of the condition, such as "disk 4" or "space default"; empty: the cluster. It never names a
	// file, so the number of subjects is bounded by the size of the cluster.
	Subject string
	Text    string
	Remedy  string
	// Count is the number of things that are meant, such as files; at least 1.
	Count int64
}

// ClusterStatus is a summary of the cluster.
type ClusterStatus struct {
	Taken   time.Time
	Version string // of the manager
	Booted  time.Time
	Health  Severity // the worst of the conditions; ok when they are for information only
	// Conditions are ordered: errors, warnings, information; then by code and subject.
	Conditions []Condition

	Nodes, NodesOnline                   int
	Disks, DisksReadable, DisksWritable  int
	Room                                 hemera.Room // of all disks
	Tree                                 hemera.TreeTotals
	Recycled                             hemera.TreeTotals // in recycle bins, beside Tree
	Files                                FileHealth
	ReadBytes, WriteBytes                int64 // per second, at all disks
	ReadOpens, WriteOpens, PendingWrites int64
	Sessions                             int // at the manager
	// Jobs are the drains and repairs that are not done.
	Jobs []JobStatus
}

// FileHealth counts files that lack pieces. It is counted from what the namespace lists for the disks
// that cannot be read, not by a walk of the tree.
type FileHealth struct {
	Taken time.Time
	// Partial: the count is not finished, and the numbers are how many were found so far.
	Partial bool
	// Lost files have too few pieces on disks of the cluster to be read ever again, unless a disk that
	// was removed is added again.
	Lost, LostBytes int64
	// Ruined is the number of lost files that have pieces on disks that can be read, all of them bad.
	Ruined int64
	// Unreadable files have enough pieces, but too few of them on disks that can be read now; or they are on tape only.
	Unreadable, UnreadableBytes int64
	// UnreadableOnTape is the number of unreadable files that are on tapes alone while none of these tapes can be read.
	UnreadableOnTape int64
	// Degraded files can be read, and have pieces on disks that cannot. Of them and of the incomplete ones, Frail files cannot be read any more once
	// one more piece is gone.
	Degraded, Frail int64
	// Incomplete files can be read, and have fewer pieces than their layout asks for.
	Incomplete int64
	// Unmet are layouts that incomplete files ask for and their space has too few disks for.
	Unmet []UnmetLayout
	// Disks are those that lost and unreadable files were on.
	Disks []DiskLoss
	// Tapes are those with unreadable files, and why each cannot be read.
	Tapes []TapeLoss
}

// UnmetLayout is a layout that a space cannot give.
type UnmetLayout struct {
	Space  hemera.SpaceName
	Pieces uint8 // what the layout asks for
	Disks  int   // how many the space has, whatever their state
	Files  int64
	Path   string // one of the files
}

// DiskLoss counts the files with pieces on a disk that cannot be read anywhere. A file with pieces on several such disks
// counts at each.
type DiskLoss struct {
	Disk             hemera.DiskID
	Lost, Unreadable int64
}

// TapeLoss counts the files of a tape that are on tape only and cannot be read anywhere. A file on several such tapes counts at the first.
type TapeLoss struct {
	VID         hemera.VID
	Unreadable  int64
	Why, Remedy string
}

// Impact is the loss that the removal of disks brings.
type Impact struct {
	// Partial: there is more than could be counted; the numbers are how many were found.
	Partial       bool
	Pieces, Bytes int64 // on the disks; exact in any case
	// Lost files have too few pieces elsewhere to be read ever again, Unreadable ones too few that can be
	// read now. Weakened ones lose a copy, and can be repaired from the others.
	Lost, LostBytes      int64
	Unreadable, Weakened int64
	// OnTape files have too few pieces elsewhere as well, and all their copies on tape: they are recalled.
	OnTape, OnTapeBytes int64
	Names               []string // the first paths that would be lost
	// Unsure: the namespace went back, and no rebuild has read all disks since. Pieces that it does not know are not counted.
	Unsure bool `json:",omitempty"`
}
