package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Status has the calls for the health of the cluster. It implements adminapi.StatusAdmin.
type Status struct{ server *server }

// Impact implements adminapi.StatusAdmin.
func (c Status) Impact(ctx context.Context, disks []hemera.DiskID) (adminapi.Impact, error) {
	return call[adminapi.Impact](ctx, c.server, "Impact", adminapi.ImpactRequest{Disks: disks})
}

// Why implements adminapi.StatusAdmin.
func (c Status) Why(ctx context.Context, _ hemera.Identity, kind, ref string) (adminapi.Explanation, error) {
	return call[adminapi.Explanation](ctx, c.server, "Why", adminapi.WhyRequest{Kind: kind, Ref: ref})
}

// Status implements adminapi.StatusAdmin.
func (c Status) Status(ctx context.Context) (adminapi.ClusterStatus, error) {
	return call[adminapi.ClusterStatus](ctx, c.server, "Status", adminapi.None{})
}

// Impaired implements adminapi.StatusAdmin.
func (c Status) Impaired(ctx context.Context, standing adminapi.FileStanding, visit func(path string, e hemera.Entry) error) error {
	_, err := Names(c).Walk(ctx, adminapi.WalkRequest{Path: "/", Standing: standing}, func(f adminapi.Found) error { return visit(f.Path, f.Entry) })
	return err
}

// Network implements adminapi.StatusAdmin.
func (c Status) Network(ctx context.Context) (adminapi.NetworkReport, error) {
	return call[adminapi.NetworkReport](ctx, c.server, "Network", adminapi.None{})
}
