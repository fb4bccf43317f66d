package admin

import (
	"context"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// serveRebuild serves the rebuild of a lost namespace.
// Rebuild is a stream because it reads every disk: the client hears of progress and findings, and ends it by leaving.
func serveRebuild(d *door) {
	stream(d, "Rebuild", true, func(ctx context.Context, _ hemera.Identity, r *hemera.RebuildOptions, send func(*hemera.RebuildReport) error) error {
		b, err := part(d.Rebuild, "the rebuild")
		if err != nil {
			return err
		}
		report, err := b.Rebuild(ctx, *r, func(r hemera.RebuildReport) error { return send(&r) })
		if err != nil {
			return err
		}
		return send(&report)
	})
	unary(d, "FinishRebuild", true, func(ctx context.Context, _ hemera.Identity, _ *none) (none, error) {
		b, err := part(d.Rebuild, "the rebuild")
		if err != nil {
			return none{}, err
		}
		return none{}, b.FinishRebuild(ctx)
	})
	unary(d, "ForgetLost", true, func(ctx context.Context, _ hemera.Identity, o *hemera.ForgetOptions) (none, error) {
		b, err := part(d.Rebuild, "the rebuild")
		if err != nil {
			return none{}, err
		}
		return none{}, b.ForgetLost(ctx, *o)
	})
}

// rebuildClient is the part of a [Client] that rebuilds a namespace.
type rebuildClient struct{ server *server }

// Rebuild implements hemera.Rebuilder.
// The last report has Done set. A stream that ends without one is Unavailable: the server stopped, and the rest is left
// to the next run.
func (c rebuildClient) Rebuild(ctx context.Context, o hemera.RebuildOptions, tell func(hemera.RebuildReport) error) (last hemera.RebuildReport, err error) {
	err = receive(ctx, c.server, "Rebuild", o, func(r *hemera.RebuildReport) error {
		if last = *r; r.Done {
			return nil
		}
		return tell(*r)
	})
	if err == nil && !last.Done {
		err = errs.New(errs.Unavailable, "admin.Rebuild", "", "the server ended before the rebuild did").
			WithRemedy("see the manager's log, then repeat the command: it goes on with what is missing")
	}
	return last, err
}

// FinishRebuild implements hemera.Rebuilder.
func (c rebuildClient) FinishRebuild(ctx context.Context) error {
	return c.server.do(ctx, "FinishRebuild", none{})
}

// ForgetLost implements hemera.Rebuilder.
func (c rebuildClient) ForgetLost(ctx context.Context, o hemera.ForgetOptions) error {
	return c.server.do(ctx, "ForgetLost", o)
}
