package adminapi

import (
	"context"
	"io"
	"time"

	"hemera/words/hemera"
)

// ClusterAdmin reads and changes the cluster's shape for admins. Callers have checked that the user is one. At the
// manager View answers from memory. A change blocks until it is durable, and fails with NotFound for a disk, node or
// space that does not exist, and with Invalid for a key or a value that cannot be.
type ClusterAdmin interface {
	// View is the cluster now.
	View(ctx context.Context) (*hemera.View, error)
	// AddDisk makes a node use a path; it appears in the view when the node has taken it.
	// The node refuses a path that is not a filesystem of its own, unless Folder is set; the wish is dropped then.
	AddDisk(ctx context.Context, node hemera.NodeID, d hemera.AttachDisk) error
	// SetDisk sets one property: configstatus, space, zone (see `fs set --help`).
	SetDisk(ctx context.Context, id hemera.DiskID, key, value string) error
	// RemoveDisk forgets a disk. NotEmpty when it holds pieces, or files are lost by it, and r does not
	// say that they may go.
	RemoveDisk(ctx context.Context, id hemera.DiskID, r Removal) error
	SetNode(ctx context.Context, id hemera.NodeID, key, value string) error
	// RemoveNode forgets a node, which cannot come back without a new join token. NotEmpty while it
	// has disks.
	RemoveNode(ctx context.Context, id hemera.NodeID) error
	SetSpace(ctx context.Context, name hemera.SpaceName, key, value string) error
	// RemoveSpace forgets a space. NotEmpty while a disk, a file or a directory's attribute refers to it.
	RemoveSpace(ctx context.Context, name hemera.SpaceName) error
}

// Removal says what may go with a disk.
type Removal struct {
	Force bool // its pieces: files that have others are repaired from them
	Lose  bool // with Force, also the last pieces of files
}

// TokenAdmin makes what nodes join with. Calls block for the manager's store: Unavailable if that has failed, Invalid
// for a request that makes no sense. A change is durable at return.
type TokenAdmin interface {
	// CreateToken makes a join token that works until it expires or was used.
	CreateToken(ctx context.Context, r TokenRequest) (string, error)
	// Tokens lists those that have not expired, without their secrets.
	Tokens(ctx context.Context) ([]TokenInfo, error)
	// RemoveToken revokes one by its id. The nodes that it admitted stay. NotFound.
	RemoveToken(ctx context.Context, id string) error
}

// TokenRequest says what a join token shall allow.
type TokenRequest struct {
	Lifetime time.Duration // zero: the manager's setting
	Uses     int           // nodes it admits; zero: one
	From     []string      // addresses or networks that they must come from; none: everywhere
}

// TrustAdmin decides which nodes are trusted. Changes block until they are durable; nodes hear of them with their
// next heartbeat.
type TrustAdmin interface {
	// AdmitNode lets a node in that waits for it. NotFound; Invalid for one that does not wait.
	AdmitNode(ctx context.Context, id hemera.NodeID) error
	// ExpelNode forgets a node that is lost or in bad hands, with all its disks. What they held is repaired from
	// other pieces; files without another piece are lost. NotFound.
	ExpelNode(ctx context.Context, id hemera.NodeID) error
	// RotateKeys makes a new capability key. With end, what was signed so far is refused within seconds: opens are
	// asked for again, and writes under way fail. Overloaded after too many.
	RotateKeys(ctx context.Context, end bool) error
}

