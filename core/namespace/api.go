// Package namespace is the tree: directories, files, attributes, the pieces each disk holds, exact
// tree totals and the event log, over a kv store. Every answer is durable before it is given.
package namespace

import (
	"context"
	"time"

	"hemera"
	"hemera/rules/quota"
)

// Tree is the namespace as the manager uses it; *Namespace implements it.
type Tree interface {
	hemera.Names
	hemera.Directories
	hemera.Attributes
	Contents
	PieceIndex
	HeldPieces
	History
	Quotas
}

// Contents begins and ends writes and resolves ids.
type Contents interface {
	// Prepare checks that who may open as asked, makes missing parents if asked, and for writes
	// reserves the file's id (a new one, or the existing file's) and next generation. It writes
	// nothing else. Exists (Exclusive), NotFound, IsDirectory, Denied.
	Prepare(ctx context.Context, who hemera.Identity, r hemera.OpenRequest) (Prepared, error)
	// Commit makes content visible, in one batch with all that follows from it; the pieces of the
	// replaced generation become unlinked. Idempotent. Conflict when the name is now another file's,
	// the file is gone, or its generation is not c.BaseGen.
	Commit(ctx context.Context, c Commit) (hemera.Entry, error)
	PendingWrites
	// Resolve returns the entry with the id, and its path.
	Resolve(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error)
	// Events lists changes after a sequence number, oldest first.
	Events(ctx context.Context, after uint64, limit int) ([]hemera.Event, error)
	Stats() hemera.NamespaceStats
	// CheckWith compares all records with each other on one picture of the store; see
	// [Namespace.CheckWith].
	CheckWith(ctx context.Context, o CheckOptions) (hemera.NamespaceCheck, error)
}

// PendingWrites is of writes that were begun and are not committed.
type PendingWrites interface {
	// Discard refuses a write that was begun, should it be committed later; false if it was committed before.
	// Of the commit, ID, Gen and BaseGen are looked at.
	Discard(ctx context.Context, c Commit) (bool, error)
	// Barred reports whether the commit would be refused for good: it was before, or pieces of the write were
	// given up. See [Orphans].ClaimOrphan.
	Barred(ctx context.Context, c Commit) (bool, error)
	// RenameWrite has a new file that was begun be committed under the last name of the path instead, which must be free and
	// in its directory. Of the commit, ID, Parent, Name as it is now, UID and GID are looked at. Conflict when the file is
	// committed, or refused for good, when Name or the directory is another's by now, or too many are renamed; Exists, Denied.
	RenameWrite(ctx context.Context, who hemera.Identity, c Commit, path string) error
	// NameOf is the name that the commit would give its file now.
	NameOf(ctx context.Context, c Commit) (string, error)
}

// Prepared is what Prepare found. For a read, Entry is the file, and Parent is left out. For a write, Existing says whether
// Entry is the file now; Parent is its directory with Attrs, the sys.* attributes in force there:
// its own and those inherited from directories above (the nearest wins).
type Prepared struct {
	Entry    hemera.Entry
	Existing bool
	Parent   hemera.Entry
	Mode     uint32 // of a new file, by the directory's policy
	Attrs    map[string][]byte
	ID       hemera.FileID
	Gen      hemera.Generation
	// Quota is what limits hold for the file, if written; nil when there are none.
	Quota []quota.Standing
}

// Commit is one content to make visible.
type Commit struct {
	ID         hemera.FileID
	Gen        hemera.Generation
	BaseGen    hemera.Generation // the generation this one replaces; zero: the file is new
	Force      bool              // replace whatever generation is there
	Parent     hemera.FileID
	Name       string
	Mode       uint32
	UID, GID   uint32
	Size       int64
	Layout     hemera.Layout
	Space      string
	Sums       []hemera.Checksum
	Pieces     []hemera.Piece
	Mtime      time.Time
	Xattrs     map[string][]byte // set in addition to those there
	XattrsGone []string          // attributes to remove; those that are not there are no error
	Who        string
	// Promised is the size that the open let the write have: up to it no quota refuses the commit.
	Promised int64
	// ReleaseClaim, if not nil, is called in the transaction where limits may hold: what the open claimed counts
	// in the usage from now on. It returns the standings with the claims of other writes under way.
	ReleaseClaim func([]quota.Standing) []quota.Standing
}

