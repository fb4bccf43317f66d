package manager

import (
	"context"
	"fmt"
	"log/slog"

	"hemera/cluster"
	"hemera/maint"
	"hemera/maint/orders"
	"hemera/namespace"
	"hemera/tape/tier"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// clusterAdmin implements adminapi.ClusterAdmin and adminapi.TrustAdmin. Requests that only change the cluster's records
// are promoted from the cluster itself.
type clusterAdmin struct {
	clusterSettings
	tree    namespace.Parts
	cluster *cluster.Cluster
	engine  *maint.Engine
	tier    *tier.Tier
	orders  *orders.Dispatcher
	pieces  *recorder
	judge   *judge
	log     *slog.Logger
	impact  func(ctx context.Context, disks []hemera.DiskID) (adminapi.Impact, error) // the reporter's Impact, which mayGo asks
}

// clusterSettings has the requests of admins that the cluster answers alone. The cluster makes each change durable before
// it returns; no part of the manager has to hear of it.
type clusterSettings interface {
	AddDisk(ctx context.Context, node hemera.NodeID, d hemera.AttachDisk) error
	SetNode(ctx context.Context, id hemera.NodeID, key, value string) error
	SetSpace(ctx context.Context, name hemera.SpaceName, key, value string) error
	AdmitNode(ctx context.Context, id hemera.NodeID) error
	RotateKeys(ctx context.Context, end bool) error
}

// View implements adminapi.ClusterAdmin.
func (a *clusterAdmin) View(ctx context.Context) (*hemera.View, error) {
	view, err := a.judge.counted(ctx)
	if err != nil {
		return nil, err
	}
	// The held pieces are the namespace's, so other callers of the cluster's view do without them.
	for i := range view.Disks {
		d := &view.Disks[i]
		if d.Held, d.HeldBytes, err = a.tree.DiskHeld(ctx, d.ID); err != nil {
			return nil, errs.Wrap(err, "manager.View", "disk "+d.ID.String())
		}
	}
	return view, nil
}

// SetDisk implements adminapi.ClusterAdmin.
func (a *clusterAdmin) SetDisk(ctx context.Context, id hemera.DiskID, key, value string) error {
	// A drain or a repair may have to begin or end now.
	defer a.engine.Wake()
	return a.cluster.Admin.SetDisk(ctx, id, key, value)
}

// RemoveDisk implements adminapi.ClusterAdmin. The pieces of a disk that is removed by force are made again from the
// files' other pieces.
func (a *clusterAdmin) RemoveDisk(ctx context.Context, id hemera.DiskID, r adminapi.Removal) error {
	if a.tree.Stats().WentBack.Unmerged() && !r.Lose {
		return errs.New(errs.Conflict, "manager.Remove", "disk "+id.String(), "the namespace went back, and the disk may have the only pieces of files that it does not know").
			WithRemedy("run `hemera ns rebuild --merge` with all disks there; to lose such files, remove it with --force")
	}
	// First: this counts files for up to impactTime, and must not hold up commits to the disk meanwhile.
	if r.Force && !r.Lose {
		if err := a.mayGo(ctx, id); err != nil {
			return err
		}
	}
	// No commit can record a piece there until the end, so the count is still true when the disk leaves the view.
	pieces, bytes, end, err := a.pieces.leave(ctx, id, 0)
	if err != nil {
		return errs.Wrap(err, "manager.Remove", "disk "+id.String())
	}
	defer end()
	if pieces > 0 && !r.Force {
		return errs.New(errs.NotEmpty, "manager.Remove", "disk "+id.String(), fmt.Sprintf("it holds %d pieces, %d bytes", pieces, bytes)).
			WithRemedy("empty it with `hemera fs set " + id.String() + " drain`, or remove it as it is with --force")
	}
	defer a.engine.Wake()
	return a.cluster.Admin.RemoveDisk(ctx, id)
}

// RemoveNode implements adminapi.ClusterAdmin.
func (a *clusterAdmin) RemoveNode(ctx context.Context, id hemera.NodeID) error {
	if err := a.cluster.Admin.RemoveNode(ctx, id); err != nil {
		return err
	}
	// Callers that wait for the node hear of it now, rather than when the context of each ends.
	a.orders.Fail(id)
	a.tier.Sweeper.EndLost() // its tape library goes from the lists
	// The node is removed: what fails here is done again within seconds.
	if err := a.tier.Sweeper.LeaveMounts(ctx); err != nil {
		a.log.Warn("tapes that were in the drives of a node that was removed are not known as unsure yet", "node", id, "error", err)
	}
	return nil
}
