package manager

import (
	"context"
	"fmt"
	"time"

	"hemera"
	"hemera/errs"
)

// watchNetwork judges what nodes counted of their networks until the context ends, and has the cluster know their weights.
func (p *parts) watchNetwork(ctx context.Context) error {
	tick := time.NewTicker(hemera.NetworkInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			// The view is of before the step: a node that joined meanwhile has nothing to be judged by yet.
			p.cluster.Weigh(p.network.Step(p.cluster.View(), p.now()))
		}
	}
}

// Network implements hemera.StatusAdmin.
func (rep *reporter) Network(context.Context) (r hemera.NetworkReport, err error) {
	defer rep.ops.begin("Network").end(&err)
	return rep.network.Report(rep.cluster.View()), nil
}

// whyNetwork explains what is known of a node's network, and what it rests on.
func (rep *reporter) whyNetwork(id hemera.NodeID) (out hemera.Explanation, err error) {
	view := rep.cluster.View()
	n, ok := view.Node(id)
	if !ok {
		return out, errs.New(errs.NotFound, "manager.Why", "node "+id.String(), "there is no such node").WithRemedy("see `hemera node ls`")
	}
	// A node without a row waits for admission, and has no network yet.
	out = hemera.Explanation{Subject: "network of node " + id.String() + ", " + n.Addr, State: string(hemera.NetworkUnknown)}
	for _, row := range rep.network.Report(view).Nodes {
		if row.Node == id {
			explainNetwork(&out, &row, rep.now())
		}
	}
	if n.Status != hemera.NodeOnline {
		out.Reasons = append(out.Reasons, hemera.Reason{About: "node", Text: "is " + string(n.Status) + ", so nothing new is known", Remedy: "hemera why node " + id.String()})
	}
	return out, nil
}

// explainNetwork makes the state and the reasons of a node's network.
func explainNetwork(out *hemera.Explanation, row *hemera.NodeNetwork, now time.Time) {
	out.State = string(row.Standing)
	if row.Cause != "" {
		out.State += ", " + blamed(row)
	}
	// The judge's sentences are in the order of a conversation: what, how many, how much, what follows.
	for i, text := range row.Text {
		r := hemera.Reason{About: "judgement", Text: text}
		if i == 0 {
			r.Remedy = row.Remedy // where to look belongs to what is wrong
		}
		out.Reasons = append(out.Reasons, r)
	}
	// The worst path is told of every node: before a node is suspected, it is the first sign.
	if w := row.Worst; w != nil {
		peer := w.Addr
		if peer == "" {
			peer = "its clients"
		}
		way := map[string]string{"out": "to", "in": "from"}[w.Direction]
		out.Reasons = append(out.Reasons, hemera.Reason{About: "worst path",
			Text: fmt.Sprintf("%s %s: %.0f of %.0f segments were lost (%.2g %%)", way, peer, w.Loss.Lost, w.Loss.Segments, 100*w.Loss.Share())})
	}
	if !row.Sampled.IsZero() {
		out.Reasons = append(out.Reasons, hemera.Reason{About: "sample",
			Text: fmt.Sprintf("the last one came %s ago: %.1f MB/s in, %.1f MB/s out", now.Sub(row.Sampled).Round(time.Second), row.InRate/1e6, row.OutRate/1e6)})
	}
}

// blamed says in a few words what is blamed. The words of causes are for programs; these are for the first line.
func blamed(row *hemera.NodeNetwork) string {
	switch row.Cause {
	case "path":
		return "for one path"
	case "port":
		return "for the host, its port or its cable"
	case "shared":
		return "for something that it shares with other nodes"
	}
	return "for an interface: " + row.Cause
}
