package manager

import (
	"context"
	"net/netip"

	"hemera/rules/access"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// MayFetch implements hemera.CopyRules.
func (ctl *control) MayFetch(ctx context.Context, s hemera.CopySource) error {
	// A node asks for itself only: what the request says of the node counts for the manager's own doors.
	if node, remote := hemera.Caller(ctx); remote {
		if err := acts(ctl.cluster, node); err != nil {
			return errs.Wrap(err, "manager.CopyFrom", s.Name)
		}
		s.Node = node
	}
	view := ctl.cluster.View()
	// Copies between the cluster's own doors are always allowed; other sources have to be named in the settings.
	doors := []string{ctl.addr}
	source := access.Source{Name: s.Name}
	for i := range view.Nodes {
		n := &view.Nodes[i]
		if n.Addr != "" {
			doors = append(doors, n.Addr)
		}
		if n.ID == s.Node {
			source.From = n.Addr
		}
	}
	source.Addr, _ = netip.ParseAddrPort(s.Addr) // what is none is refused
	if d := ctl.sources.Load().Decide(source, doors); !d.Allowed {
		return errs.New(errs.Denied, "manager.CopyFrom", s.Name, d.Rule).
			WithRemedy("add its network to tpc.allow at the manager, if third-party copies may read there")
	}
	return nil
}
