package manager

import (
	"context"

	"hemera/cluster/netwatch"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// watchNetwork judges what nodes counted of their networks until the context ends, and has the cluster know their weights. It
// steps as often as nodes sample. The two are not in step with each other: a node whose sample is late counts in the next one.
func (m *Manager) watchNetwork(ctx context.Context) error {
	return every(ctx, hemera.NetworkInterval, func() {
		// The view is of before the step: a node that joined meanwhile has nothing to be judged by yet.
		m.Cluster.Weigh(m.network.Step(m.Cluster.View(), m.now()))
	})
}

// Network implements adminapi.StatusAdmin. The weights of its rows and those of the view are of the same step, but for the moment
// between the step and the view that follows it.
func (rep *reporter) Network(context.Context) (r adminapi.NetworkReport, err error) {
	defer rep.ops.begin("Network").end(&err)
	return rep.network.Report(rep.cluster.View()), nil
}

// whyNetwork explains what is known of a node's network, and what it rests on. It sends no request: all of it is in
// memory, so it also answers while the network is what is wrong.
func (rep *reporter) whyNetwork(id hemera.NodeID) (out adminapi.Explanation, err error) {
	view := rep.cluster.View()
	n, ok := view.Node(id)
	if !ok {
		return out, errs.New(errs.NotFound, "manager.Why", "node "+id.String(), "there is no such node").WithRemedy("see `hemera node ls`")
	}
	// A node without a row waits for admission, and has no network yet.
	out = adminapi.Explanation{Subject: "network of node " + id.String() + ", " + n.Addr, State: string(adminapi.NetworkUnknown)}
	for _, row := range rep.network.Report(view).Nodes {
		if row.Node == id {
			out.State, out.Reasons = netwatch.Explain(row, rep.now())
		}
	}
	// The last report stays, and is marked as old: the loss may be why it went away.
	if n.Status != hemera.NodeOnline {
		out.Reasons = append(out.Reasons, adminapi.Reason{About: "node", Text: "is " + string(n.Status) + ", so nothing new is known", Remedy: "hemera why node " + id.String()})
	}
	return out, nil
}
