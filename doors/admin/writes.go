package admin

import (
	"context"

	"hemera"
)

type writeRef struct{ ID string }

func (d *door) serveWrites() {
	unary(d, "Writes", true, func(ctx context.Context, _ hemera.Identity, _ *none) ([]hemera.WriteInfo, error) {
		w, err := part(d.Writes, "writes")
		if err != nil {
			return nil, err
		}
		return w.Writes(ctx)
	})
	unary(d, "FreeWrite", true, func(ctx context.Context, who hemera.Identity, r *writeRef) (hemera.WriteInfo, error) {
		w, err := part(d.Writes, "writes")
		if err != nil {
			return hemera.WriteInfo{}, err
		}
		d.audit(ctx, who, "FreeWrite", r)
		return w.FreeWrite(ctx, r.ID)
	})
}

// Writes implements hemera.WriteAdmin.
func (c *Client) Writes(ctx context.Context) ([]hemera.WriteInfo, error) {
	return call[[]hemera.WriteInfo](ctx, c, "Writes", none{})
}

// FreeWrite implements hemera.WriteAdmin.
func (c *Client) FreeWrite(ctx context.Context, id string) (hemera.WriteInfo, error) {
	return call[hemera.WriteInfo](ctx, c, "FreeWrite", writeRef{id})
}
