package admin

import (
	"context"

	"hemera"
)

type setQuota struct {
	Key    hemera.QuotaKey
	Limits hemera.QuotaAmount
}

type quotaRef struct{ Path string }

func (d *door) serveQuota() {
	unary(d, "SetQuota", true, func(ctx context.Context, who hemera.Identity, r *setQuota) (none, error) {
		q, err := part(d.Quota, "quota")
		if err != nil {
			return none{}, err
		}
		d.audit(ctx, who, "SetQuota", r)
		return none{}, q.SetQuota(ctx, r.Key, r.Limits)
	})
	unary(d, "RemoveQuota", true, func(ctx context.Context, who hemera.Identity, r *hemera.QuotaKey) (none, error) {
		q, err := part(d.Quota, "quota")
		if err != nil {
			return none{}, err
		}
		d.audit(ctx, who, "RemoveQuota", r)
		return none{}, q.RemoveQuota(ctx, *r)
	})
	unary(d, "Quotas", true, func(ctx context.Context, _ hemera.Identity, r *quotaRef) ([]hemera.QuotaRow, error) {
		q, err := part(d.Quota, "quota")
		if err != nil {
			return nil, err
		}
		return q.Quotas(ctx, r.Path)
	})
}

// SetQuota implements hemera.QuotaAdmin.
func (c *Client) SetQuota(ctx context.Context, key hemera.QuotaKey, limits hemera.QuotaAmount) error {
	return c.do(ctx, "SetQuota", setQuota{key, limits})
}

// RemoveQuota implements hemera.QuotaAdmin.
func (c *Client) RemoveQuota(ctx context.Context, key hemera.QuotaKey) error {
	return c.do(ctx, "RemoveQuota", key)
}

// Quotas implements hemera.QuotaAdmin.
func (c *Client) Quotas(ctx context.Context, path string) ([]hemera.QuotaRow, error) {
	return call[[]hemera.QuotaRow](ctx, c, "Quotas", quotaRef{path})
}
