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
	// A door before this one may have granted reads that are not remembered.
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

// endSession releases what the session holds. Only its connection's goroutine calls it, after all asynchronous work.
func (s *Server) endSession(ss *session) {
	ss.streams.close()
	// Before the handles are gone, and before kXR_endsess of the next session returns: what is remembered here is what
	// that one looks for.
	s.lostWrites.add(ss)
	s.reads.addOpen(ss)
	ss.handles.abandonAll(&s.o)
	s.clients.removeSession(ss)
	close(ss.ended) // kXR_endsess waits for it
}
