package xrd

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera/doors/xrd/reconnect"
	"hemera/doors/xrd/transport"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Server is a door. It is safe for concurrent use.
type Server struct {
	o          Options
	operations [operationsCount]operation // by kind of request; made once
	started    time.Time                  // when the door was made, as clients may ask

	pool     transport.Pool // buffers, chunks and pipes
	waits    sync.Pool      // of *slowAnswer
	clients  registry
	restarts copyRestarts // no state; both roles use it

	// What is remembered of clients that come back.
	reads      *readMemory
	lostWrites *writeMemory

	lastClosed atomic.Int64 // when CloseIdle last closed connections, in Unix nanoseconds
}

// New makes a door from its options. Invalid if a part that its role needs is missing.
func New(o Options) (*Server, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	s := &Server{
		o: o, started: time.Now(),
		waits:      sync.Pool{New: func() any { return new(slowAnswer) }},
		restarts:   copyRestarts{managerAddr: o.ManagerAddr},
		lostWrites: new(writeMemory),
	}
	s.clients = registry{conns: map[*conn]struct{}{}, sessions: map[wire.SessionID]*session{}, idle: make(chan struct{})}
	s.reads = &readMemory{clients: &s.clients}
	// A door before this one may have granted reads that nobody remembers.
	if o.Manager == nil || !o.Manager.First {
		s.reads.history.Begin(s.started)
	}
	s.operations = s.assemble()
	return s, nil
}

// Serve accepts connections until ctx ends or the listener fails; the former is not an error. Connections go on after
// that: see [Server.Shutdown].
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	s.o.Panics.Go(nil, "xrd.CloseSilent", "", func() { s.closeSilent(ctx) }) // parked connections have no deadline of their own
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil { // accepted while ctx ended
				_ = c.Close()
			}
			return nil
		case err == nil:
			// Connections outlive ctx, so that a request under way is answered: Shutdown ends them.
			s.o.Panics.Go(nil, "xrd.Serve", "", func() { s.ServeConn(context.WithoutCancel(ctx), c) })
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			var temporary interface{ Temporary() bool }
			// Out of file descriptors, for example: it gets better when connections end.
			if !errors.As(err, &temporary) || !temporary.Temporary() {
				return errs.Wrap(err, "xrd.Serve", l.Addr().String())
			}
			s.o.Log.Warn("accept failed", "error", err)
			if !pause(ctx, 100*time.Millisecond) {
				return nil
			}
		}
	}
}

// pause waits; false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// closeSilent closes parked connections whose clients have been silent for too long, until ctx ends.
func (s *Server) closeSilent(ctx context.Context) {
	for pause(ctx, min(s.o.Limits.IdleTimeout/16, s.o.Limits.LoginTimeout/2)) {
		now := time.Now()
		s.o.Panics.Run("xrd.CloseSilent", "", func() { s.clients.closeConns(func(c *conn) bool { return c.expired(now) }) })
	}
}

// ServeConn serves one connection and closes it. It returns when the connection has ended, or when the loop has taken it
// over. The connection may be one whose first bytes were peeked at, as long as its Read still returns them.
func (s *Server) ServeConn(ctx context.Context, nc net.Conn) {
	if s.o.Loop != nil {
		adopted, err := s.o.Loop.Adopt(nc)
		if err != nil {
			s.o.Log.Warn("cannot serve a connection", "remote", nc.RemoteAddr().String(), "error", err)
			return
		}
		nc = adopted
	}
	c := newConn(ctx, s, nc)
	if !s.clients.addConn(c, s.o.Limits.Connections) { // too many, or shut down
		c.end()
		return
	}
	c.serve()
}

// cutOffTime is how long connections that were cut off may take to end what they were doing.
const cutOffTime = time.Second

