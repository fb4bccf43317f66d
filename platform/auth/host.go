package auth

import (
	"bytes"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Host is the XRootD mechanism "host": there are no credentials, the client is known by where it
// is. Its clients are nobody; access rules may name their address. No DNS is asked: a name that
// the owner of the address chooses proves nothing.
type Host struct{}

// Name implements [Mechanism].
func (Host) Name() string { return "host" }

// Offer implements [Mechanism].
func (Host) Offer() string { return "host" }

// Begin implements [Mechanism].
func (Host) Begin(peer Peer) Exchange { return hostExchange{peer} }

type hostExchange struct{ peer Peer }

// Step implements [Exchange]. Nothing may follow the mechanism's name, so that no other mechanism's
// damaged credentials pass as these.
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
