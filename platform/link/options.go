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

// Options has the socket options of every connection, accepted or dialled. The zero value finds no dead peer; see
// [DefaultOptions].
type Options struct {
	// UserTimeout is the time for which sent data may stay unacknowledged before the kernel ends the connection
	// (TCP_USER_TIMEOUT, tcp(7)), in whole milliseconds; it also bounds keep-alive. Zero keeps the kernel's rule of about
	// fifteen minutes.
	UserTimeout time.Duration
	// KeepIdle is the time after which an idle connection is probed, KeepInterval the time between probes. They are whole
	// seconds. Three probes without an answer end the connection. If KeepIdle is 0 there is no keep-alive.
	KeepIdle, KeepInterval time.Duration
	// Permit is called before each connection that is dialled, with the address to which its name resolved. Dial returns
	// its error. Checking the name earlier is not enough: it may resolve differently the next time. Nil permits all.
	Permit func(ctx context.Context, to netip.AddrPort) error
}

// DefaultOptions returns options that find a dead peer within half a minute, also on an idle connection: 15 s until the
// first probe, and three probes 5 s apart.
func DefaultOptions() Options {
	return Options{UserTimeout: 30 * time.Second, KeepIdle: 15 * time.Second, KeepInterval: 5 * time.Second}
}

// Listen listens on a TCP address ("host:port"; port 0 chooses one). Accepted connections are *net.TCPConn with the
// options set. If the process was started with a socket for the address, Listen uses that one (sd_listen_fds). It fails
// with Exists if the address is in use, and with Denied for ports below 1024 without the privilege.
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

// Dial connects to a TCP address with the options set. It blocks until ctx ends; it has no other time limit. It fails
// with Unavailable or Timeout, and the caller may retry. An error of Permit keeps its kind.
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
		if kind == errs.Internal { // for example an error of the resolver, which has no kind of its own
			kind = errs.Unavailable
		}
		return nil, errs.As(err, kind, "link.Dial", addr)
	}
	return conn, nil
}

// keepAlive returns the options of keep-alive in package net's form. A dead peer is probed for Count times KeepInterval.
func (o Options) keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: o.KeepIdle > 0, Idle: o.KeepIdle, Interval: o.KeepInterval, Count: 3}
}

// control sets the options that package net lacks. On Linux accepted sockets inherit them from the listener, which saves
// a system call for each connection. TCP_NODELAY is package net's default.
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
