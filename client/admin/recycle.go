package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Recycle has the calls for recycle bins. It implements adminapi.RecycleBin.
type Recycle struct{ server *server }

// Erase implements adminapi.RecycleBin.
func (c Recycle) Erase(ctx context.Context, _ hemera.Identity, p string, kind hemera.EntryKind) error {
	return c.server.do(ctx, "Erase", adminapi.RemoveRequest{Path: p, Kind: kind})
}

// ListRecycled implements adminapi.RecycleBin. Entries arrive while the server still lists, without their attributes.
func (c Recycle) ListRecycled(ctx context.Context, _ hemera.Identity, q adminapi.RecycleQuery, visit func(adminapi.Recycled) error) error {
	return receive(ctx, c.server, "Recycled", q, func(m *adminapi.RecycledEntries) error {
		for _, e := range m.Entries {
			if err := visit(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Restore implements adminapi.RecycleBin.
func (c Recycle) Restore(ctx context.Context, _ hemera.Identity, r adminapi.RestoreRequest) (string, error) {
	answer, err := call[adminapi.Restored](ctx, c.server, "Restore", r)
	return answer.Path, err
}

// RestoreVersion implements adminapi.RecycleBin.
func (c Recycle) RestoreVersion(ctx context.Context, _ hemera.Identity, path, version string) error {
	return c.server.do(ctx, "RestoreVersion", adminapi.RestoreVersionRequest{Path: path, Version: version})
}

// Purge implements adminapi.RecycleBin.
func (c Recycle) Purge(ctx context.Context, _ hemera.Identity, id hemera.FileID) error {
	return c.server.do(ctx, "Purge", adminapi.PurgeRequest{ID: id})
}

// ListBins implements adminapi.RecycleBin.
func (c Recycle) ListBins(ctx context.Context, _ hemera.Identity) ([]adminapi.Bin, error) {
	return call[[]adminapi.Bin](ctx, c.server, "Bins", adminapi.None{})
}
