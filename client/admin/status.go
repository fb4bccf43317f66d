package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Status has the calls for the health of the cluster. It implements hemera.StatusAdmin.
type Status struct{ server *server }

// Impact implements hemera.StatusAdmin.
func (c Status) Impact(ctx context.Context, disks []hemera.DiskID) (hemera.Impact, error) {
	return call[hemera.Impact](ctx, c.server, "Impact", adminapi.ImpactRequest{Disks: disks})
}

// Why implements hemera.StatusAdmin.
func (c Status) Why(ctx context.Context, _ hemera.Identity, kind, ref string) (hemera.Explanation, error) {
	return call[hemera.Explanation](ctx, c.server, "Why", adminapi.WhyRequest{Kind: kind, Ref: ref})
}

// Status implements hemera.StatusAdmin.
func (c Status) Status(ctx context.Context) (hemera.ClusterStatus, error) {
	return call[hemera.ClusterStatus](ctx, c.server, "Status", adminapi.None{})
}

// Impaired implements hemera.StatusAdmin.
func (c Status) Impaired(ctx context.Context, standing hemera.FileStanding, visit func(path string, e hemera.Entry) error) error {
	_, err := Names(c).Walk(ctx, adminapi.WalkRequest{Path: "/", Standing: standing}, func(f adminapi.Found) error { return visit(f.Path, f.Entry) })
	return err
}

// Network implements hemera.StatusAdmin.
func (c Status) Network(ctx context.Context) (hemera.NetworkReport, error) {
	return call[hemera.NetworkReport](ctx, c.server, "Network", adminapi.None{})
}
