package admin

import (
	"context"

	"hemera/words/hemera"
)

// writeRef is the request of FreeWrite.
type writeRef struct{ ID string } // as Writes shows it

// endWrite is the request of EndWrite.
type endWrite struct {
	ID     string // as Writes shows it
	Commit bool   // or it is removed
}

// serveWrites serves the locks of writes under way, and the writes whose clients are gone: to users their own.
// FreeWrite frees the name for other writers; the writer whose lock it was may still commit, if it is first.
func serveWrites(d *door) {
	unary(d, "Writes", false, func(ctx context.Context, who hemera.Identity, _ *none) ([]hemera.WriteInfo, error) {
		w, err := part(d.Writes, "writes")
		if err != nil {
			return nil, err
		}
		return w.Writes(ctx, who)
	})
	unary(d, "FreeWrite", true, func(ctx context.Context, who hemera.Identity, r *writeRef) (hemera.WriteInfo, error) {
		w, err := part(d.Writes, "writes")
		if err != nil {
			return hemera.WriteInfo{}, err
		}
		d.audit(ctx, who, "FreeWrite", r)
		return w.FreeWrite(ctx, r.ID)
	})
	unary(d, "EndWrite", false, func(ctx context.Context, who hemera.Identity, r *endWrite) (hemera.WriteInfo, error) {
		w, err := part(d.Writes, "writes")
		if err != nil {
			return hemera.WriteInfo{}, err
		}
		d.audit(ctx, who, "EndWrite", r)
		return w.EndWrite(ctx, who, r.ID, r.Commit)
	})
}

// writesClient is the part of a [Client] that asks for writes under way.
type writesClient struct{ server *server }

// Writes implements hemera.WriteAdmin. The server knows who asks.
func (c writesClient) Writes(ctx context.Context, _ hemera.Identity) ([]hemera.WriteInfo, error) {
	return call[[]hemera.WriteInfo](ctx, c.server, "Writes", none{})
}

// FreeWrite implements hemera.WriteAdmin.
func (c writesClient) FreeWrite(ctx context.Context, id string) (hemera.WriteInfo, error) {
	return call[hemera.WriteInfo](ctx, c.server, "FreeWrite", writeRef{id})
}

// EndWrite implements hemera.WriteAdmin. The server knows who asks.
func (c writesClient) EndWrite(ctx context.Context, _ hemera.Identity, id string, commit bool) (hemera.WriteInfo, error) {
	return call[hemera.WriteInfo](ctx, c.server, "EndWrite", endWrite{id, commit})
}
