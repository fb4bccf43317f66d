package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Cluster shows and changes disks, nodes and spaces. It implements adminapi.ClusterAdmin.
type Cluster struct{ server *server }

// View implements adminapi.ClusterAdmin. The view belongs to the caller.
func (c Cluster) View(ctx context.Context) (*hemera.View, error) {
	return call[*hemera.View](ctx, c.server, "View", adminapi.None{})
}

// Spaces returns the spaces with their policies, which users may see too.
func (c Cluster) Spaces(ctx context.Context) ([]hemera.Space, error) {
	return call[[]hemera.Space](ctx, c.server, "Spaces", adminapi.None{})
}

// AddDisk implements adminapi.ClusterAdmin.
func (c Cluster) AddDisk(ctx context.Context, node hemera.NodeID, d hemera.AttachDisk) error {
	return c.server.do(ctx, "AddDisk", adminapi.AddDiskRequest{Node: node, Path: d.Path, Space: d.Space, Folder: d.Folder})
}

// SetDisk implements adminapi.ClusterAdmin.
func (c Cluster) SetDisk(ctx context.Context, id hemera.DiskID, key, value string) error {
	return c.server.do(ctx, "SetDisk", adminapi.SetDiskRequest{ID: id, Key: key, Value: value})
}

// RemoveDisk implements adminapi.ClusterAdmin.
func (c Cluster) RemoveDisk(ctx context.Context, id hemera.DiskID, r adminapi.Removal) error {
	return c.server.do(ctx, "RemoveDisk", adminapi.RemoveDiskRequest{ID: id, Force: r.Force, Lose: r.Lose})
}

// SetNode implements adminapi.ClusterAdmin.
func (c Cluster) SetNode(ctx context.Context, id hemera.NodeID, key, value string) error {
	return c.server.do(ctx, "SetNode", adminapi.SetNodeRequest{ID: id, Key: key, Value: value})
}

// RemoveNode implements adminapi.ClusterAdmin.
func (c Cluster) RemoveNode(ctx context.Context, id hemera.NodeID) error {
	return c.server.do(ctx, "RemoveNode", adminapi.RemoveNodeRequest{ID: id})
}

// SetSpace implements adminapi.ClusterAdmin.
func (c Cluster) SetSpace(ctx context.Context, name hemera.SpaceName, key, value string) error {
	return c.server.do(ctx, "SetSpace", adminapi.SetSpaceRequest{Name: name, Key: key, Value: value})
}

// RemoveSpace implements adminapi.ClusterAdmin.
func (c Cluster) RemoveSpace(ctx context.Context, name hemera.SpaceName) error {
	return c.server.do(ctx, "RemoveSpace", adminapi.RemoveSpaceRequest{Name: name})
}
