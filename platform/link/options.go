package link

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hemera/errs"
)

// Options are the socket options of every connection, accepted or dialled. The zero value is not
// useful; see [DefaultOptions].
type Options struct {
	// UserTimeout is how long sent data may stay unacknowledged before the kernel gives the
	// connection up (TCP_USER_TIMEOUT); it also bounds keep-alive. Zero leaves the kernel's rule,
	// which is some fifteen minutes.
	UserTimeout time.Duration
	// KeepIdle and KeepInterval are when an idle connection is probed first, and again.
	KeepIdle, KeepInterval time.Duration
	// Permit is asked before each connection that is dialled, with the address that its name turned out to
	// have; its error is Dial's. Nil permits all.
	Permit func(ctx context.Context, to netip.AddrPort) error
}

// DefaultOptions find a dead peer within half a minute, also on an idle connection.
func DefaultOptions() Options {
	return Options{UserTimeout: 30 * time.Second, KeepIdle: 15 * time.Second, KeepInterval: 5 * time.Second}
}

// Listen listens on a TCP address ("host:port"; port 0 chooses one). Accepted connections are
// *net.TCPConn with the options set. A socket for the address that the process was started with is used
// (sd_listen_fds). Exists when the address is in use; Denied below port 1024
// without the privilege.
// A socket that was handed down gets the options as well, as far as it takes them.
func Listen(ctx context.Context, addr string, o Options) (net.Listener, error) {
	if l := o.inherited(addr); l != nil {
		return l, nil
	}
	c := net.ListenConfig{Control: o.control, KeepAliveConfig: o.keepAlive()}
	l, err := c.Listen(ctx, "tcp", addr)
	if err == nil {
		return l, nil
	}
	kind, remedy := errs.KindOf(err), "check that the address belongs to this machine"
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		kind, remedy = errs.Exists, "stop the other process on this port, or choose another port"
	case errors.Is(err, unix.EACCES):
		remedy = "choose a port above 1023, or give the process CAP_NET_BIND_SERVICE"
	}
	return nil, &errs.Error{Kind: kind, Op: "link.Listen", Subject: addr, Cause: err, Remedy: remedy}
}

// Dial connects to a TCP address with the options set. Unavailable or Timeout; the caller may retry. An error of
// Permit keeps its kind.
// A name with several addresses is tried in the order of package net, and Permit is asked for each.
func Dial(ctx context.Context, addr string, o Options) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: o.keepAlive(), ControlContext: func(ctx context.Context, network, address string, c syscall.RawConn) error {
		if o.Permit != nil {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return errs.As(err, errs.Internal, "link.Dial", address)
			}
			if err := o.Permit(ctx, to); err != nil {
				return err
			}
		}
		return o.control(network, address, c)
	}}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		kind := errs.KindOf(err)
		// Errors of the network have no kind of their own, and another attempt may succeed.
		if kind == errs.Internal {
			kind = errs.Unavailable
		}
		return nil, errs.As(err, kind, "link.Dial", addr)
	}
	return conn, nil
}

// keepAlive returns the probes of an idle connection. The peer is dead after three without an answer.
func (o Options) keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: o.KeepIdle > 0, Idle: o.KeepIdle, Interval: o.KeepInterval, Count: 3}
}

// control sets what package net has no word for. Accepted sockets inherit it from the listener.
// TCP_NODELAY is package net's default.
func (o Options) control(_, _ string, c syscall.RawConn) error {
	if o.UserTimeout <= 0 {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(o.UserTimeout.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