// MaintAdmin answers and orders for admins what concerns the files' health. At the manager Jobs answers from memory, or
// blocks for the store for a moment. The others block for the store, and those that read pieces for nodes and disks, for
// as long as that takes or until ctx ends. NotFound for a file or a disk that does not exist; what cannot be read is in
// the report, and is not an error.
type MaintAdmin interface {
	// Jobs lists running and recent drains and repairs.
	Jobs(ctx context.Context) ([]JobStatus, error)
	// FileInfo returns an entry that who can reach, by path, "fid:<dec>" or "fxid:<hex>", and where its pieces are.
	// An admin who asks for an id also learns of pieces that only disks know: the answer may take 10 s then.
	// NotFound and Denied as of Stat; an id that who cannot reach is NotFound.
	FileInfo(ctx context.Context, who hemera.Identity, ref string) (FileReport, error)
	// CheckFile has every piece of a file read and verified, and bad ones repaired if asked.
	CheckFile(ctx context.Context, ref string, repair bool) ([]PieceCheck, error)
	// Fsck compares the namespace with what disks hold. With repair it has put right what can be, as
	// far as it did not take its time: orphans and copies are the background work's.
	Fsck(ctx context.Context, repair bool) (FsckReport, error)
	// CheckNamespace compares the namespace's records with each other, beside all else. progress hears
	// a few times a second how far it is; its error ends the check.
	CheckNamespace(ctx context.Context, progress func(NamespaceCheck) error) (NamespaceCheck, error)
	// DiskFiles lists files with a piece on the disk, by id from the one after after; at most 1000,
	// whatever the limit.
	DiskFiles(ctx context.Context, id hemera.DiskID, after hemera.FileID, limit int) (DiskFiles, error)
}

// DiskFile is a file with a piece on one disk.
type DiskFile struct {
	File   hemera.FileID
	Path   string
	Size   int64
	Layout hemera.Layout
	Pieces int
	// Last says that without this disk the file cannot be read now: too few of its other pieces are on
	// disks that can be.
	Last bool
}

// DiskFiles is a page of them; Next is where the page after it begins, 0 when there is none.
type DiskFiles struct {
	Files []DiskFile
	Next  hemera.FileID
}

// Backups makes copies of what a manager remembers, while it works. It blocks until out has taken all, and fails if
// out does, or if the store cannot be read.
type Backups interface {
	// Backup writes an archive of everything the manager has to remember, secrets included, as of one moment after the
	// call. It delays no other call and goes as fast as out takes it. An archive whose writing failed is refused by every
	// reader.
	Backup(ctx context.Context, out io.Writer) error
}

// Observer has the manager's measurements of itself. Calls but OpenFiles and Measure answer from memory, or block for the
// store for a moment. They fail only if the store does, but for what a method says.
type Observer interface {
	Operations(ctx context.Context) ([]OpStat, error)
	Sessions(ctx context.Context) ([]SessionInfo, error)
	// OpenFiles asks all nodes which files are open there. Nodes that do not answer within seconds are
	// left out, and named.
	OpenFiles(ctx context.Context) (OpenFiles, error)
	// Measure has the machine of a node measure itself, by `hemera` with the words of command, and returns the JSON
	// that this leaves. It takes as long as the command does; the end of ctx ends that too. A machine runs one
	// at a time: others wait. Denied for a command that nodes do not run, Unavailable if the node goes offline.
	Measure(ctx context.Context, node hemera.NodeID, command []string) ([]byte, error)
	NamespaceStats(ctx context.Context) (NamespaceStats, error)
	// Events calls visit with the committed changes after a sequence number, oldest first.
	Events(ctx context.Context, after uint64, limit int) ([]hemera.Event, error)
}

// WriteAdmin shows writes under way to admins, and ends them. Locks are in memory; a commit by EndWrite is durable at
// return.
type WriteAdmin interface {
	// Writes lists the writes that hold the lock of a name, and those that nodes keep for clients that are gone, oldest first, at
	// most 100,000. An admin sees all, a user its own. It asks nodes, for some seconds at most. Nodes that do not answer
	// are left out. At the manager it never fails.
	Writes(ctx context.Context, who hemera.Identity) ([]hemera.WriteInfo, error)
	// EndWrite commits a write whose client is gone as it is, or removes it. The user must be its owner or an admin: Denied. NotFound
	// if no node has it, Conflict if a client has it open or its name was written meanwhile, OverQuota. After a commit that is refused
	// it is kept as before, and [hemera.WriteInfo] has why. It waits for the node.
	EndWrite(ctx context.Context, who hemera.Identity, id string, commit bool) (hemera.WriteInfo, error)
	// FreeWrite frees the lock of a write, so that others may write the file, and gives back what it claims of
	// quotas. Its writer is not stopped: its close counts unless another was faster. NotFound. It returns at once.
	FreeWrite(ctx context.Context, id string) (hemera.WriteInfo, error)
}

