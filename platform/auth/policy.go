package auth

import (
	"net/netip"
	"sync/atomic"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// ManagerPolicy is the policy of a manager's door. Processes of this machine authenticate with unix, which the kernel
// confirms, or are served as the user nobody with host. The names that hosts of trusted networks send are accepted,
// within the network's mapping. All others are refused until stronger mechanisms are configured.
//
// A proxy on this machine that forwards foreign connections makes their clients processes of this machine, with the
// proxy's user.
type ManagerPolicy struct {
	// trusted has the networks whose hosts may connect. The first that contains an address counts.
	trusted atomic.Pointer[[]Network]
	Owners  Owners
	Users   Users
	// Setting is the name of the list of trusted networks, for remedies.
	Setting string
}

// NewManagerPolicy returns the policy with this machine's users and sockets.
func NewManagerPolicy(trusted []Network) *ManagerPolicy {
	p := &ManagerPolicy{Owners: NewKernelOwners(), Users: SystemUsers{}, Setting: "auth.trusted_networks"}
	p.SetTrusted(trusted)
	return p
}

// SetTrusted sets the trusted networks for new connections. Sessions that are logged in stay.
func (p *ManagerPolicy) SetTrusted(networks []Network) { p.trusted.Store(&networks) }

// Offer implements [Policy].
func (p *ManagerPolicy) Offer(peer Peer) ([]Mechanism, error) {
	mapping, trusted := p.trusts(peer.Remote.Addr())
	switch {
	case (peer.local() || trusted) && peer.App == copyApp:
		return []Mechanism{Host{}}, nil
	case peer.local():
		return []Mechanism{Unix{Owners: p.Owners, Users: p.Users}, Host{}}, nil
	case trusted && mapping == MapNobody:
		return []Mechanism{Host{}}, nil
	case trusted:
		return []Mechanism{Unix{Users: p.Users, Trusted: true, Own: mapping == MapOwn}, Host{}}, nil
	}
	host := peer.Remote.Addr().Unmap()
	return nil, errs.New(errs.Denied, "auth.Offer", host.String(),
		"clients of other machines cannot prove who they are to this server yet").
		WithRemedy("ask the admin of this server to add your network to " + p.Setting + ", for example " + example(host) + ", if every host in it may be believed")
}

// Anonymous implements [Policy]. This policy authenticates all peers that it serves.
func (p *ManagerPolicy) Anonymous(peer Peer) hemera.Identity { return nobody("", peer) }

// copyApp is the name that nodes use when they fetch the source of a third-party copy. They act for another user and log
// in as nobody.
const copyApp = "hemera-tpc"

// trusts returns the mapping of the trusted network that has the address.
func (p *ManagerPolicy) trusts(a netip.Addr) (Mapping, bool) {
	for _, network := range *p.trusted.Load() {
		if network.Contains(a.Unmap().WithZone("")) {
			return network.Map, true
		}
	}
	return "", false
}

// example returns the network around an address, with the size that people usually want.
func example(a netip.Addr) string {
	bits := 24
	if a.Is6() {
		bits = 64
	}
	network, err := a.Prefix(bits)
	if err != nil {
		return a.String()
	}
	return network.String()
}

// local reports whether the client is on this machine: it connected over loopback, or from the address to which it
// connected, which no other machine can have. A client in another network namespace has another address.
func (p Peer) local() bool {
	remote := p.Remote.Addr().Unmap()
	return remote.IsLoopback() || remote.IsValid() && remote == p.Local.Addr().Unmap()
}

// NodePolicy is the policy of a storage node's door: all peers may connect without a name, because an open needs a
// capability that the manager signed for one file and one use.
type NodePolicy struct{}

// Offer implements [Policy].
func (NodePolicy) Offer(Peer) ([]Mechanism, error) { return nil, nil }

// Anonymous implements [Policy].
func (NodePolicy) Anonymous(peer Peer) hemera.Identity { return nobody("", peer) }
