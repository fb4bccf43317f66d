// Package auth finds out which user is calling: the mechanisms that a door offers, and the policy that says which of
// them a peer may use. How nodes and the manager trust each other is package pki's.
//
// A door asks a [Policy] which [Mechanism] values a [Peer] may use. Each authentication is an [Exchange] of one connection with
// one mechanism; it ends in an identity or in Unauthenticated, after which the client may try another mechanism.
//
//   - [Unix] takes the user name that the client says. On this machine the kernel has to confirm it: [Owners] find
//     the uid that owns the client's end of the connection, by netlink (diag.go) or /proc (procnet.go).
//   - [Host] serves the peer by its address alone, as nobody.
//
// [ManagerPolicy] serves processes of this machine and hosts of trusted networks; each [Network] says whether names from there are
// believed ([Mapping]). A peer from elsewhere is Denied, with a remedy. [NodePolicy] serves everyone as nobody, because a
// storage node opens files by capability only.
//
// Values are immutable once made and safe for concurrent use. A Step may read the system's user database or ask
// the kernel; it does not use the network.
package auth

import (
	"net/netip"

	"hemera/words/hemera"
)

// Peer is what a door knows of a connection before it is authenticated.
type Peer struct {
	Remote netip.AddrPort
	Local  netip.AddrPort
	Login  string // the name in the login request, a claim only
	App    string
	TLS    bool
}

// Mechanism authenticates one kind of credentials, as the server.
type Mechanism interface {
	// Name is the protocol's name, up to 4 characters: "unix", "host".
	Name() string
	// Offer is what the login answer says after "&P=": the name, and its arguments if it has any.
	Offer() string
	// Begin starts an exchange for one connection.
	Begin(peer Peer) Exchange
}

// Exchange is one attempt of one connection with one mechanism.
type Exchange interface {
	// Step takes the credentials of one kXR_auth request (beginning with the mechanism's name and a
	// zero byte). It returns an identity when authenticated, or data to send back when more is
	// needed. Unauthenticated, Invalid; the client may then try another mechanism.
	Step(credentials []byte) (who *hemera.Identity, more []byte, err error)
}

// Policy says who may connect and how they must show who they are.
type Policy interface {
	// Offer lists the mechanisms the peer may use, best first. None with a nil error means the peer
	// is served as the identity Anonymous returns. Denied, with a remedy, when it may not connect.
	Offer(peer Peer) ([]Mechanism, error)
	// Anonymous is the identity of peers that need no authentication.
	Anonymous(peer Peer) hemera.Identity
}
