package admin

import (
	"context"

	"hemera"
)

// writeRef is the request of FreeWrite.
type writeRef struct{ ID string } // as Writes shows it

// serveWrites serves the locks of writes under way.
// FreeWrite frees the name for other writers; the writer whose lock it was may still commit, if it is first.
func serveWrites(d *door) {
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

// writesClient is the part of a [Client] that asks for writes under way.
type writesClient struct{ server *server }

// Writes implements hemera.WriteAdmin.
func (c writesClient) Writes(ctx context.Context) ([]hemera.WriteInfo, error) {
	return call[[]hemera.WriteInfo](ctx, c.server, "Writes", none{})
}

// FreeWrite implements hemera.WriteAdmin.
func (c writesClient) FreeWrite(ctx context.Context, id string) (hemera.WriteInfo, error) {
	return call[hemera.WriteInfo](ctx, c.server, "FreeWrite", writeRef{id})
}
