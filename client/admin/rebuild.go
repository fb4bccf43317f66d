package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Rebuild rebuilds a namespace. It implements hemera.Rebuilder.
type Rebuild struct{ server *server }

// Rebuild implements hemera.Rebuilder.
// The last report has Done set. A stream that ends without one is Unavailable: the server stopped, and the rest is left
// to the next run.
func (c Rebuild) Rebuild(ctx context.Context, o hemera.RebuildOptions, tell func(hemera.RebuildReport) error) (last hemera.RebuildReport, err error) {
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
func (c Rebuild) FinishRebuild(ctx context.Context) error {
	return c.server.do(ctx, "FinishRebuild", adminapi.None{})
}

// ForgetLost implements hemera.Rebuilder.
func (c Rebuild) ForgetLost(ctx context.Context, o hemera.ForgetOptions) error {
	return c.server.do(ctx, "ForgetLost", o)
}
