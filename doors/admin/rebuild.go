package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// serveRebuild serves the rebuild of a lost namespace. Rebuild is a stream because it reads every disk: the client gets
// progress and findings. It ends when the client leaves.
func serveRebuild(d *door) {
	stream(d, "Rebuild", true, func(ctx context.Context, _ hemera.Identity, r *adminapi.RebuildOptions, send func(*adminapi.RebuildReport) error) error {
		b, err := part(d.Rebuild, "the rebuild")
		if err != nil {
			return err
		}
		report, err := b.Rebuild(ctx, *r, func(r adminapi.RebuildReport) error { return send(&r) })
		if err != nil {
			return err
		}
		return send(&report)
	})
	unary(d, "FinishRebuild", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) (adminapi.None, error) {
		b, err := part(d.Rebuild, "the rebuild")
		if err != nil {
			return adminapi.None{}, err
		}
		return adminapi.None{}, b.FinishRebuild(ctx)
	})
	unary(d, "ForgetLost", true, func(ctx context.Context, _ hemera.Identity, o *adminapi.ForgetOptions) (adminapi.None, error) {
		b, err := part(d.Rebuild, "the rebuild")
		if err != nil {
			return adminapi.None{}, err
		}
		return adminapi.None{}, b.ForgetLost(ctx, *o)
	})
}