// FileReport is an entry and its pieces' places.
type FileReport struct {
	Entry  hemera.Entry
	Path   string
	Pieces []PieceReport
	// Empty are pieces of its layout that the file is too small to have bytes for: they are not stored, and nothing is missing.
	Empty  []uint8 `json:",omitempty"`
	Status string  // healthy, or what is wrong
	// Strays are pieces on disks that the namespace does not have. They are looked for when the file is
	// asked for by its id, and either there is no such file or the namespace was restored.
	Strays []Stray
}

// Stray is a piece on a disk that the namespace does not have, with the tag that an audit gives it.
type Stray struct {
	Tag   string
	Disk  hemera.DiskID
	Host  string
	Piece hemera.PieceStat
}

// PieceReport is one piece with its disk and node.
type PieceReport struct {
	Piece hemera.Piece
	Disk  hemera.Disk
	Host  string
}

// PieceCheck is the result of verifying one piece.
type PieceCheck struct {
	Piece     hemera.Piece
	Host      string
	OK        bool
	Offline   bool // no node could be asked: nothing is known to be wrong with it
	Empty     bool `json:",omitempty"` // OK, and on no disk: the file is too small to have bytes for it
	Size      int64
	Checksums []hemera.Checksum
	BadPages  int64
	Repaired  bool
	Error     string
}

// FsckReport counts and names what does not agree. Lists are cut at a limit; counts are whole.
type FsckReport struct {
	Taken    time.Time
	Files    int64             // without those in recycle bins
	Recycled hemera.TreeTotals // in recycle bins; their pieces are compared too
	// Pieces are those on disks that could be asked, whatever is wrong with them. Of them, Leaving are of replaced and removed content,
	// held for readers or on their way out, and Young are of no file and sealed less than YoungAge ago, as those of writes under way are.
	Pieces, Leaving, Young int64
	YoungAge               time.Duration
	Problems               []FsckProblem
	WentBack               hemera.WentBack // the namespace does not know all that the disks have
}

// FsckProblem is one category (EOS's tags where one fits): missing, orphan, under_replicated,
// size_mismatch, kept, offline, lost.
type FsckProblem struct {
	Tag   string
	Disk  hemera.DiskID
	Count int64
	Files []hemera.FileID
	// Paths are the files' names, as the namespace has them, else as their pieces remember them. They are
	// cut at a limit over all problems.
	Paths map[hemera.FileID]string `json:",omitempty"`
}

// OpStat counts one operation (EOS: ns stat). Latencies are of the server's part.
type OpStat struct {
	Name                string
	Count, Errors       int64
	Rate5s, Rate1m      float64
	Rate5m, Rate1h      float64
	P50, P99, P999, Max time.Duration
	Sigma               time.Duration // standard deviation
	Latency             hemera.Latency
}

// OpenFiles are the open files of all nodes. Cut is true when a node had more than it may list, and
// Silent names the nodes that are online and did not answer.
type OpenFiles struct {
	Files  []hemera.OpenFile
	Cut    bool
	Silent []hemera.NodeID
}

// NamespaceCheck is the progress of a check of the namespace's records, and in the end its result.
type NamespaceCheck struct {
	Files, Dirs, Pieces int64 // seen so far
	Leaving             int64 // pieces of replaced and removed content, held for readers or on their way out; not among Pieces
	Records             int64 // visited
	RecordsTotal        int64 // about how many will be
	Took                time.Duration
	Done                bool
	// Problems names what does not agree, up to a limit; ProblemCount is how many there are, or at
	// least are where Problems says so.
	ProblemCount int64
	Problems     []string
	Recycled     hemera.TreeTotals // in recycle bins: part of Files, and Dirs with the bins' own directories
	WentBack     hemera.WentBack   // what disks have beyond the records is not known
}

// Healthy says that the check is done and everything agreed.
func (c NamespaceCheck) Healthy() bool { return c.Done && c.ProblemCount == 0 }
