package maint

import (
	"context"
	"log/slog"
	"time"

	"hemera/maint/move"
	"hemera/maint/orders"
	"hemera/platform/contain"
	"hemera/rules/lifecycle"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

const (
	// LostAfter is the time for which a disk is out of reach before its pieces are made again elsewhere.
	LostAfter = 5 * time.Minute
	// balanceDelay is the time after the start in which nothing is balanced: disks that no node has reported yet are not
	// in the mean, and would change it.
	balanceDelay = time.Minute
	// AuditInterval is the interval at which each disk is compared with the namespace.
	AuditInterval = 7 * 24 * time.Hour
	// OrphanAge is the age, by its node's clock, from which a sealed piece that no file has is removed: any write it may
	// belong to is over by then. Since that clock may be wrong, the manager must also have known of it for suspectTime,
	// in which a head asks for a commit or cancels the write.
	OrphanAge   = hemera.UnsealedLifetime
	suspectTime = 2*hemera.PendingHold + time.Minute
)

// Files reads and changes files for the engine; namespace.Parts implements it.
type Files interface {
	move.Files
	// DiskFiles and Incomplete are pages by id, after after; a page that is empty is the end.
	DiskFiles(ctx context.Context, disk hemera.DiskID, after hemera.FileID, limit int) ([]hemera.Entry, error)
	DiskUsage(ctx context.Context, disk hemera.DiskID) (pieces, bytes int64, err error)
	Incomplete(ctx context.Context, after hemera.FileID, limit int) ([]hemera.Entry, error)
}

// Findings judges for the namespace what audits and reads find.
type Findings interface {
	// NewerThanRestore reports whether the piece may be of a change that was lost when the namespace was restored.
	NewerThanRestore(p hemera.PieceID, sealed time.Time) bool
	// ClaimOrphan bars the write that the piece may belong to. False if a file has the piece. Overloaded while too
	// many writes are barred.
	ClaimOrphan(ctx context.Context, disk hemera.DiskID, p hemera.PieceID) (bool, error)
	// MarkBroken and BrokenPieces keep the list of pieces that cannot be repaired, durably.
	MarkBroken(ctx context.Context, b hemera.BadPiece, broken bool) error
	BrokenPieces(ctx context.Context, limit int) ([]hemera.BadPiece, error)
}

// Removals is the pieces that disks are to remove, now or later.
type Removals interface {
	move.Removals
	// Unlinked are pieces to be removed now; ConfirmRemoved forgets those that are gone.
	Unlinked(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error)
	ConfirmRemoved(ctx context.Context, disk hemera.DiskID, pieces []hemera.PieceID) error
	// Held are pieces that stay for readers for a while, those that go first at the front; DiskHeld counts them.
	Held(ctx context.Context, disk hemera.DiskID, limit int) ([]hemera.PieceID, error)
	DiskHeld(ctx context.Context, disk hemera.DiskID) (pieces, bytes int64, err error)
}

// Cluster reads and changes the disks for the engine; cluster.Cluster implements it.
type Cluster interface {
	View() *hemera.View
	// Removed lists disks taken out by an admin, ForgetDisk forgets one, SetEmpty ends a drain.
	Removed() []hemera.DiskID
	ForgetDisk(ctx context.Context, id hemera.DiskID) error
	SetEmpty(ctx context.Context, id hemera.DiskID) error
	// Survey returns the times of a disk's last and next audit; SetAudit makes them durable.
	Survey(id hemera.DiskID) hemera.DiskSurvey
	SetAudit(ctx context.Context, id hemera.DiskID, s hemera.DiskSurvey) error
	// Whole makes durable that a disk that came back as an older copy has all that the namespace has on it.
	Whole(ctx context.Context, id hemera.DiskID) error
}

// Options has the parts and settings of an engine; the first six are required.
type Options struct {
	Files    Files
	Removals Removals
	Findings Findings
	Cluster  Cluster
	Orders   *orders.Dispatcher // the only way to nodes
	Signer   move.Signer
	// Writers counts client writes under way by disk, to stay out of their way; may be nil.
	Writers func(hemera.DiskID) int
	// LostAfter and OrphanAge replace the constants when above zero.
	LostAfter, OrphanAge time.Duration
	// BalanceDelay is the time after the start in which nothing is balanced, so that nodes can report their disks; zero
	// is a minute.
	BalanceDelay time.Duration
	Now          func() time.Time
	Log          *slog.Logger
	// Paused reports that nothing is to be repaired, drained, removed or audited for now: what the namespace has is not
	// complete. May be nil.
	Paused func() bool
	// Conversions has the services that convert files; the zero value converts nothing.
	Conversions Conversions
	// Lifecycle has the services that follow the rules of directories; the zero value follows none.
	Lifecycle Lifecycle
	// Panics contains panics of steps, jobs and the work on one file. May be nil.
	Panics *contain.Panics
	// Workers are run beside the engine's own.
	Workers []Worker
}

// Conversions has the services by which the engine converts files. Without Grants and Requests it converts nothing.
type Conversions struct {
	Grants   Granter            // permits each file
	Requests Requests           // what is to be done
	Tree     hemera.Directories // for walks
}

// Granter permits conversions; the manager is one.
type Granter interface {
	// GrantConversion permits a new content of a file, the same as it has with the generation, in the form. Conflict if
	// the file changed, Locked while a client writes it, OverQuota, NoSpace, NoReplicas, NotFound for the space.
	GrantConversion(ctx context.Context, id hemera.FileID, gen hemera.Generation, form hemera.Form) (ConversionGrant, error)
}

// ConversionGrant is an order for the head of a conversion. The engine calls End once, when it has stopped waiting for
// the result.
type ConversionGrant struct {
	Node  hemera.NodeID // the head of the write
	Order hemera.Order  // with the permits in it
	End   func()        // frees what the grant counts for
}

// Requests remembers requests to convert; maint/requests has it.
type Requests interface {
	// Conversions are all of them, by id.
	Conversions() []adminapi.Conversion
	// PutConversion makes a request durable, or what is new of it; RemoveConversion forgets one.
	PutConversion(ctx context.Context, c adminapi.Conversion) error
	RemoveConversion(ctx context.Context, id uint64) error
}

// Lifecycle has the services by which the engine follows the lifecycle rules of directories. Without Trees it follows
// none.
type Lifecycle struct {
	Trees RuleTrees
	// Attributes returns the sys.* attributes in force for a file, as own. Of a directory own are those for files of its owner,
	// and all those for files of every owner: what an admin set.
	Attributes func(ctx context.Context, id hemera.FileID) (own, all map[string][]byte, err error)
	// Remove removes a file that is still what was decided on and still due, else it fails with Conflict, or Locked while it is
	// written. Since is since when accesses are noted.
	Remove func(ctx context.Context, path string, e hemera.Entry, since time.Time) error
	// WentBack is until when changes may be lost since the namespace was restored from a backup, and until an admin has ended
	// that; zero else. Meanwhile no rule acts: a user may have taken it back, and accesses since the backup were forgotten.
	WentBack func() time.Time
	// Track is told below which directories accesses are to be noted, whenever that may have changed. It does not block.
	Track func(dirs map[hemera.FileID]bool)
}

// RuleTrees remembers the directories with rules of their own; maint/requests has it.
type RuleTrees interface {
	RuleTrees() []lifecycle.Tree
	RuleTree(dir hemera.FileID) (t lifecycle.Tree, known bool)
	// ChangeRuleTree changes what is known of a directory, one change after the other, and forgets it where keep is false. The change is
	// durable when it returns.
	ChangeRuleTree(ctx context.Context, dir hemera.FileID, change func(t lifecycle.Tree, known bool) (next lifecycle.Tree, keep bool)) error
}
