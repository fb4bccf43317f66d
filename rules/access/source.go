package access

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Sources is the rule of where third-party copies may read from. A node connects to a source from its own
// address and its own machine, where it may reach what the asking user cannot: so it goes to the cluster's
// own doors and to networks that an administrator named, and to nothing else.
type Sources struct {
	// Allow are networks whose hosts may be sources. Loopback and link-local addresses are only
	// in them if a network names nothing else: 127.0.0.0/8 does, 0.0.0.0/0 does not.
	Allow []netip.Prefix
	// Never are addresses, host:port, that are no source although their network is allowed.
	Never []string
}

// Source is a server that a copy would read from.
type Source struct {
	Name string         // host:port as somebody named it
	Addr netip.AddrPort // where that is
	From string         // host:port of the node's door that would connect
}

// Decide says whether a copy may read from the source. The doors are those of the cluster, host:port.
func (r Sources) Decide(s Source, doors []string) Decision {
	addr := netip.AddrPortFrom(s.Addr.Addr().Unmap().WithZone(""), s.Addr.Port())
	if !addr.IsValid() || addr.Port() == 0 {
		return Decision{false, "its address is not known"}
	}
	for _, door := range doors {
		if s.at(addr, door) {
			return Decision{true, "it is a door of this cluster"}
		}
	}
	for _, never := range r.Never {
		if s.at(addr, never) {
			return Decision{false, addr.String() + " is for admins"}
		}
	}
	ip := addr.Addr()
	special := inner(ip)
	for _, network := range r.Allow {
		if network.Contains(ip) && (!special || inner(network.Masked().Addr()) && network.Bits() >= innerBits(ip)) {
			return Decision{true, "it is in " + network.String()}
		}
	}
	if special {
		return Decision{false, ip.String() + " is an address within one machine or one link, and no door of this cluster"}
	}
	return Decision{false, ip.String() + " is in no network that copies may read from"}
}

// at reports whether a source is the address host:port. A loopback address is the connecting node's own
// machine; so is every address that says "all of this machine's".
func (s Source) at(addr netip.AddrPort, known string) bool {
	if strings.EqualFold(s.Name, known) {
		return true
	}
	host, port, err := net.SplitHostPort(known)
	if err != nil || port != strconv.Itoa(int(addr.Port())) {
		return false
	}
	from, _, _ := net.SplitHostPort(s.From)
	if addr.Addr().IsLoopback() && (strings.EqualFold(host, from) || within(host)) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().WithZone("") == addr.Addr()
}

// within reports whether a host is reached from its own machine alone, or by each of its addresses.
func within(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// inner are addresses that mean something else on each machine or link, or no single machine.
func inner(ip netip.Addr) bool {
	return ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified()
}

// innerBits is the length that a network has at least which names nothing but loopback, or link-local,
// addresses. Multicast and unspecified ones are in none.
func innerBits(ip netip.Addr) int {
	switch {
	case ip.IsLoopback() && ip.Is4():
		return 8
	case ip.IsLoopback():
		return 128
	case ip.IsLinkLocalUnicast() && ip.Is4():
		return 16
	case ip.IsLinkLocalUnicast():
		return 10
	}
	return 129
}
