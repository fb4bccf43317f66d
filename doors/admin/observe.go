package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// eventsMax bounds one answer of Events, whatever the request says. A caller asks again with the last number that it got.
const eventsMax = 10_000

// serveObserve serves measurements: operations, sessions, open files, counts and events. All verbs need an admin, because
// sessions and open files show the activity of users.
func serveObserve(d *door) {
	observe(d, "Operations", func(ctx context.Context, o adminapi.Observer, _ *adminapi.None) ([]adminapi.OpStat, error) {
		return o.Operations(ctx)
	})
	observe(d, "Sessions", func(ctx context.Context, o adminapi.Observer, _ *adminapi.None) ([]adminapi.SessionInfo, error) {
		return o.Sessions(ctx)
	})
	observe(d, "OpenFiles", func(ctx context.Context, o adminapi.Observer, _ *adminapi.None) (adminapi.OpenFiles, error) {
		return o.OpenFiles(ctx)
	})
	observe(d, "Measure", func(ctx context.Context, o adminapi.Observer, r *adminapi.MeasureRequest) (adminapi.Measured, error) {
		data, err := o.Measure(ctx, r.Node, r.Command)
		return adminapi.Measured{JSON: data}, err
	})
	observe(d, "NamespaceStats", func(ctx context.Context, o adminapi.Observer, _ *adminapi.None) (adminapi.NamespaceStats, error) {
		return o.NamespaceStats(ctx)
	})
	observe(d, "Events", func(ctx context.Context, o adminapi.Observer, r *adminapi.EventsRequest) ([]hemera.Event, error) {
		if r.Limit <= 0 || r.Limit > eventsMax {
			r.Limit = eventsMax
		}
		return o.Events(ctx, r.After, r.Limit)
	})
}

// observe serves a verb of adminapi.Observer, for admins.
func observe[Req, Res any](d *door, verb string, f func(context.Context, adminapi.Observer, *Req) (Res, error)) {
	unary(d, verb, true, func(ctx context.Context, _ hemera.Identity, r *Req) (res Res, err error) {
		o, err := part(d.Observe, "observation")
		if err != nil {
			return res, err
		}
		return f(ctx, o, r)
	})
}
