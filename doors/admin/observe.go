package admin

import (
	"context"

	"hemera/words/hemera"
)

// eventsMax bounds one answer of Events, whatever was asked for.
// A caller that wants more asks again with the last number that it got.
const eventsMax = 10_000

// events is the request for events after a sequence number.
type events struct {
	After uint64 // the last sequence number that the caller has; 0 begins with the oldest that is kept
	Limit int
}

// measurement is the request for what the machine of a node measures, and measured the answer.
type measurement struct {
	Node    hemera.NodeID
	Command []string // the words behind `hemera`
}

type measured struct {
	JSON []byte
}

// serveObserve serves measurements: operations, sessions, open files, counts and events.
// All of it needs an admin: sessions and open files show what users do.
func serveObserve(d *door) {
	observe(d, "Operations", func(ctx context.Context, o hemera.Observer, _ *none) ([]hemera.OpStat, error) {
		return o.Operations(ctx)
	})
	observe(d, "Sessions", func(ctx context.Context, o hemera.Observer, _ *none) ([]hemera.SessionInfo, error) {
		return o.Sessions(ctx)
	})
	observe(d, "OpenFiles", func(ctx context.Context, o hemera.Observer, _ *none) (hemera.OpenFiles, error) {
		return o.OpenFiles(ctx)
	})
	observe(d, "Measure", func(ctx context.Context, o hemera.Observer, r *measurement) (measured, error) {
		data, err := o.Measure(ctx, r.Node, r.Command)
		return measured{data}, err
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

// observe serves a verb of hemera.Observer, for admins.
func observe[Req, Res any](d *door, verb string, f func(context.Context, hemera.Observer, *Req) (Res, error)) {
	unary(d, verb, true, func(ctx context.Context, _ hemera.Identity, r *Req) (res Res, err error) {
		o, err := part(d.Observe, "observation")
		if err != nil {
			return res, err
		}
		return f(ctx, o, r)
	})
}

// observeClient is the part of a [Client] that asks for measurements.
type observeClient struct{ server *server }

// Operations implements hemera.Observer.
func (c observeClient) Operations(ctx context.Context) ([]hemera.OpStat, error) {
	return call[[]hemera.OpStat](ctx, c.server, "Operations", none{})
}

// Sessions implements hemera.Observer.
func (c observeClient) Sessions(ctx context.Context) ([]hemera.SessionInfo, error) {
	return call[[]hemera.SessionInfo](ctx, c.server, "Sessions", none{})
}

// OpenFiles implements hemera.Observer.
func (c observeClient) OpenFiles(ctx context.Context) (hemera.OpenFiles, error) {
	return call[hemera.OpenFiles](ctx, c.server, "OpenFiles", none{})
}

// Measure implements hemera.Observer.
func (c observeClient) Measure(ctx context.Context, node hemera.NodeID, command []string) ([]byte, error) {
	m, err := call[measured](ctx, c.server, "Measure", measurement{node, command})
	return m.JSON, err
}

// NamespaceStats implements hemera.Observer.
func (c observeClient) NamespaceStats(ctx context.Context) (hemera.NamespaceStats, error) {
	return call[hemera.NamespaceStats](ctx, c.server, "NamespaceStats", none{})
}

// Events implements hemera.Observer; an answer has at most 10,000 events.
func (c observeClient) Events(ctx context.Context, after uint64, limit int) ([]hemera.Event, error) {
	return call[[]hemera.Event](ctx, c.server, "Events", events{after, limit})
}
