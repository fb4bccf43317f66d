package admin

import (
	"context"

	"hemera/words/hemera"
)

// purge is the request of the verb of that name.
type purge struct{ ID hemera.FileID }

// restoreVersion is the request of the verb of that name.
type restoreVersion struct{ Path, Version string }

// restored is the answer of Restore.
type restored struct{ Path string }

// recycledList is one message of a listing.
type recycledList struct{ Entries []hemera.Recycled }

// serveRecycle serves recycle bins. Users may ask: the service shows and gives them what they own.
func serveRecycle(d *door) {
	unary(d, "Erase", true, func(ctx context.Context, who hemera.Identity, r *remove) (none, error) {
		b, err := part(d.Recycle, "recycle bins")
		if err != nil {
			return none{}, err
		}
		d.audit(ctx, who, "Erase", r)
		return none{}, b.Erase(ctx, who, r.Path, r.Kind)
	})
	unary(d, "Restore", false, func(ctx context.Context, who hemera.Identity, r *hemera.RestoreRequest) (restored, error) {
		b, err := part(d.Recycle, "recycle bins")
		if err != nil {
			return restored{}, err
		}
		path, err := b.Restore(ctx, who, *r)
		return restored{path}, err
	})
	unary(d, "RestoreVersion", false, func(ctx context.Context, who hemera.Identity, r *restoreVersion) (none, error) {
		b, err := part(d.Recycle, "recycle bins")
		if err != nil {
			return none{}, err
		}
		return none{}, b.RestoreVersion(ctx, who, r.Path, r.Version)
	})
	unary(d, "Purge", false, func(ctx context.Context, who hemera.Identity, r *purge) (none, error) {
		b, err := part(d.Recycle, "recycle bins")
		if err != nil {
			return none{}, err
		}
		return none{}, b.Purge(ctx, who, r.ID)
	})
	unary(d, "Bins", true, func(ctx context.Context, who hemera.Identity, _ *none) ([]hemera.Bin, error) {
		b, err := part(d.Recycle, "recycle bins")
		if err != nil {
			return nil, err
		}
		return b.ListBins(ctx, who)
	})
	stream(d, "Recycled", false, func(ctx context.Context, who hemera.Identity, r *hemera.RecycleQuery, send func(*recycledList) error) error {
		b, err := part(d.Recycle, "recycle bins")
		if err != nil {
			return err
		}
		out := batch[hemera.Recycled]{send: func(list []hemera.Recycled) error { return send(&recycledList{list}) }}
		err = b.ListRecycled(ctx, who, *r, func(e hemera.Recycled) error {
			e.Entry.Xattrs = nil // they are not what is asked for, and may be large
			return out.add(e)
		})
		if err != nil {
			return err
		}
		return out.flush()
	})
}

// recycleClient is the part of a [Client] that asks about recycle bins. It implements hemera.RecycleBin; the server decides
// who asks, and the argument is not sent.
type recycleClient struct{ server *server }

// Erase implements hemera.RecycleBin.
func (c recycleClient) Erase(ctx context.Context, _ hemera.Identity, p string, kind hemera.EntryKind) error {
	return c.server.do(ctx, "Erase", remove{p, kind})
}

// ListRecycled implements hemera.RecycleBin; entries arrive while the server still lists, without their attributes.
func (c recycleClient) ListRecycled(ctx context.Context, _ hemera.Identity, q hemera.RecycleQuery, visit func(hemera.Recycled) error) error {
	return receive(ctx, c.server, "Recycled", q, func(m *recycledList) error {
		for _, e := range m.Entries {
			if err := visit(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Restore implements hemera.RecycleBin.
func (c recycleClient) Restore(ctx context.Context, _ hemera.Identity, r hemera.RestoreRequest) (string, error) {
	answer, err := call[restored](ctx, c.server, "Restore", r)
	return answer.Path, err
}

// RestoreVersion implements hemera.RecycleBin.
func (c recycleClient) RestoreVersion(ctx context.Context, _ hemera.Identity, path, version string) error {
	return c.server.do(ctx, "RestoreVersion", restoreVersion{path, version})
}

// Purge implements hemera.RecycleBin.
func (c recycleClient) Purge(ctx context.Context, _ hemera.Identity, id hemera.FileID) error {
	return c.server.do(ctx, "Purge", purge{id})
}

// ListBins implements hemera.RecycleBin.
func (c recycleClient) ListBins(ctx context.Context, _ hemera.Identity) ([]hemera.Bin, error) {
	return call[[]hemera.Bin](ctx, c.server, "Bins", none{})
}
