package manager

import (
	"slices"

	"hemera"
	"hemera/errs"
)

// returnTime is how long nodes that are away may take to register again before clients are told that
// there is no disk: from the manager's start, or from a node's last heartbeat. A node that restarts,
// or a switch that does, takes less.
const returnTime = 4 * hemera.HeartbeatTimeout

// early turns the want of a disk into Unavailable while nodes may still come back: clients wait then,
// and do not fail. Nodes that the client has tried in vain are not waited for.
func (m *Manager) early(err error, tried []hemera.NodeID) error {
	if kind := errs.KindOf(err); err == nil || kind != errs.NoReplicas && kind != errs.NoSpace {
		return err
	}
	now := m.now()
	returning := func(n hemera.NodeInfo) bool {
		since := n.Heartbeat
		if since.IsZero() {
			since = m.started
		}
		return n.Enabled && (n.Status == hemera.NodeOffline || n.Stopping) && now.Sub(since) <= returnTime && !slices.Contains(tried, n.ID)
	}
	if !slices.ContainsFunc(m.cluster.View().Nodes, returning) {
		return err
	}
	return &errs.Error{Kind: errs.Unavailable, Op: "open", Text: "nodes that were there a moment ago may come back", Cause: err}
}