// PieceIndex is what each disk holds and is to remove.
type PieceIndex interface {
	Orphans
	// MovePieces changes the disks of a file's current generation: drop leaves, add comes, one
	// batch; dropped pieces become unlinked. Conflict when gen is not current any more.
	MovePieces(ctx context.Context, id hemera.FileID, gen hemera.Generation, drop, add []hemera.Piece) error
	// DiskFiles lists files with a piece on the disk, by id after the given one.
	DiskFiles(ctx context.Context, disk hemera.DiskID, after hemera.FileID, limit int) ([]hemera.Entry, error)
	// DiskUsage is the exact number of pieces and bytes the namespace has on a disk.
	DiskUsage(ctx context.Context, disk hemera.DiskID) (pieces, bytes int64, err error)
	// Unlinked lists pieces a disk is to remove now; ConfirmRemoved drops them, and held ones, once it has.
	Unlinked(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error)
	ConfirmRemoved(ctx context.Context, disk hemera.DiskID, pieces []hemera.PieceID) error
	// Incomplete lists files with fewer pieces than their layout, by id after the given one.
	Incomplete(ctx context.Context, after hemera.FileID, limit int) ([]hemera.Entry, error)
	// Restored reports whether the namespace was ever restored: disks may hold what it forgot.
	Restored() bool
}

// Orphans is what is said and remembered of pieces that audits and reads find.
type Orphans interface {
	// ClaimOrphan reports whether a piece on a disk is no file's, and sees to it that it never will be: from then on,
	// for as long as the manager takes commits of such a write, it is refused. Who asks removes the piece then.
	// Overloaded when too many writes are barred.
	ClaimOrphan(ctx context.Context, disk hemera.DiskID, p hemera.PieceID) (bool, error)
}

// History is what a namespace knows of its own past.
type History interface {
	// MarkBroken remembers, or forgets, that a piece is bad and cannot be mended; BrokenPieces lists those that
	// are remembered, also of files that have changed since.
	MarkBroken(ctx context.Context, b hemera.BadPiece, broken bool) error
	BrokenPieces(ctx context.Context, limit int) ([]hemera.BadPiece, error)
	// NewerThanRestore reports whether a piece that was sealed at a time may be of a change that this
	// namespace does not know of, because it was restored from an older backup: its id or generation
	// was not given out by this store, or it was made between the backup and the restore.
	NewerThanRestore(p hemera.PieceID, sealed time.Time) bool
}

// HeldPieces is the pieces of replaced and removed content that stay for a while, for readers under way. They
// are unlinked; [PieceIndex].Unlinked lists them when their time is over.
type HeldPieces interface {
	// Held lists pieces that the disk holds, or is to remove because their time is over, oldest first.
	Held(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error)
	// DiskHeld is the exact number of pieces in Held, and of their bytes.
	DiskHeld(ctx context.Context, disk hemera.DiskID) (pieces, bytes int64, err error)
	// IsUnlinked reports whether the disk is to remove the piece, now or later: it has been there, and has
	// not been said to be gone.
	IsUnlinked(ctx context.Context, disk hemera.DiskID, p hemera.PieceID) (bool, error)
}

// Quotas keeps what users, groups and projects may use, and do; see hemera.QuotaAdmin. Limits are
// held by whoever opens files, with Prepared.Quota, and a commit of more than was promised then is
// refused if it exceeds one. Renames and changes of owner hold them themselves: OverQuota.
type Quotas interface {
	SetQuota(ctx context.Context, who hemera.Identity, key hemera.QuotaKey, limits hemera.QuotaAmount) error
	RemoveQuota(ctx context.Context, who hemera.Identity, key hemera.QuotaKey) error
	Quotas(ctx context.Context, who hemera.Identity, path string) ([]hemera.QuotaRow, error)
	// PrepareBelow is what Prepare would find for a new file of who's below the path: the directory, or the
	// nearest above that is there, with its attributes and limits. It reserves nothing, and asks for no
	// more rights than to get there. NotDirectory, Denied.
	PrepareBelow(ctx context.Context, who hemera.Identity, path string) (Prepared, error)
	// RunQuotas counts what is below new quota nodes, until ctx ends. To be called once.
	RunQuotas(ctx context.Context) error
}
