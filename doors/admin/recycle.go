package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// serveRecycle serves recycle bins. Erase and Bins are for admins. For other users the service shows and restores only their own entries.
func serveRecycle(d *door) {
	unary(d, "Erase", true, func(ctx context.Context, who hemera.Identity, r *adminapi.RemoveRequest) (adminapi.None, error) {
		b, err := part(d.Recycle, "recycle bins")
		if err != nil {
			return adminapi.None{}, err
		}
		d.audit(ctx, who, "Erase", r)
		return adminapi.None{}, b.Erase(ctx, who, r.Path, r.Kind)
	})
	unary(d, "Restore", false, func(ctx context.Context, who hemera.Identity, r *adminapi.RestoreRequest) (adminapi.Restored, error) {
		b, err := part(d.Recycle, "recycle bins")
		if err != nil {
			return adminapi.Restored{}, err
		}
		path, err := b.Restore(ctx, who, *r)
		return adminapi.Restored{Path: path}, err
	})
	unary(d, "RestoreVersion", false, func(ctx context.Context, who hemera.Identity, r *adminapi.RestoreVersionRequest) (adminapi.None, error) {
		b, err := part(d.Recycle, "recycle bins")
		if err != nil {
			return adminapi.None{}, err
		}
		return adminapi.None{}, b.RestoreVersion(ctx, who, r.Path, r.Version)
	})
	unary(d, "Purge", false, func(ctx context.Context, who hemera.Identity, r *adminapi.PurgeRequest) (adminapi.None, error) {
		b, err := part(d.Recycle, "recycle bins")
		if err != nil {
			return adminapi.None{}, err
		}
		return adminapi.None{}, b.Purge(ctx, who, r.ID)
	})
	unary(d, "Bins", true, func(ctx context.Context, who hemera.Identity, _ *adminapi.None) ([]adminapi.Bin, error) {
		b, err := part(d.Recycle, "recycle bins")
		if err != nil {
			return nil, err
		}
		return b.ListBins(ctx, who)
	})
	stream(d, "Recycled", false, func(ctx context.Context, who hemera.Identity, r *adminapi.RecycleQuery, send func(*adminapi.RecycledEntries) error) error {
		b, err := part(d.Recycle, "recycle bins")
		if err != nil {
			return err
		}
		out := batch[adminapi.Recycled]{send: func(list []adminapi.Recycled) error { return send(&adminapi.RecycledEntries{Entries: list}) }}
		err = b.ListRecycled(ctx, who, *r, func(e adminapi.Recycled) error {
			e.Entry.Xattrs = nil // not requested, and may be large
			return out.add(e)
		})
		if err != nil {
			return err
		}
		return out.flush()
	})
}
