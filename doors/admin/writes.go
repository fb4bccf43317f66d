package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// serveWrites serves the locks of writes under way, and the writes whose clients are gone. Users see their own. FreeWrite
// frees the name for other writers; the earlier holder of the lock may still commit, if it commits first.
func serveWrites(d *door) {
	unary(d, "Writes", false, func(ctx context.Context, who hemera.Identity, _ *adminapi.None) ([]hemera.WriteInfo, error) {
		w, err := part(d.Writes, "writes")
		if err != nil {
			return nil, err
		}
		return w.Writes(ctx, who)
	})
	unary(d, "FreeWrite", true, func(ctx context.Context, who hemera.Identity, r *adminapi.WriteRef) (hemera.WriteInfo, error) {
		w, err := part(d.Writes, "writes")
		if err != nil {
			return hemera.WriteInfo{}, err
		}
		d.audit(ctx, who, "FreeWrite", r)
		return w.FreeWrite(ctx, r.ID)
	})
	unary(d, "EndWrite", false, func(ctx context.Context, who hemera.Identity, r *adminapi.EndWriteRequest) (hemera.WriteInfo, error) {
		w, err := part(d.Writes, "writes")
		if err != nil {
			return hemera.WriteInfo{}, err
		}
		d.audit(ctx, who, "EndWrite", r)
		return w.EndWrite(ctx, who, r.ID, r.Commit)
	})
}
