package hemera

import "context"

// QuotaKind says whose usage a limit bounds. The numbers are stored.
type QuotaKind uint8

// The kinds of limits. A project is everything below a directory, of all owners.
const (
	QuotaUser    QuotaKind = 1
	QuotaGroup   QuotaKind = 2
	QuotaProject QuotaKind = 3
)

// String is the kind in words.
func (k QuotaKind) String() string {
	switch k {
	case QuotaUser:
		return "user"
	case QuotaGroup:
		return "group"
	case QuotaProject:
		return "project"
	}
	return "quota"
}

// QuotaDefault in place of a uid or gid means every user or group without a limit of its own.
const QuotaDefault = ^uint32(0)

// QuotaAmount is a limit (where zero is none) or what is used: files (directories are not counted),
// logical bytes, and bytes with every piece counted.
type QuotaAmount struct {
	Files, Bytes, Physical int64
}

// Add returns the sum of both.
func (a QuotaAmount) Add(b QuotaAmount) QuotaAmount {
	return QuotaAmount{a.Files + b.Files, a.Bytes + b.Bytes, a.Physical + b.Physical}
}

// Negate returns the amount with every sign turned.
func (a QuotaAmount) Negate() QuotaAmount { return QuotaAmount{-a.Files, -a.Bytes, -a.Physical} }

// QuotaKeep in place of a limit leaves that limit as it is.
const QuotaKeep = -1

// QuotaKey names one limit: of whom, below which directory. ID is 0 for projects.
type QuotaKey struct {
	Path string
	Kind QuotaKind
	ID   uint32
}

// QuotaRow is one user, group or project of a quota node.
type QuotaRow struct {
	QuotaKey
	Limits QuotaAmount
	Used   QuotaAmount
	// Default: the limits are those of QuotaDefault.
	Default bool
	// Counting: what was there when the node was made is still being counted, so Used is not exact
	// and the limits do not hold yet. Never so for projects.
	Counting bool
}

// QuotaAdmin sets limits and tells what is used. Callers have checked that who is an admin. Calls block for the
// namespace's store. A change is durable at return.
type QuotaAdmin interface {
	// SetQuota sets limits; a directory becomes a quota node with its first. Fields of limits that
	// are QuotaKeep stay, 0 means no limit. NotFound, NotDirectory, Invalid.
	SetQuota(ctx context.Context, key QuotaKey, limits QuotaAmount) error
	// RemoveQuota removes one limit, or, without a kind, all limits of the directory. Without limits
	// it stops to be a quota node. NotFound.
	RemoveQuota(ctx context.Context, key QuotaKey) error
	// Quotas lists everybody with a limit or usage at the quota nodes at and above the path, the highest first, or at
	// all nodes if the path is empty; projects before users before groups. It fails with NotFound if there is no such
	// path.
	Quotas(ctx context.Context, path string) ([]QuotaRow, error)
}
