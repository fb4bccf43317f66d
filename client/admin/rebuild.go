package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/errs"
)

// Rebuild rebuilds a namespace. It implements adminapi.Rebuilder.
type Rebuild struct{ server *server }

// Rebuild implements adminapi.Rebuilder. The last report has Done set. If the stream ends without it, Rebuild fails with
// Unavailable: the server stopped, and the next run does the rest.
func (c Rebuild) Rebuild(ctx context.Context, o adminapi.RebuildOptions, tell func(adminapi.RebuildReport) error) (last adminapi.RebuildReport, err error) {
	err = receive(ctx, c.server, "Rebuild", o, func(r *adminapi.RebuildReport) error {
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

// FinishRebuild implements adminapi.Rebuilder.
func (c Rebuild) FinishRebuild(ctx context.Context) error {
	return c.server.do(ctx, "FinishRebuild", adminapi.None{})
}

// ForgetLost implements adminapi.Rebuilder.
func (c Rebuild) ForgetLost(ctx context.Context, o adminapi.ForgetOptions) error {
	return c.server.do(ctx, "ForgetLost", o)
}
