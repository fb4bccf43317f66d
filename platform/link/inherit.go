package link

import (
	"net"
	"net/netip"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// firstInherited is the first descriptor of sd_listen_fds(3) (SD_LISTEN_FDS_START): 0 to 2 are the standard streams.
	firstInherited = 3
	// inheritedMax bounds the number of descriptors that are checked, whatever LISTEN_FDS says.
	inheritedMax = 64
)

// inherited returns the listening socket that the process was started with for the address, or nil. The supervisor of the
// process (systemd and others: sd_listen_fds) holds it open. So clients wait in its queue while the process restarts, and
// are not refused: after a refusal a stock client waits two minutes.
//
// The two variables stay set: a process listens on several addresses and looks for each. LISTEN_PID keeps its children
// from using the descriptors.
func (o Options) inherited(addr string) net.Listener {
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
			_ = l.Close() // only the copy: another Listen may want the descriptor
		}
	}
	return nil
}

// fromDescriptor returns a listener on a copy of the descriptor, or nil if that is not a listening TCP socket. The
// descriptor itself stays open and is not passed to child processes.
func (o Options) fromDescriptor(fd int) net.Listener {
	copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(copied), "inherited")
	defer f.Close() // FileListener makes its own copy
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

// listensOn reports whether a listener has the address that was passed to [Listen]. All unspecified addresses count as
// one, and so do an IPv4 address and its form in IPv6. A host name matches nothing: resolving it could block.
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
	return want.Unmap() == have.Addr().Unmap() || want.IsUnspecified() && have.Addr().IsUnspecified()
}
