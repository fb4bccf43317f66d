package observe

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"hemera/measure/doctor"
	"hemera/words/errs"
)

// Cluster has the address of a machine's cluster and the parameters of its test.
type Cluster struct {
	Address string // HOST:PORT of its manager
	// Version asks for the manager's version; nil uses that in /healthz.
	Version func(context.Context) (string, error)
	For     time.Duration // duration of the packet test
}

// probe asks the cluster for its version, and exchanges small requests with it: for round trip, clock and losses.
func (c *Cluster) probe(ctx context.Context) *doctor.Cluster {
	// The deadline is beyond what a path with many losses needs.
	d := &doctor.Cluster{Address: c.Address}
	// Whatever the network does, the whole ends within two minutes.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second+2*c.For)
	defer cancel()
	if err := c.exchange(ctx, d); err != nil {
		d.Failed = unreached(err)
		return d
	}
	if c.Version == nil {
		return d
	}
	if version, err := c.Version(ctx); err == nil { // for known users only; strangers can reach the cluster too
		d.Version = version
	}
	return d
}

// unreached returns the reason why there was no answer, for people.
func unreached(err error) string {
	// The inner error has the words of the system, without addresses.
	var op *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer in time"
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return errs.Reason(err, "")
}

// exchange sends requests over one connection until the time is over, and reads its counters.
func (c *Cluster) exchange(ctx context.Context, d *doctor.Cluster) error {
	// A refused connection is an answer of the machine and comes at once; a dropped one ends with the deadline.
	began := time.Now()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	d.Trip = time.Since(began) // a handshake is one round trip
	// The interface gives the MTU and the speed of the path.
	d.Link = linkOf(conn.LocalAddr())
	// One connection for all requests: its counters are those of the test.
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }, MaxConnsPerHost: 1}
	defer transport.CloseIdleConnections()
	for end := time.Now().Add(c.For); time.Now().Before(end); {
		if err := c.request(ctx, transport, d); err != nil {
			return err
		}
	}
	return counters(conn, d)
}

// request makes one request: its time bounds the round trip, and its date shows the clock.
func (c *Cluster) request(ctx context.Context, via http.RoundTripper, d *doctor.Cluster) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.Address+"/healthz", nil)
	if err != nil {
		return err
	}
	began := time.Now()
	answer, err := via.RoundTrip(r)
	if err != nil {
		return err
	}
	// The body must be read, or the connection is not reused.
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return err
	}
	d.Version = versionIn(string(text))
	// The smallest is that of the path; larger ones had to wait.
	took := time.Since(began)
	d.Trip = min(d.Trip, took)
	// A server without a clock sends no date.
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		d.Skew, d.SkewBy = skew(date, began, took)
	}
	return nil
}

// skew returns how much another clock is ahead, and the error bound. The date is cut to a second, and is of any moment of
// the request.
func skew(date, began time.Time, took time.Duration) (ahead, by time.Duration) {
	// The date is the begin of a second, so the middle of the second is the best estimate.
	const second = time.Second
	return date.Add(second / 2).Sub(began.Add(took / 2)), second/2 + took/2
}

// counters reads the TCP counters of a connection.
func counters(conn net.Conn, d *doctor.Cluster) error {
	t, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	// The connection stays with the runtime: the descriptor is only read.
	raw, err := t.SyscallConn()
	if err != nil {
		return err
	}
	var info *unix.TCPInfo
	var cause error
	err = raw.Control(func(fd uintptr) { info, cause = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if err = errors.Join(err, cause); err != nil {
		return err
	}
	// Retransmissions of this side, and packets that arrived after a gap: losses of both directions.
	d.Packets, d.Lost, d.PathMTU = uint64(info.Segs_out)+uint64(info.Segs_in), uint64(info.Total_retrans)+uint64(info.Rcv_ooopack), int(info.Pmtu)
	return nil
}

// linkOf returns the interface with the address, or "".
func linkOf(at net.Addr) string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok {
		return ""
	}
	// The address of this end of the connection, which the routes have chosen.
	all, err := net.Interfaces()
	if err != nil {
		return ""
	}
	for _, i := range all {
		addresses, _ := i.Addrs() // an interface that disappeared has none
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(tcp.IP) {
				return i.Name
			}
		}
	}
	return ""
}
