package manager

import (
	"context"
	"net/netip"

	"hemera"
	"hemera/errs"
	"hemera/rules/access"
)

// MayFetch implements hemera.CopyRules.
func (ctl *control) MayFetch(ctx context.Context, s hemera.CopySource) error {
	if node, remote := hemera.Caller(ctx); remote {
		if err := ctl.acts(node); err != nil {
			return errs.Wrap(err, "manager.CopyFrom", s.Name)
		}
		s.Node = node
	}
	view := ctl.cluster.View()
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
	if d := ctl.sources.Decide(source, doors); !d.Allowed {
		return errs.New(errs.Denied, "manager.CopyFrom", s.Name, d.Rule).
			WithRemedy("add its network to tpc.allow at the manager, if third-party copies may read there")
	}
	return nil
}
