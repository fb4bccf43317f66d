package xrd

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"hemera/doors/xrd/transport"
	"hemera/rules/wire"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// Server is a door. It is safe for concurrent use.
type Server struct {
	o          Options
	operations [operationsCount]operation // by kind of request; made once
	started    time.Time                  // when the door was made; clients may query it

	pool     transport.Pool // buffers, chunks and pipes
	waits    sync.Pool      // of *slowAnswer
	clients  registry
	holds    holds
	restarts copyRestarts // without state; both roles use it

	// Memory about clients that may reconnect.
	reads      *readMemory
	lostWrites *writeMemory

	lastClosed atomic.Int64 // time of CloseIdle's last round, in Unix nanoseconds
}

// New makes a door. It fails with Invalid if an option is missing that the role needs.
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
		holds:      newHolds(),
	}
	s.clients = registry{conns: map[*conn]struct{}{}, sessions: map[wire.SessionID]*session{}, idle: make(chan struct{})}
	s.reads = &readMemory{clients: &s.clients}
	// An earlier door may have granted reads that are not in the history.
	if o.Manager == nil || !o.Manager.First {
		s.reads.history.Begin(s.started)
	}
	s.operations = s.assemble()
	return s, nil
}

// Serve accepts connections until ctx ends or the listener fails; the end of ctx is not an error. Connections stay open
// after that; see [Server.Shutdown].
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	s.o.Panics.Go(nil, "xrd.CloseSilent", "", func() { s.closeSilent(ctx) }) // parked connections have no deadline
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil { // accepted while ctx ended
				_ = c.Close()
			}
			return nil
		case err == nil:
			// Connections outlive ctx, so that current requests are answered. Shutdown ends them.
			s.o.Panics.Go(nil, "xrd.Serve", "", func() { s.ServeConn(context.WithoutCancel(ctx), c) })
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			var temporary interface{ Temporary() bool }
			// Such as too few file descriptors: it is better when connections end.
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

// pause waits. It returns false if ctx ended first.
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
// over. The first bytes of the connection may have been peeked at, if its Read still returns them.
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

// cutOffTime bounds the time that closed connections have to end their work.
const cutOffTime = time.Second

// Shutdown accepts no new connections, and closes each that has no current request and no open file. It closes the others
// when their last file is closed, or all when ctx ends. It returns when the last one has ended, with ctx's error if some
// were closed before. It does not wait for a connection that waits for a stalled disk.
func (s *Server) Shutdown(ctx context.Context) error {
	s.holds.end()
	defer s.pool.Close() // pipes in use are closed when they are returned
	idle := s.clients.shutdown()
	for {
		s.clients.closeConns((*conn).unused)
		select {
		case <-idle:
			return nil
		case <-ctx.Done():
			s.clients.closeConns(func(*conn) bool { return true })
			select { // a connection that remains waits for a stalled disk
			case <-idle:
			case <-time.After(cutOffTime):
			}
			return errs.Wrap(ctx.Err(), "xrd.Shutdown", "")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

const (
	// closeIdleMax bounds the connections that CloseIdle closes in one round, and closeIdleEvery is the shortest time
	// between two rounds, because each looks at all connections.
	closeIdleMax   = 32
	closeIdleEvery = 50 * time.Millisecond
	// silentMin is the time for which a client must have been silent before its connection may be closed for others.
	silentMin = time.Second
)

// CloseIdle makes room for other connections. It closes some that can be closed without loss: first those of clients that
// have not logged in, then those with the longest silence, whose clients connect again with their next request. It
// reports whether it closed any.
func (s *Server) CloseIdle() bool {
	now := time.Now()
	// Many callers may need room at once. One of them closes connections.
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

// HasSession reports whether the session with the name, as in opens, is connected.
func (s *Server) HasSession(name string) bool {
	var id wire.SessionID
	if hex.DecodedLen(len(name)) != len(id) {
		return false
	}
	_, err := hex.Decode(id[:], []byte(name))
	return err == nil && s.clients.session(id) != nil
}

// Sessions returns the sessions of the logged-in clients.
func (s *Server) Sessions() []adminapi.SessionInfo { return s.clients.infos() }

// endSession releases the resources of the session. Only its connection's goroutine calls it, after all asynchronous
// work.
func (s *Server) endSession(ss *session) {
	ss.streams.close()
	// Before the handles are released, and before kXR_endsess of the next session returns, because that session looks for
	// these records.
	s.lostWrites.add(ss)
	s.reads.addOpen(ss)
	ss.handles.abandonAll(&s.o)
	s.clients.removeSession(ss)
	close(ss.ended) // kXR_endsess waits for it
}
