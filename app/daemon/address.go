package daemon

import (
	"context"
	"net"
	"net/netip"
	"time"

	"hemera/errs"
)

// resolveTime bounds the look-up of a manager's name when a node works out its own address.
const resolveTime = 5 * time.Second

// advertised is the address others reach a process by: the one wished, else the listener's own. A
// process that listens on all addresses gives the one its machine talks to toward from; toward may be
// empty, which means everybody.
func advertised(ctx context.Context, wish string, l net.Listener, toward string) string {
	host, port, _ := net.SplitHostPort(l.Addr().String())
	if wish != "" {
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

// listensEverywhere reports whether a listener takes what comes to any address of the machine.
func listensEverywhere(l net.Listener) bool {
	host, _, _ := net.SplitHostPort(l.Addr().String())
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsUnspecified()
}

// outward is the address this machine has for those who talk to it: the source of what it would send
// to toward; without one, of what it would send by its default route; else the first of its interfaces
// that others can reach; else loopback. Nothing is sent.
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

// reachable is the first address that other machines can use, or loopback.
func reachable(addrs []net.Addr) string {
	for _, a := range addrs {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().IsGlobalUnicast() {
			return prefix.Addr().String()
		}
	}
	return "127.0.0.1"
}

// checkReach refuses a node that would have clients sent to their own machines: its address is
// loopback and its manager's is not; a manager in the same process has none here.
func checkReach(addr, manager string) error {
	if !isLoopback(addr) || manager == "" || isLoopback(manager) {
		return nil
	}
	return errs.New(errs.Invalid, "daemon.OpenNode", addr, "the manager is at "+manager+", and clients that it sends to this address find their own machine there").
		WithRemedy("name an address of this machine that they can reach with --listen, or with --advertise")
}

func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
