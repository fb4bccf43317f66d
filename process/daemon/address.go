package daemon

import (
	"context"
	"net"
	"net/netip"
	"time"

	"hemera/words/errs"
)

// resolveTime bounds the look-up of a manager's name when a node determines its own address.
const resolveTime = 5 * time.Second

// advertised returns the address by which others reach a process: the admin's choice (wish), else the listener's own. If
// the process listens on all addresses, it is the address of this machine on the route to toward; "" means the default
// route. ctx bounds the look-up of toward, which may be a name. The result is host:port; the host is a name only if the
// admin chose one.
func advertised(ctx context.Context, wish string, l net.Listener, toward string) string {
	host, port, _ := net.SplitHostPort(l.Addr().String())
	// The wish is not checked: it may be the address of a translating router, which this machine does not have.
	if wish != "" {
		// A wish with a port is final; one without gets the listener's port.
		if _, _, err := net.SplitHostPort(wish); err == nil {
			return wish
		}
		return net.JoinHostPort(wish, port)
	}
	if listensEverywhere(l) {
		host = outward(ctx, toward)
	}
	return net.JoinHostPort(host, port)
}

// listensEverywhere reports whether a listener accepts connections to any address of the machine.
func listensEverywhere(l net.Listener) bool {
	host, _, _ := net.SplitHostPort(l.Addr().String())
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsUnspecified()
}

// outward returns the address of this machine that others see: the source address of a packet to toward, else of one by
// the default route, else that of the first interface that others can reach, else loopback. It sends nothing: connecting
// a UDP socket only looks up the route.
func outward(ctx context.Context, toward string) string {
	targets := []string{"192.0.2.1:9", "[2001:db8::1]:9"} // reserved for documentation, so only a default route leads there
	if toward != "" {
		targets = append([]string{toward}, targets...)
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	for _, target := range targets {
		conn, err := new(net.Dialer).DialContext(ctx, "udp", target)
		if err != nil {
			continue
		}
		local := conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr()
		_ = conn.Close()
		return local.Unmap().String()
	}
	addrs, _ := net.InterfaceAddrs()
	return reachable(addrs)
}

// reachable returns the first address that other machines can use, or loopback. It skips link-local addresses, which mean
// nothing without the interface. With loopback a machine without a network can run a cluster.
func reachable(addrs []net.Addr) string {
	for _, a := range addrs {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().IsGlobalUnicast() {
			return prefix.Addr().String()
		}
	}
	return "127.0.0.1"
}

// checkReach fails with Invalid if the node's address is loopback and its manager's is not: the manager would send
// clients to their own machines. manager is empty if it is in the same process. A manager's name counts as another
// machine, except localhost.
func checkReach(addr, manager string) error {
	if !isLoopback(addr) || manager == "" || isLoopback(manager) {
		return nil
	}
	return errs.New(errs.Invalid, "daemon.OpenNode", addr, "the manager is at "+manager+", and clients that it sends to this address find their own machine there").
		WithRemedy("name an address of this machine that they can reach with --listen, or with --advertise")
}

// isLoopback reports whether only processes of this machine can reach the address.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
