package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Writes has the calls for writes under way. It implements adminapi.WriteAdmin.
type Writes struct{ server *server }

// Writes implements adminapi.WriteAdmin. The server identifies the caller.
func (c Writes) Writes(ctx context.Context, _ hemera.Identity) ([]hemera.WriteInfo, error) {
	return call[[]hemera.WriteInfo](ctx, c.server, "Writes", adminapi.None{})
}

// FreeWrite implements adminapi.WriteAdmin.
func (c Writes) FreeWrite(ctx context.Context, id string) (hemera.WriteInfo, error) {
	return call[hemera.WriteInfo](ctx, c.server, "FreeWrite", adminapi.WriteRef{ID: id})
}

// EndWrite implements adminapi.WriteAdmin. The server identifies the caller.
func (c Writes) EndWrite(ctx context.Context, _ hemera.Identity, id string, commit bool) (hemera.WriteInfo, error) {
	return call[hemera.WriteInfo](ctx, c.server, "EndWrite", adminapi.EndWriteRequest{ID: id, Commit: commit})
}
