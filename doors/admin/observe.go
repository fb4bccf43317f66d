package admin

import (
	"context"

	"hemera"
)

// eventsMax bounds one answer of Events, whatever was asked for.
const eventsMax = 10_000

type events struct {
	After uint64
	Limit int
}

func (d *door) serveObserve() {
	observe(d, "Operations", func(ctx context.Context, o hemera.Observer, _ *none) ([]hemera.OpStat, error) {
		return o.Operations(ctx)
	})
	observe(d, "Sessions", func(ctx context.Context, o hemera.Observer, _ *none) ([]hemera.SessionInfo, error) {
		return o.Sessions(ctx)
	})
	observe(d, "OpenFiles", func(ctx context.Context, o hemera.Observer, _ *none) (hemera.OpenFiles, error) {
		return o.OpenFiles(ctx)
	})
	observe(d, "NamespaceStats", func(ctx context.Context, o hemera.Observer, _ *none) (hemera.NamespaceStats, error) {
		return o.NamespaceStats(ctx)
	})
	observe(d, "Events", func(ctx context.Context, o hemera.Observer, r *events) ([]hemera.Event, error) {
		if r.Limit <= 0 || r.Limit > eventsMax {
			r.Limit = eventsMax
		}
		return o.Events(ctx, r.After, r.Limit)
	})
}

func observe[Req, Res any](d *door, verb string, f func(context.Context, hemera.Observer, *Req) (Res, error)) {
	unary(d, verb, true, func(ctx context.Context, _ hemera.Identity, r *Req) (res Res, err error) {
		o, err := part(d.Observe, "observation")
		if err != nil {
			return res, err
		}
		return f(ctx, o, r)
	})
}

// Operations implements hemera.Observer.
func (c *Client) Operations(ctx context.Context) ([]hemera.OpStat, error) {
	return call[[]hemera.OpStat](ctx, c, "Operations", none{})
}

// Sessions implements hemera.Observer.
func (c *Client) Sessions(ctx context.Context) ([]hemera.SessionInfo, error) {
	return call[[]hemera.SessionInfo](ctx, c, "Sessions", none{})
}

// OpenFiles implements hemera.Observer.
func (c *Client) OpenFiles(ctx context.Context) (hemera.OpenFiles, error) {
	return call[hemera.OpenFiles](ctx, c, "OpenFiles", none{})
}

// NamespaceStats implements hemera.Observer.
func (c *Client) NamespaceStats(ctx context.Context) (hemera.NamespaceStats, error) {
	return call[hemera.NamespaceStats](ctx, c, "NamespaceStats", none{})
}

// Events implements hemera.Observer; an answer has at most 10,000 events.
func (c *Client) Events(ctx context.Context, after uint64, limit int) ([]hemera.Event, error) {
	return call[[]hemera.Event](ctx, c, "Events", events{after, limit})
}
