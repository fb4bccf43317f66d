package netstat

import (
	"net"
	"net/netip"
)

// Addresses returns the addresses of this machine by which other machines reach it. Loopback and link-local ones are left
// out, as every machine has them. If the process may not list them, the result is empty.
func Addresses() []netip.Addr {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var own []netip.Addr
	for _, a := range list {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		if address := peerKey(prefix.Addr()); !address.IsLoopback() && !address.IsLinkLocalUnicast() {
			own = append(own, address)
		}
	}
	return own
}
