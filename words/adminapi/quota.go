package adminapi

import (
	"context"

	"hemera/words/hemera"
)

// QuotaKeep in place of a limit leaves that limit as it is.
const QuotaKeep = -1

// QuotaAdmin sets limits and tells what is used. Callers have checked that who is an admin. Calls block for the
// namespace's store. A change is durable at return.
type QuotaAdmin interface {
	// SetQuota sets limits; a directory becomes a quota node with its first. Fields of limits that
	// are QuotaKeep stay, 0 means no limit. NotFound, NotDirectory, Invalid.
	SetQuota(ctx context.Context, key hemera.QuotaKey, limits hemera.QuotaAmount) error
	// RemoveQuota removes one limit, or, without a kind, all limits of the directory. Without limits
	// it stops to be a quota node. NotFound.
	RemoveQuota(ctx context.Context, key hemera.QuotaKey) error
	// Quotas lists everybody with a limit or usage at the quota nodes at and above the path, the highest first, or at
	// all nodes if the path is empty; projects before users before groups. It fails with NotFound if there is no such
	// path.
	Quotas(ctx context.Context, path string) ([]hemera.QuotaRow, error)
}
