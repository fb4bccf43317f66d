// Package auth identifies the user of a connection. It has the mechanisms that a door offers, and the policies that
// decide which of them a peer may use. Package pki authenticates nodes and the manager to each other.
//
// A door asks a [Policy] which [Mechanism] values a [Peer] may use. Each authentication is an [Exchange] of one
// connection with one mechanism. It ends with an identity or with Unauthenticated; then the client may try another
// mechanism.
//
//   - [Unix] uses the user name that the client sends. On this machine the kernel has to confirm it: [Owners] find the
//     uid that owns the client's end of the connection, by netlink (diag.go) or /proc (procnet.go).
//   - [Host] identifies the peer by its address only, as the user nobody.
//
// [ManagerPolicy] serves processes of this machine and hosts of trusted networks. Each [Network] says which user names
// from there are accepted ([Mapping]). Other peers get Denied, with a remedy. [NodePolicy] serves all peers as the user
// nobody, because a storage node opens files by capability only.
//
// Values are immutable once made and safe for concurrent use. A Step may read the system's user database or ask the
// kernel; it does not use the network.
package auth

import (
	"net/netip"

	"hemera/words/hemera"
)

// Peer has what a door knows about a connection before authentication.
type Peer struct {
	Remote netip.AddrPort
	Local  netip.AddrPort
	Login  string // the name in the login request, not verified
	App    string
	TLS    bool
}

// Mechanism authenticates one kind of credentials, as the server.
type Mechanism interface {
	// Name returns the protocol's name, up to 4 characters: "unix", "host".
	Name() string
	// Offer returns the text of the login answer after "&P=": the name, and its arguments if it has any.
	Offer() string
	// Begin starts an exchange for one connection.
	Begin(peer Peer) Exchange
}

// Exchange is one attempt of one connection with one mechanism. It may wait for the files of the machine's users.
type Exchange interface {
	// Step processes the credentials of one kXR_auth request (beginning with the mechanism's name and a zero byte). It
	// returns an identity if the client is authenticated, or data to send back if another step is needed. It fails with
	// Unauthenticated or Invalid; the client may then try another mechanism.
	Step(credentials []byte) (who *hemera.Identity, more []byte, err error)
}

// Policy decides which peers may connect and how they must authenticate. It answers from memory.
type Policy interface {
	// Offer lists the mechanisms that the peer may use, best first. An empty list with a nil error means that the peer is
	// served as the identity that Anonymous returns. It fails with Denied and a remedy if the peer may not connect.
	Offer(peer Peer) ([]Mechanism, error)
	// Anonymous returns the identity of peers that need no authentication.
	Anonymous(peer Peer) hemera.Identity
}
