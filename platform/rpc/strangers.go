package rpc

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"hemera/rules/limits"
	"hemera/words/errs"
)

// Bounds of the control port for a client that has presented no certificate: it can only join.
const (
	// streamsMax is the number of calls that one connection may have under way.
	streamsMax = 256
	// strangersMax is the number of connections without a certificate, strangersShare the number of them from one
	// address. If there is one more, the oldest of them is closed. They include those of nodes until their first request.
	strangersMax, strangersShare = 256, 32
	// strangerTime is the longest life of such a connection.
	strangerTime = 30 * time.Second
	// joinsMax is the number of requests to join under way, joinsShare the number of them from one address; joinTime is
	// the time that one may take to arrive.
	joinsMax, joinsShare = 16, 4
	joinTime             = 10 * time.Second
)

// beginJoin counts a request to join, before its body is read. It fails with Overloaded beyond the bounds.
func (s *server) beginJoin(w http.ResponseWriter, r *http.Request) (done func(), err error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(joinTime))
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	account := s.joins.Open(limits.AddressKey(from.Addr()))
	if verdict := account.Take(1); verdict != limits.Fits {
		account.Close()
		turnedAway(w)
		return nil, errs.New(errs.Overloaded, "rpc.Join", r.RemoteAddr, "too many nodes are joining: "+verdict.String()).
			WithRemedy("try again in some seconds")
	}
	return func() {
		account.Give(1)
		account.Close()
	}, nil
}

// turnedAway prevents the server from waiting for the body of a refused request.
func turnedAway(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Second))
}

// Strangers wraps the listener of a control port. It limits the number and the life of connections without a client
// certificate, so that they cannot keep nodes out. The server must be one of [NewHTTPServer].
func Strangers(l net.Listener) net.Listener {
	return &strangers{Listener: l, by: map[netip.Addr]*list.List{}, all: list.New()}
}

// strangers is the listener returned by [Strangers].
type strangers struct {
	net.Listener // of raw connections

	mu  sync.Mutex // guards these, and places of strangers
	all *list.List // of *stranger, oldest first
	by  map[netip.Addr]*list.List
}

// stranger is a connection whose client may not have presented a certificate yet.
type stranger struct {
	net.Conn
	of      *strangers
	from    netip.Addr
	timer   *time.Timer
	inAll   *list.Element // nil once the client is known, or the connection closed
	inShare *list.Element
}

// Accept implements net.Listener.
func (s *strangers) Accept() (net.Conn, error) {
	conn, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	from, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
	c := &stranger{Conn: conn, of: s, from: limits.AddressKey(from.Addr())}
	s.mu.Lock()
	share := s.by[c.from]
	if share == nil {
		share = list.New()
		s.by[c.from] = share
	}
	var oldest *stranger
	switch {
	case share.Len() >= strangersShare:
		oldest = share.Front().Value.(*stranger)
	case s.all.Len() >= strangersMax:
		oldest = s.all.Front().Value.(*stranger)
	}
	c.inAll, c.inShare = s.all.PushBack(c), share.PushBack(c)
	c.timer = time.AfterFunc(strangerTime, func() { _ = c.Close() })
	s.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	return c, nil
}

// Close implements net.Conn.
func (c *stranger) Close() error {
	c.known()
	return c.Conn.Close()
}

// known ends the bounds: the client has presented its certificate, or the connection is closed.
func (c *stranger) known() {
	s := c.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.inAll == nil {
		return
	}
	c.timer.Stop()
	s.all.Remove(c.inAll)
	share := s.by[c.from]
	share.Remove(c.inShare)
	if share.Len() == 0 {
		delete(s.by, c.from)
	}
	c.inAll, c.inShare = nil, nil
}

// strangerKey is the context key of a connection without a client certificate.
type strangerKey struct{}

// withStranger adds its connection to the context of requests.
func withStranger(ctx context.Context, conn net.Conn) context.Context {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if c, ok := conn.(*stranger); ok {
		return context.WithValue(ctx, strangerKey{}, c)
	}
	return ctx
}

// introduce ends the bounds on the connection of a request: its client is a node.
func introduce(ctx context.Context) {
	if c, ok := ctx.Value(strangerKey{}).(*stranger); ok {
		c.known()
	}
}
