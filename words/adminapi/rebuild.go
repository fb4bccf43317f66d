package adminapi

import (
	"context"
	"time"

	"hemera/words/hemera"
)

// Rebuilder makes a namespace again from the pieces that disks have, when the manager's state and its backups are gone.
// Rebuild blocks for as long as it takes to read all disks, until ctx ends. The others block for the store; their
// change is durable at return.
type Rebuilder interface {
	// Rebuild reads what all disks that can be read have, and makes the files that the namespace lost. It changes no disk, may
	// be cut off, and may be repeated: what is there already stays. tell hears a few times a second how far it is, with the
	// findings since then; its error ends the rebuild. Denied where the namespace was not prepared for a rebuild, and NotEmpty
	// where it has files and o does not say that they may be added to.
	Rebuild(ctx context.Context, o RebuildOptions, tell func(RebuildReport) error) (RebuildReport, error)
	// FinishRebuild ends the state in which clients cannot change anything and nothing is repaired. NotFound if the manager is
	// not in that state.
	FinishRebuild(ctx context.Context) error
	// ForgetLost ends the search for what is still lost after a rebuild, or a restore: pieces that no file has are orphans from then on,
	// and audits remove them. Conflict while the namespace is being rebuilt, and while no rebuild has read all disks since the
	// namespace went back unless o says that this is known; NotFound if there is nothing to forget.
	ForgetLost(ctx context.Context, o ForgetOptions) error
}

// ForgetOptions say what an admin knows of what is forgotten.
type ForgetOptions struct {
	// Unmerged: no rebuild has read all disks, and files that only pieces know are lost for good; or tapes were not scanned, and their files come
	// back by an undeletion only.
	Unmerged bool
}

// RebuildOptions say how a namespace is rebuilt.
type RebuildOptions struct {
	DryRun bool // find out what would be done, and change nothing
	Merge  bool // add to a namespace that has files
	// Parts gives files with the names of unfinished copies ([hemera.WholeName]) the names that the copies were for.
	Parts bool
	// Mode is the mode of files whose pieces do not know theirs; they belong to root.
	Mode uint32
	// Umask is taken from the modes that pieces know: they are of the time of the write, and a later chmod may have closed the file.
	Umask uint32
}

// RebuildReport is the progress of a rebuild, and its result so far.
type RebuildReport struct {
	Disks       int             // that are read
	DisksRead   int             // of them, those that have been read to their end
	Unread      []hemera.DiskID // those that cannot be read, or stopped answering: run it again when they are there
	Pieces      int64           // seen so far
	PiecesTotal int64           // about how many will be
	Bytes       int64           // of the files that were made or are to be
	// Files by what was done. In a dry run Made, Grown and Before are what would be.
	Made, Lost, Grown, Renewed, Moved, Before int64
	// Ownerless counts files that were made whose pieces do not know owner and mode.
	Ownerless int64
	Problems  map[string]int64 // findings, by tag
	Findings  []RebuildFinding // since the report before
	Took      time.Duration
	Done      bool
}

// The tags of findings. Programs test them.
const (
	RebuildConflict   = "conflict"   // two files of one path: the older one is in /lost+found
	RebuildNameless   = "nameless"   // no good path is known: in /lost+found
	RebuildPart       = "part"       // the name of an unfinished copy
	RebuildUnreadable = "unreadable" // too few pieces were found
	RebuildOlder      = "older"      // pieces of an older content of a file; they stay on their disks
	RebuildDiffers    = "differs"    // pieces of one content that do not agree; they stay on their disks
	RebuildUnknown    = "unknown"    // a layout that this version does not know; they stay on their disks
	RebuildBeyond     = "beyond"     // an id that this namespace will hand out: the clock was wrong when it was prepared
	RebuildKept       = "kept"       // a content whose client did not come back, kept for a person and never committed; its pieces stay on their disks
	RebuildFailed     = "failed"     // the file could not be made
)

// RebuildFinding is something that an admin should know of one file.
type RebuildFinding struct {
	Tag    string
	File   hemera.FileID
	Gen    hemera.Generation
	Pieces int    // that it is about
	Path   string `json:",omitempty"` // as its pieces say; "" if they do not
	At     string `json:",omitempty"` // where it is now; "" if nowhere
	Why    string `json:",omitempty"`
}
