package namespace

import (
	"context"
	"time"

	"hemera/namespace/accounts"
	"hemera/tape/catalogue"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Parts is a namespace as a collection of small interfaces, so that each consumer takes the part it needs, and a test can
// replace one. Embedding makes the methods of all parts those of the collection. See [Namespace.Parts].
type Parts struct {
	hemera.Names       // lookup, mkdir, rename, remove
	hemera.Directories // listing page by page
	hemera.Attributes  // mode, owner, times, extended attributes
	Opener
	PendingWrites
	PieceIndex
	DiskSets DiskSets
	Removals
	History
	Inspector
	QuotaKeeper
	Adopter
	RecycleKeeper
	LifecycleKeeper
	// Tapes is the copies on tape, and the jobs that wait for one.
	Tapes *catalogue.Catalogue
	// Claims has the room that writes under way take of limits: opens add to it, and changes leave room for it.
	Claims *accounts.Claims
}

// Parts returns the namespace as its parts.
func (n *Namespace) Parts() Parts {
	return Parts{
		Names: n.Tree, Directories: n.Tree, Attributes: n.Tree, Opener: n.Writes, PendingWrites: n.Writes, PieceIndex: n.Pieces, DiskSets: n.Pieces, Removals: n.Pieces,
		History: n.Past, Inspector: n.Inspection, QuotaKeeper: n.Quotas, Adopter: n.Recovery, RecycleKeeper: n.Bins, LifecycleKeeper: n.Lifecycle, Tapes: n.Tapes, Claims: n.Claims,
	}
}

// Opener decides whether a file may be opened, and what a write of it begins with. Calls block for the disk where
// memory does not have the records.
type Opener interface {
	// PrepareConversion returns what a new content of the file begins with; see [Writes.PrepareConversion].
	PrepareConversion(ctx context.Context, id hemera.FileID, gen hemera.Generation) (Prepared, string, error)
	// Prepare checks that who may open as asked; see [Writes.Prepare].
	Prepare(ctx context.Context, who hemera.Identity, r hemera.OpenRequest) (Prepared, error)
	// Resume returns what Prepare found for a write that is under way; see [Writes.Resume].
	Resume(ctx context.Context, who hemera.Identity, c Commit, updates bool) (Prepared, error)
	// PrepareBelow returns what Prepare would find for a new file below the path; see [Writes.PrepareBelow].
	PrepareBelow(ctx context.Context, who hemera.Identity, path string) (Prepared, error)
}

// PendingWrites ends writes that were begun: by a commit, or for good without one. A change blocks until it is
// durable, by the sync that all changes of the moment share. Calls fail with Unavailable once the store has failed.
type PendingWrites interface {
	// Commit makes content visible; see [Writes.Commit].
	Commit(ctx context.Context, c Commit) (hemera.Entry, error)
	// Discard refuses a write that was begun; see [Writes.Discard].
	Discard(ctx context.Context, c Commit) (bool, error)
	// Barred reports whether a commit would be refused for good; see [Writes.Barred].
	Barred(ctx context.Context, c Commit) (bool, error)
	// RenameWrite gives a new file another name before its commit; see [Writes.RenameWrite].
	RenameWrite(ctx context.Context, who hemera.Identity, c Commit, path string) error
	// NameOf returns the name that the commit would give its file now.
	NameOf(ctx context.Context, c Commit) (string, error)
	// ClaimOrphan reports whether a piece belongs to no file, and never will; see [Writes.ClaimOrphan].
	ClaimOrphan(ctx context.Context, disk hemera.DiskID, p hemera.PieceID) (bool, error)
}

// PieceIndex lists the pieces of each disk. Lists block for the disk where memory does not have the records. A change
// blocks until it is durable. Calls fail with Unavailable once the store has failed.
type PieceIndex interface {
	// MovePieces changes the disks of a file's current generation; see [Pieces.MovePieces].
	MovePieces(ctx context.Context, m PieceMove) error
	// Evict removes the disk copies of a file that is on tape; see [Pieces.Evict].
	Evict(ctx context.Context, id hemera.FileID, may func(*hemera.Entry) error) (freed int64, err error)
	// DiskFiles lists files with a piece on the disk, by id after the given one.
	DiskFiles(ctx context.Context, disk hemera.DiskID, after hemera.FileID, limit int) ([]hemera.Entry, error)
	// DiskUsage is the exact number of pieces and bytes the namespace has on a disk.
	DiskUsage(ctx context.Context, disk hemera.DiskID) (pieces, bytes int64, err error)
	// Incomplete lists files with fewer pieces than their layout, by id after the given one.
	Incomplete(ctx context.Context, after hemera.FileID, limit int) ([]hemera.Entry, error)
	// MarkBroken remembers, or forgets, that a piece is bad and cannot be repaired.
	MarkBroken(ctx context.Context, b hemera.BadPiece, broken bool) error
	// BrokenPieces lists the remembered pieces, also of files that have changed since.
	BrokenPieces(ctx context.Context, limit int) ([]hemera.BadPiece, error)
}

// DiskSets lets disks leave, so that no change puts content on them any more.
type DiskSets interface {
	// DiskSet returns the version of the set of disks that changes are decided on; see [Pieces.DiskSet].
	DiskSet() uint64
	// LeaveDisks begins a new version of it, and counts what is on the disks that leave; see [Pieces.LeaveDisks].
	LeaveDisks(ctx context.Context, disks ...hemera.DiskID) (pieces, bytes int64, err error)
}

// Removals lists the pieces that disks are to remove, now or, if the pieces are held, later. Lists block for the disk
// where memory does not have the records; a list and a confirmation are durable at return. Calls fail with
// Unavailable once the store has failed.
type Removals interface {
	// Unlinked lists pieces a disk is to remove now.
	Unlinked(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error)
	// ConfirmRemoved drops pieces from the lists, held ones too, once the disk has removed them.
	ConfirmRemoved(ctx context.Context, disk hemera.DiskID, pieces []hemera.PieceID) error
	// Held lists pieces that the disk holds, or is to remove because their time is over, oldest first.
	Held(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error)
	// DiskHeld is the exact number of pieces in Held, and of their bytes.
	DiskHeld(ctx context.Context, disk hemera.DiskID) (pieces, bytes int64, err error)
	// IsUnlinked reports whether the disk is to remove the piece, now or later.
	IsUnlinked(ctx context.Context, disk hemera.DiskID, p hemera.PieceID) (bool, error)
}

// History is the knowledge of a namespace about its own past. Merged and ForgetLost block until they are durable, and
// fail with Unavailable once the store has failed. The others answer from memory.
type History interface {
	// Restored reports whether the namespace was ever restored: disks may hold what it forgot.
	Restored() bool
	// NewerThanRestore reports whether a piece may belong to a change that a restore lost; see [Past.NewerThanRestore].
	NewerThanRestore(p hemera.PieceID, sealed time.Time) bool
	// Lost reports whether a content may be one that the namespace lost; see [Past.Lost].
	Lost(p hemera.PieceID, sealed time.Time) bool
	// Merged notes that all pieces of all disks were looked at; see [Past.Merged].
	Merged(ctx context.Context) error
	// ForgetLost makes orphans of what was lost and not adopted; see [Past.ForgetLost].
	ForgetLost(ctx context.Context) error
}

// Inspector looks at the tree without an identity, and without changing it. Calls block for the disk where memory
// does not have the records; CheckWith takes minutes in a large namespace, and ends with ctx. They fail with NotFound
// for what does not exist, and with Unavailable once the store has failed.
type Inspector interface {
	// Resolve returns the entry with the id, and its path.
	Resolve(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error)
	// Events lists changes after a sequence number, oldest first.
	Events(ctx context.Context, after uint64, limit int) ([]hemera.Event, error)
	// Stats returns figures; Pending, RSS and Goroutines are the manager's to fill.
	Stats() adminapi.NamespaceStats
	// CheckWith compares all records with each other; see [Inspection.CheckWith].
	CheckWith(ctx context.Context, o CheckOptions) (adminapi.NamespaceCheck, error)
}

// QuotaKeeper keeps what users, groups and projects may use, and do; see [QuotaAdmin].
type QuotaKeeper interface {
	// SetQuota sets limits of a user, a group or a project; the directory becomes a quota node if it is none.
	SetQuota(ctx context.Context, who hemera.Identity, key hemera.QuotaKey, limits hemera.QuotaAmount) error
	// RemoveQuota removes one limit, or all of a directory.
	RemoveQuota(ctx context.Context, who hemera.Identity, key hemera.QuotaKey) error
	// Quotas lists limits and usage that matter at the path, or all if it is empty.
	Quotas(ctx context.Context, who hemera.Identity, path string) ([]hemera.QuotaRow, error)
	// RunQuotas counts what is below new quota nodes, until ctx ends. It is called once.
	RunQuotas(ctx context.Context) error
}

// Adopter makes files again of what their pieces say. It blocks until the file is durable.
type Adopter interface {
	// Adopt makes a file of a content, or completes it; see [Recovery.Adopt].
	Adopt(ctx context.Context, a Adoption) (Adopted, error)
}

// RecycleKeeper keeps what was removed or replaced; see [Bins].
type RecycleKeeper interface {
	adminapi.RecycleBin
	// FollowSpaces has removals follow the rules of spaces; see [Bins.FollowSpaces].
	FollowSpaces(views *hemera.Views)
	// Expire purges what the rules do not keep any more; see [Bins.Expire].
	Expire(ctx context.Context, limit int) (purged int, err error)
}

// LifecycleKeeper does what the lifecycle rules of directories ask for; see [Lifecycle].
type LifecycleKeeper interface {
	// RuleAttributes returns the attributes in force for a file or in a directory; see [Lifecycle.RuleAttributes].
	RuleAttributes(ctx context.Context, id hemera.FileID) (own, all map[string][]byte, err error)
	// RemoveDue removes a file that is still what was decided on; see [Lifecycle.RemoveDue].
	RemoveDue(ctx context.Context, path string, was hemera.Entry, since time.Time) error
	// NoteAccess writes the day on which files were read to their attributes.
	NoteAccess(ctx context.Context, day string, files []hemera.FileID) error
}
