package link

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// Options are the socket options of every connection, accepted or dialled. The zero value finds no dead peer; see
// [DefaultOptions].
type Options struct {
	// UserTimeout is how long sent data may stay unacknowledged before the kernel ends the connection (TCP_USER_TIMEOUT,
	// tcp(7)), in whole milliseconds; it also bounds keep-alive. Zero leaves the kernel's rule, which is some fifteen minutes.
	UserTimeout time.Duration
	// KeepIdle and KeepInterval are when an idle connection is probed first, and again. They are whole seconds. Three probes
	// without an answer end the connection. No keep-alive if KeepIdle is 0.
	KeepIdle, KeepInterval time.Duration
	// Permit is called before each connection that is dialled, with the address that its name resolved to. Its error is
	// Dial's. A check of the name before would not do: the name may resolve differently the next time. Nil permits all.
	Permit func(ctx context.Context, to netip.AddrPort) error
}

// DefaultOptions returns options that find a dead peer within half a minute, also on an idle connection: 15 s until the
// first probe, and three probes 5 s apart.
func DefaultOptions() Options {
	return Options{UserTimeout: 30 * time.Second, KeepIdle: 15 * time.Second, KeepInterval: 5 * time.Second}
}

// Listen listens on a TCP address ("host:port"; port 0 chooses one). Accepted connections are *net.TCPConn with the options
// set. If the process was started with a socket for the address, Listen uses that one (sd_listen_fds). Listen fails with
// Exists if the address is in use, and with Denied below port 1024 without the privilege.
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

// Dial connects to a TCP address with the options set. It blocks until ctx ends; it has no limit of its own. It fails with
// Unavailable or Timeout, and the caller may retry. An error of Permit keeps its kind.
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
		if kind == errs.Internal { // an error of the resolver, for example, has no kind of its own
			kind = errs.Unavailable
		}
		return nil, errs.As(err, kind, "link.Dial", addr)
	}
	return conn, nil
}

// keepAlive returns the options of keep-alive in package net's form. Count times KeepInterval is how long a dead peer is
// probed.
func (o Options) keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: o.KeepIdle > 0, Idle: o.KeepIdle, Interval: o.KeepInterval, Count: 3}
}

// control sets what package net has no option for. On Linux accepted sockets inherit it from the listener, which saves a
// system call for each connection. TCP_NODELAY is package net's default.
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