// Shutdown accepts no new connections, and closes each that has no request under way and no file open. It closes the
// others when their last file is closed, or all when ctx ends. It returns when the last one is gone, with ctx's error if
// some had to be cut off. A connection that waits for a stalled disk is left behind.
func (s *Server) Shutdown(ctx context.Context) error {
	defer s.pool.Close() // pipes in use are closed when they are given back
	idle := s.clients.shutdown()
	for {
		s.clients.closeConns((*conn).unused)
		select {
		case <-idle:
			return nil
		case <-ctx.Done():
			s.clients.closeConns(func(*conn) bool { return true })
			select { // what is still not gone waits for a stalled disk
			case <-idle:
			case <-time.After(cutOffTime):
			}
			return errs.Wrap(ctx.Err(), "xrd.Shutdown", "")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

const (
	// closeIdleMax is how many connections CloseIdle closes at once, and closeIdleEvery the shortest time between two
	// such rounds: each looks at all connections.
	closeIdleMax   = 32
	closeIdleEvery = 50 * time.Millisecond
	// silentMin is how long a client must have been silent before its connection can be closed for others.
	silentMin = time.Second
)

// CloseIdle makes room for other connections. It closes some on which nothing is lost: first those of clients that have
// not logged in, then those that have been silent for longest. Clients of the latter connect again when they have
// something to ask. It reports whether it closed any.
func (s *Server) CloseIdle() bool {
	now := time.Now()
	// Many callers may find at once that there is no room. One of them looks.
	last := s.lastClosed.Load()
	if now.UnixNano()-last < int64(closeIdleEvery) || !s.lastClosed.CompareAndSwap(last, now.UnixNano()) {
		return false
	}
	spare := s.clients.silent(now)
	spare = spare[:min(len(spare), closeIdleMax)]
	for _, c := range spare {
		_ = c.nc.Close()
	}
	return len(spare) > 0
}

// HasSession reports whether the session of that name, as opens give it, is connected.
func (s *Server) HasSession(name string) bool {
	var id wire.SessionID
	if hex.DecodedLen(len(name)) != len(id) {
		return false
	}
	_, err := hex.Decode(id[:], []byte(name))
	return err == nil && s.clients.session(id) != nil
}

// Sessions lists the logged-in clients.
func (s *Server) Sessions() []hemera.SessionInfo { return s.clients.infos() }

// registry is the connections and sessions of a server. It is safe for concurrent use.
//
// The registry is what is known of clients over all connections. It is asked by admins, by other sessions and by Shutdown,
// never on the way of a read or write.
type registry struct {
	mu       sync.Mutex
	down     bool // no connection is added any more
	conns    map[*conn]struct{}
	sessions map[wire.SessionID]*session
	idle     chan struct{} // closed when down and the last connection ended
}

// addConn reports whether the connection may be served.
func (g *registry) addConn(c *conn, max int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down || len(g.conns) >= max {
		return false
	}
	g.conns[c] = struct{}{}
	return true
}

// removeConn forgets a connection that has ended, and tells Shutdown of the last one.
func (g *registry) removeConn(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
	if g.down && len(g.conns) == 0 {
		close(g.idle)
	}
}

// shutdown adds no more connections. The channel that it returns is closed when the last one has ended.
func (g *registry) shutdown() (idle <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.down {
		g.down = true
		if len(g.conns) == 0 {
			close(g.idle)
		}
	}
	return g.idle
}

// closeConns closes each connection that which selects. It calls which with mu held.
func (g *registry) closeConns(which func(*conn) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		if which(c) {
			_ = c.nc.Close()
		}
	}
}

// silent lists the connections that nothing is lost on and whose clients have been silent for a while. Those without a
// login come first, then those that have been silent for longest.
func (g *registry) silent(now time.Time) []*conn {
	type idleConn struct {
		conn  *conn
		since int64 // Unix nanoseconds; below zero without a login
	}
	var list []idleConn
	g.mu.Lock()
	for c := range g.conns {
		if since, loggedIn := c.silentSince(); c.unused() && now.UnixNano()-since > int64(silentMin) {
			if !loggedIn {
				since -= now.UnixNano()
			}
			list = append(list, idleConn{c, since})
		}
	}
	g.mu.Unlock()
	slices.SortFunc(list, func(a, b idleConn) int { return cmp.Compare(a.since, b.since) })
	conns := make([]*conn, len(list))
	for i := range list {
		conns[i] = list[i].conn
	}
	return conns
}

// addSession makes a session findable by its id.
func (g *registry) addSession(ss *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sessions[ss.id] = ss
}

func (g *registry) removeSession(ss *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sessions, ss.id)
}

// session returns the connected session with the id, or nil.
func (g *registry) session(id wire.SessionID) *session {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sessions[id]
}

// infos lists the sessions for admins.
func (g *registry) infos() []hemera.SessionInfo {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]hemera.SessionInfo, 0, len(g.sessions))
	for _, ss := range g.sessions {
		list = append(list, ss.info())
	}
	return list
}

// siblings lists the sessions of processes that differ from this one at most by their number.
func (g *registry) siblings(of reconnect.Process) (list []*session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, ss := range g.sessions {
		if ss.process().IsSibling(of) {
			list = append(list, ss)
		}
	}
	return list
}

// counts returns how many connections and sessions there are.
func (g *registry) counts() (conns, sessions int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.conns), len(g.sessions)
}
