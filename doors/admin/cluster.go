package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// serveCluster serves the view of the cluster and changes to disks, nodes and spaces. Spaces is open to users: policies
// say how a file will be stored, and have no secrets. The other parts of the view have names of hosts and paths.
func serveCluster(d *door) {
	unary(d, "View", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) (*hemera.View, error) {
		c, err := part(d.Cluster, "cluster")
		if err != nil {
			return nil, err
		}
		return c.View(ctx)
	})
	unary(d, "Spaces", false, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) ([]hemera.Space, error) {
		c, err := part(d.Cluster, "cluster")
		if err != nil {
			return nil, err
		}
		v, err := c.View(ctx)
		if err != nil {
			return nil, err
		}
		return v.Spaces, nil
	})
	change(d, "AddDisk", func(ctx context.Context, c adminapi.ClusterAdmin, r *adminapi.AddDiskRequest) error {
		return c.AddDisk(ctx, r.Node, hemera.AttachDisk{Path: r.Path, Space: r.Space, Folder: r.Folder})
	})
	change(d, "SetDisk", func(ctx context.Context, c adminapi.ClusterAdmin, r *adminapi.SetDiskRequest) error {
		return c.SetDisk(ctx, r.ID, r.Key, r.Value)
	})
	change(d, "RemoveDisk", func(ctx context.Context, c adminapi.ClusterAdmin, r *adminapi.RemoveDiskRequest) error {
		return c.RemoveDisk(ctx, r.ID, adminapi.Removal{Force: r.Force, Lose: r.Lose})
	})
	change(d, "SetNode", func(ctx context.Context, c adminapi.ClusterAdmin, r *adminapi.SetNodeRequest) error {
		return c.SetNode(ctx, r.ID, r.Key, r.Value)
	})
	change(d, "RemoveNode", func(ctx context.Context, c adminapi.ClusterAdmin, r *adminapi.RemoveNodeRequest) error {
		return c.RemoveNode(ctx, r.ID)
	})
	change(d, "SetSpace", func(ctx context.Context, c adminapi.ClusterAdmin, r *adminapi.SetSpaceRequest) error {
		return c.SetSpace(ctx, r.Name, r.Key, r.Value)
	})
	change(d, "RemoveSpace", func(ctx context.Context, c adminapi.ClusterAdmin, r *adminapi.RemoveSpaceRequest) error {
		return c.RemoveSpace(ctx, r.Name)
	})
}

// change serves a verb that changes the cluster, and logs the caller.
func change[Req any](d *door, verb string, f func(context.Context, adminapi.ClusterAdmin, *Req) error) {
	unary(d, verb, true, func(ctx context.Context, who hemera.Identity, r *Req) (adminapi.None, error) {
		c, err := part(d.Cluster, "cluster")
		if err != nil {
			return adminapi.None{}, err
		}
		// Before the change, so that a crash during it leaves a log line too.
		d.audit(ctx, who, verb, r)
		return adminapi.None{}, f(ctx, c, r)
	})
}
