package manager

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"hemera/cluster"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// returnTime bounds the time that nodes that are away may take to register again before clients hear that there is no
// disk: from the manager's start, or from a node's last heartbeat. A node that restarts, or a switch that does, takes
// less.
const returnTime = 4 * hemera.HeartbeatTimeout

// returns has clients wait for nodes that may come back.
type returns struct {
	view    func() *hemera.View
	now     func() time.Time
	started time.Time // nodes that were there before have returnTime from here
}

// defers reports a want of disks as Unavailable while nodes may still come back: clients wait then,
// and do not fail. Nodes that the client has tried in vain are not waited for.
func (r returns) defers(err error, tried []hemera.NodeID) error {
	if kind := errs.KindOf(err); err == nil || kind != errs.NoReplicas && kind != errs.NoSpace {
		return err
	}
	now := r.now()
	// A node that an admin switched off is not waited for. One that is about to stop is: it restarts, most often.
	returning := func(n hemera.NodeInfo) bool {
		since := n.Heartbeat
		if since.IsZero() {
			// No heartbeat since this manager started: the node may have been online until then.
			since = r.started
		}
		return n.Enabled && (n.Status == hemera.NodeOffline || n.Stopping) && now.Sub(since) <= returnTime && !slices.Contains(tried, n.ID)
	}
	if !slices.ContainsFunc(r.view().Nodes, returning) {
		return err
	}
	return &errs.Error{Kind: errs.Unavailable, Op: "manager.Open", Text: "nodes that were there a moment ago may come back", Cause: err}
}

// makeRoom turns NoSpace into Unavailable where content that is held for readers is in the way, and has it go: the
// client waits and asks again.
func (o *opener) makeRoom(ctx context.Context, view *hemera.View, c *hemera.Capability, noSpace error) error {
	// Disks that would take the write but for room. A full one counts: its held pieces may be what fills it.
	disks := slices.DeleteFunc(slices.Clone(view.Disks), func(d hemera.Disk) bool {
		return d.Space != c.Space || !d.Active || d.Config != hemera.ConfigRW || d.Health != hemera.HealthOK && d.Health != hemera.HealthFull
	})
	found, err := o.engine.MakeRoom(ctx, disks, max(layout.PieceMax(c.Layout, c.Size), 1)) // on each of them
	// The client hears of the lack of room, which is true, and not of an error of the attempt to make some.
	if err != nil || !found {
		return noSpace
	}
	return &errs.Error{Kind: errs.Unavailable, Op: "manager.Open", Subject: c.Path, Text: "replaced content that was kept for readers makes room", Cause: noSpace}
}

// unknownYet turns NotFound into Unavailable while the namespace is being rebuilt, and while it is not known to be the one that the
// nodes know: what is not there may still be found, and a client that hears "no such file" may write it again, or forget it.
// Admins are told what there is.
func unknownYet(c *cluster.Cluster, who hemera.Identity, err error) error {
	if !errors.Is(err, errs.NotFound) || who.Admin {
		return err
	}
	// Its kind is that of the cause, and never NotFound.
	return cmp.Or(c.Marks.Current(), err)
}
