package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Quota changes quotas. It implements adminapi.QuotaAdmin.
type Quota struct{ server *server }

// SetQuota implements adminapi.QuotaAdmin.
func (c Quota) SetQuota(ctx context.Context, key hemera.QuotaKey, limits hemera.QuotaAmount) error {
	return c.server.do(ctx, "SetQuota", adminapi.SetQuotaRequest{Key: key, Limits: limits})
}

// RemoveQuota implements adminapi.QuotaAdmin.
func (c Quota) RemoveQuota(ctx context.Context, key hemera.QuotaKey) error {
	return c.server.do(ctx, "RemoveQuota", key)
}

// Quotas implements adminapi.QuotaAdmin.
func (c Quota) Quotas(ctx context.Context, path string) ([]hemera.QuotaRow, error) {
	return call[[]hemera.QuotaRow](ctx, c.server, "Quotas", adminapi.QuotasRequest{Path: path})
}
