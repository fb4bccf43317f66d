package admin

import (
	"context"
	"slices"

	"hemera/rules/quota"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// serveQuota serves quotas. Users may read quotas; the function quotas decides which ones.
func serveQuota(d *door) {
	unary(d, "SetQuota", true, func(ctx context.Context, who hemera.Identity, r *adminapi.SetQuotaRequest) (adminapi.None, error) {
		q, err := part(d.Quota, "quota")
		if err != nil {
			return adminapi.None{}, err
		}
		d.audit(ctx, who, "SetQuota", r)
		return adminapi.None{}, q.SetQuota(ctx, r.Key, r.Limits)
	})
	unary(d, "RemoveQuota", true, func(ctx context.Context, who hemera.Identity, r *hemera.QuotaKey) (adminapi.None, error) {
		q, err := part(d.Quota, "quota")
		if err != nil {
			return adminapi.None{}, err
		}
		d.audit(ctx, who, "RemoveQuota", r)
		return adminapi.None{}, q.RemoveQuota(ctx, *r)
	})
	unary(d, "Quotas", false, func(ctx context.Context, who hemera.Identity, r *adminapi.QuotasRequest) ([]hemera.QuotaRow, error) {
		return quotas(ctx, d, who, r)
	})
}

// quotas returns the limits that bind the caller: the user's own, those of the user's groups, and those of projects, at
// quota nodes that the user may see. Other rows are left out silently, so that an answer does not show that a path
// exists. Admins get all rows.
func quotas(ctx context.Context, d *door, who hemera.Identity, r *adminapi.QuotasRequest) ([]hemera.QuotaRow, error) {
	q, err := part(d.Quota, "quota")
	if err != nil {
		return nil, err
	}
	if who.Admin {
		return q.Quotas(ctx, r.Path)
	}
	names, err := part(d.Names, "namespace")
	if err != nil {
		return nil, err
	}
	if r.Path != "" {
		if _, err := names.Stat(ctx, who, r.Path); err != nil {
			return nil, err
		}
	}
	// A node has a row for every user with a file below it, and all rows are read.
	release, err := d.Turns.Acquire(ctx, who)
	if err != nil {
		return nil, err
	}
	rows, err := q.Quotas(ctx, r.Path)
	release()
	// One check for each quota node, not for each of its rows.
	seen := map[string]bool{}
	return slices.DeleteFunc(rows, func(row hemera.QuotaRow) bool {
		// A user sees the own limits, those of the own groups, and those of projects.
		if !quota.Bounds(row.QuotaKey, who) {
			return true
		}
		if _, looked := seen[row.Path]; !looked {
			_, err := names.Stat(ctx, who, row.Path)
			seen[row.Path] = err == nil
		}
		return !seen[row.Path]
	}), err
}
