package admin

import (
	"context"
	"encoding/json"

	"hemera/words/hemera"
)

// none is an empty request or answer.
type none struct{}

// addDisk is the request of the verb of that name; so are the types below. Their JSON is the API: fields may be added,
// never renamed.
type addDisk struct {
	Node  hemera.NodeID
	Path  string // at the node, absolute
	Space string
	// Folder takes a directory that is no filesystem of its own.
	Folder bool `json:",omitempty"`
}

// setDisk, setNode and setSpace have keys and values as `hemera fs set` and its like take them; the service checks
// both.
type setDisk struct {
	ID         hemera.DiskID
	Key, Value string
}

type removeDisk struct {
	ID    hemera.DiskID
	Force bool // also if pieces are on it
	Lose  bool `json:",omitempty"` // files, with Force
}

type setNode struct {
	ID         hemera.NodeID
	Key, Value string
}

type removeNode struct{ ID hemera.NodeID }

type setSpace struct{ Name, Key, Value string }

type removeSpace struct{ Name string }

// serveCluster serves the view of the cluster and changes to disks, nodes and spaces.
// Spaces is open to users: their policies say how a file will be stored, and nothing in them is secret. The rest of
// the view has names of hosts and paths.
func serveCluster(d *door) {
	unary(d, "View", true, func(ctx context.Context, _ hemera.Identity, _ *none) (*hemera.View, error) {
		c, err := part(d.Cluster, "cluster")
		if err != nil {
			return nil, err
		}
		return c.View(ctx)
	})
	unary(d, "Spaces", false, func(ctx context.Context, _ hemera.Identity, _ *none) ([]hemera.Space, error) {
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
	change(d, "AddDisk", func(ctx context.Context, c hemera.ClusterAdmin, r *addDisk) error {
		return c.AddDisk(ctx, r.Node, hemera.AttachDisk{Path: r.Path, Space: r.Space, Folder: r.Folder})
	})
	change(d, "SetDisk", func(ctx context.Context, c hemera.ClusterAdmin, r *setDisk) error {
		return c.SetDisk(ctx, r.ID, r.Key, r.Value)
	})
	change(d, "RemoveDisk", func(ctx context.Context, c hemera.ClusterAdmin, r *removeDisk) error {
		return c.RemoveDisk(ctx, r.ID, hemera.Removal{Force: r.Force, Lose: r.Lose})
	})
	change(d, "SetNode", func(ctx context.Context, c hemera.ClusterAdmin, r *setNode) error {
		return c.SetNode(ctx, r.ID, r.Key, r.Value)
	})
	change(d, "RemoveNode", func(ctx context.Context, c hemera.ClusterAdmin, r *removeNode) error {
		return c.RemoveNode(ctx, r.ID)
	})
	change(d, "SetSpace", func(ctx context.Context, c hemera.ClusterAdmin, r *setSpace) error {
		return c.SetSpace(ctx, r.Name, r.Key, r.Value)
	})
	change(d, "RemoveSpace", func(ctx context.Context, c hemera.ClusterAdmin, r *removeSpace) error {
		return c.RemoveSpace(ctx, r.Name)
	})
}

// change serves a verb that alters the cluster, and logs who asked for it.
func change[Req any](d *door, verb string, f func(context.Context, hemera.ClusterAdmin, *Req) error) {
	unary(d, verb, true, func(ctx context.Context, who hemera.Identity, r *Req) (none, error) {
		c, err := part(d.Cluster, "cluster")
		if err != nil {
			return none{}, err
		}
		// Before the change: a crash during it must leave a trace, too.
		d.audit(ctx, who, verb, r)
		return none{}, f(ctx, c, r)
	})
}

// logged is a request in a log: JSON in logs of both kinds, as text logs would show Go's syntax.
type logged struct{ request any }

// MarshalJSON implements json.Marshaler.
func (l logged) MarshalJSON() ([]byte, error) { return json.Marshal(l.request) }

// MarshalText implements encoding.TextMarshaler, for text logs.
func (l logged) MarshalText() ([]byte, error) { return json.Marshal(l.request) }

// clusterClient is the part of a [Client] that changes disks, nodes and spaces.
type clusterClient struct{ server *server }

// View implements hemera.ClusterAdmin.
// The view belongs to the caller.
func (c clusterClient) View(ctx context.Context) (*hemera.View, error) {
	return call[*hemera.View](ctx, c.server, "View", none{})
}

// Spaces are those of the view, with their policies, which users may know too.
func (c clusterClient) Spaces(ctx context.Context) ([]hemera.Space, error) {
	return call[[]hemera.Space](ctx, c.server, "Spaces", none{})
}

// AddDisk implements hemera.ClusterAdmin.
func (c clusterClient) AddDisk(ctx context.Context, node hemera.NodeID, d hemera.AttachDisk) error {
	return c.server.do(ctx, "AddDisk", addDisk{node, d.Path, d.Space, d.Folder})
}

// SetDisk implements hemera.ClusterAdmin.
func (c clusterClient) SetDisk(ctx context.Context, id hemera.DiskID, key, value string) error {
	return c.server.do(ctx, "SetDisk", setDisk{id, key, value})
}

// RemoveDisk implements hemera.ClusterAdmin.
func (c clusterClient) RemoveDisk(ctx context.Context, id hemera.DiskID, r hemera.Removal) error {
	return c.server.do(ctx, "RemoveDisk", removeDisk{id, r.Force, r.Lose})
}

// SetNode implements hemera.ClusterAdmin.
func (c clusterClient) SetNode(ctx context.Context, id hemera.NodeID, key, value string) error {
	return c.server.do(ctx, "SetNode", setNode{id, key, value})
}

// RemoveNode implements hemera.ClusterAdmin.
func (c clusterClient) RemoveNode(ctx context.Context, id hemera.NodeID) error {
	return c.server.do(ctx, "RemoveNode", removeNode{id})
}

// SetSpace implements hemera.ClusterAdmin.
func (c clusterClient) SetSpace(ctx context.Context, name, key, value string) error {
	return c.server.do(ctx, "SetSpace", setSpace{name, key, value})
}

// RemoveSpace implements hemera.ClusterAdmin.
func (c clusterClient) RemoveSpace(ctx context.Context, name string) error {
	return c.server.do(ctx, "RemoveSpace", removeSpace{name})
}
