package admin

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// serveNetwork serves the report about the nodes' networks.
func serveNetwork(d *door) {
	unary(d, "Network", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) (r adminapi.NetworkReport, err error) {
		s, err := part(d.Status, "status")
		if err != nil {
			return r, err
		}
		return s.Network(ctx)
	})
}

// sendNetwork sends the state of each node's network. Segments are those of the last minutes, with less weight for older
// ones, so they are gauges.
func sendNetwork(ch chan<- prometheus.Metric, r adminapi.NetworkReport) {
	for _, n := range r.Nodes {
		id := n.Node.String()
		mNetStanding.send(ch, 1, id, n.Addr, string(n.Standing), n.Cause)
		mNetWeight.send(ch, n.Weight, id, n.Addr)
		for direction, l := range map[string]adminapi.NetworkLoss{"in": n.In, "out": n.Out} {
			mNetSegments.send(ch, l.Segments, id, n.Addr, direction)
			mNetLost.send(ch, l.Lost, id, n.Addr, direction)
		}
		if n.RTT > 0 {
			mNetRTT.send(ch, n.RTT.Seconds(), id, n.Addr)
		}
	}
}
