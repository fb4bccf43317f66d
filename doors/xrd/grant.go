package xrd

import (
	"hemera"
	"hemera/rules/wire"
)

// headOf returns the node that a grant sends its client to, zero if none of its targets is there.
func headOf(g *hemera.Grant) hemera.NodeID {
	for _, at := range g.Permit.Targets {
		if at.Addr == g.Addr {
			return at.Node
		}
	}
	return 0
}

// redirectToHead sends the client to the head of its grant, with the permission to open there. hint says for how long
// it is to try to reach it; see retryhint.go.
func redirectToHead(g *hemera.Grant, hint wire.Opaque) error {
	token, err := g.Permit.Token() // signed here if nobody asked before
	if err != nil {
		return err
	}
	// The node's id comes back with a client that failed there: clients name hosts only, and a host may run several.
	return redirectTo(g.Addr, wire.Opaque(wire.OpaqueCapability+"="+token+"&"+wire.OpaqueNode+"="+headOf(g).String()+"&")+hint)
}
