package auth

import (
	"bytes"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Host is the XRootD mechanism "host": it has no credentials and identifies the client by its address. Its clients are
// served as the user nobody; access rules may name their address. It does not use DNS: the owner of an address chooses
// its name, so the name proves nothing.
type Host struct{}

// Name implements [Mechanism].
func (Host) Name() string { return "host" }

// Offer implements [Mechanism].
func (Host) Offer() string { return "host" }

// Begin implements [Mechanism].
func (Host) Begin(peer Peer) Exchange { return hostExchange{peer} }

type hostExchange struct{ peer Peer }

// Step implements [Exchange]. It accepts nothing after the mechanism's name, so that damaged credentials of another
// mechanism are refused.
func (x hostExchange) Step(credentials []byte) (*hemera.Identity, []byte, error) {
	if name := bytes.TrimSuffix(credentials, []byte{0}); string(name) != "host" {
		return nil, nil, errs.New(errs.Invalid, "auth.CheckHost", x.peer.Remote.String(), "credentials are not just the mechanism's name")
	}
	who := nobody("host", x.peer)
	return &who, nil, nil
}

func nobody(protocol string, peer Peer) hemera.Identity {
	return unknown("nobody").identity(protocol, peer)
}
