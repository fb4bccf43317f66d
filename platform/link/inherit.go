package link

import (
	"net"
	"net/netip"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// firstInherited is the first descriptor that sd_listen_fds(3) hands down, inheritedMax how many are looked at.
	firstInherited = 3
	inheritedMax   = 64
)

// inherited is the listening socket for the address that the process was started with, nil for none. Who
// watches over the process (systemd and others: sd_listen_fds) holds it, so that while the process starts
// again clients wait in its queue instead of being refused: stock clients that are refused wait two minutes.
func (o Options) inherited(addr string) net.Listener {
	// The variables are for the process with this number: a child that inherits them must not use them.
	if os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil
	}
	n, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil {
		return nil
	}
	for fd := firstInherited; fd < firstInherited+min(n, inheritedMax); fd++ {
		if l := o.fromDescriptor(fd); l != nil {
			if listensOn(l.Addr(), addr) {
				return l
			}
			_ = l.Close()
		}
	}
	return nil
}

// fromDescriptor is a listener on a copy of the descriptor, nil if that is no listening TCP socket.
func (o Options) fromDescriptor(fd int) net.Listener {
	// A copy: the descriptor itself stays, so that the socket lives as long as the process does.
	copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(copied), "inherited")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil
	}
	t, ok := l.(*net.TCPListener)
	if !ok {
		_ = l.Close()
		return nil
	}
	unix.CloseOnExec(fd)
	if raw, err := t.SyscallConn(); err == nil {
		_ = o.control("", "", raw) // a socket without the options is better than none
	}
	return l
}

// listensOn reports whether a listener is the one for an address as [Listen] takes it.
// A host name does not match: a look-up here could block, and only addresses are certain.
func listensOn(at net.Addr, addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	have, err := netip.ParseAddrPort(at.String())
	if err != nil || strconv.Itoa(int(have.Port())) != port {
		return false
	}
	if host == "" {
		return have.Addr().IsUnspecified()
	}
	want, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	// 0.0.0.0 and :: both stand for all addresses.
	return want.Unmap() == have.Addr().Unmap() || want.IsUnspecified() && have.Addr().IsUnspecified()
}
