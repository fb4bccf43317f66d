package manager

import (
	"context"
	"slices"

	"hemera/cluster"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A node that calls from another process is trusted with its own writes and its own disks only. What is decided
// here is who calls; what it may ask for is in the capability, which no node can make.

// fromHead refuses a call about a write by any node but the one that gathers it. Denied; Unavailable while that
// node has no lease: it registers, and asks again.
func (ctl *control) fromHead(ctx context.Context, op string, c *hemera.Capability) error {
	node, remote := hemera.Caller(ctx)
	// A call of the manager's own process, such as by a node that runs within it, needs no proof.
	if !remote {
		return nil
	}
	if node != c.HeadNode() {
		// Only a node that was tampered with, or a bug, comes here: an admin has to know.
		ctl.log.Warn("a node acts on another's write", "node", node, "head", c.HeadNode(), "op", op, "path", c.Path, "fxid", c.File.Hex())
		return errs.New(errs.Denied, op, c.Path, "node "+c.HeadNode().String()+" is the head of this write, not node "+node.String())
	}
	return errs.Wrap(acts(ctl.cluster, node), op, c.Path)
}

// acts refuses a node without a lease. The view may be a little late: it does not refuse alone.
func acts(c *cluster.Cluster, node hemera.NodeID) error {
	if n, ok := c.View().Node(node); ok && n.Status == hemera.NodeOnline {
		return c.Leases.Member(node)
	}
	return c.Leases.Leased(node)
}

// Resolve implements hemera.Control. A node learns of files only that it has a piece of, or writes one of.
func (ctl *control) Resolve(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error) {
	node, remote := hemera.Caller(ctx)
	if remote {
		if err := acts(ctl.cluster, node); err != nil {
			return hemera.Entry{}, "", errs.Wrap(err, "manager.Resolve", id.String())
		}
	}
	// The answer is held back after it was found: NotFound is no secret, as ids are handed out in order.
	e, path, err := ctl.tree.Resolve(ctx, id)
	if err != nil || !remote || ctl.has(node, &e) {
		return e, path, err
	}
	return hemera.Entry{}, "", errs.New(errs.Denied, "manager.Resolve", id.String(), "the node has no part of this file").
		WithRemedy("ask for it by its path")
}

// has reports whether the node has a piece of the file, or is to get one of the write that is under way.
func (ctl *control) has(node hemera.NodeID, e *hemera.Entry) bool {
	view := ctl.cluster.View()
	its := func(id hemera.DiskID) bool {
		d, ok := view.Disk(id)
		return ok && d.Node == node
	}
	return slices.ContainsFunc(e.Pieces, func(p hemera.Piece) bool { return its(p.Disk) }) ||
		// A head that makes a new content has no piece of the old one, and has to know the file all the same.
		slices.ContainsFunc(ctl.pending.disksOf(name{e.Parent, e.Name}), its)
}

// ExpelNode implements adminapi.TrustAdmin.
func (a *clusterAdmin) ExpelNode(ctx context.Context, id hemera.NodeID) error {
	// As for RemoveDisk: all disks of the node leave the view, and no commit may record a piece there meanwhile.
	_, _, end, err := a.pieces.leave(ctx, 0, id)
	if err != nil {
		return errs.Wrap(err, "manager.Expel", "node "+id.String())
	}
	defer end()
	if err := a.cluster.Admin.ExpelNode(ctx, id); err != nil {
		return err
	}
	a.orders.Fail(id)
	a.engine.Wake()
	return nil
}

// trusted leaves out the pieces at nodes that were removed: a capability that names such a node is refused.
func (ctl *control) trusted(list []hemera.Target) []hemera.Target {
	return slices.DeleteFunc(slices.Clone(list), func(t hemera.Target) bool { return ctl.cluster.Leases.Member(t.Node) != nil })
}
