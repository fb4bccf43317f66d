package access

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Sources decides from where third-party copies may read. A node connects to a source from its own address and its own
// machine, and may reach there what the user cannot reach. So it connects only to the doors of the cluster and to
// networks that an admin named.
type Sources struct {
	// Allow lists networks whose hosts may be sources. Loopback and link-local addresses are included only if a network
	// has no others: 127.0.0.0/8 includes them, 0.0.0.0/0 does not.
	Allow []netip.Prefix
	// Never lists addresses, host:port, that are refused even if their network is allowed.
	Never []string
}

// Source is a server that a copy would read from.
type Source struct {
	Name string         // host:port as the request names it
	Addr netip.AddrPort // its address
	From string         // host:port of the node's door that would connect
}

// Decide decides whether a copy may read from the source. The doors are those of the cluster, as host:port.
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

// at reports whether a source has the address host:port. A loopback address is the connecting node's own machine, and so
// is each unspecified address (0.0.0.0, ::).
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

// within reports whether the host is a loopback name or address, or an unspecified address.
func within(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// inner reports whether the address means something else on each machine or link, or no single machine.
func inner(ip netip.Addr) bool {
	return ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified()
}

// innerBits returns the smallest length of a prefix that has only loopback, or only link-local, addresses. For multicast
// and unspecified addresses it returns more than any prefix has.
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
