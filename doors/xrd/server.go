package xrd

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/doors/xrd/transport"
	"hemera/errs"
	"hemera/rules/wire"
)

// Server is a door. It is safe for concurrent use.
type Server struct {
	o       Options
	ops     [wire.ReqClone - wire.ReqAuth + 1]operation
	started time.Time

	pool       transport.Pool
	waits      sync.Pool // of *wait
	rendezvous rendezvous
	prepares   prepares
	readers    readers
	unfinished unfinished
	overtaken  atomic.Int32 // goroutines left behind in writes that hang
	relieved   atomic.Int64 // when connections were last closed to make room, in Unix nanoseconds

	mu       sync.Mutex
	down     bool
	conns    map[*conn]struct{}
	sessions map[wire.SessionID]*session
	idle     chan struct{} // closed when down and the last connection ended
}

// New makes a door from its options. Invalid when a part its role needs is missing.
func New(o Options) (*Server, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	s := &Server{
		o: o, started: time.Now(),
		conns: map[*conn]struct{}{}, sessions: map[wire.SessionID]*session{}, idle: make(chan struct{}),
		waits: sync.Pool{New: func() any { return new(wait) }},
	}
	if !o.First {
		s.readers.since = s.started
	}
	s.ops = operations(o.Role, o.Local != nil)
	return s, nil
}

// Serve accepts connections until ctx ends or the listener fails; the former is no error.
// Connections go on after that: see [Server.Shutdown].
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	go s.closeSilent(ctx)
	go s.overtakeStalled(ctx)
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = c.Close()
			}
			return nil
		case err == nil:
			go s.ServeConn(context.WithoutCancel(ctx), c)
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			var temporary interface{ Temporary() bool }
			if !errors.As(err, &temporary) || !temporary.Temporary() {
				return errs.Wrap(err, "xrd.Serve", l.Addr().String())
			}
			s.o.Log.Warn("accept failed", "err", err)
			if !pause(ctx, 100*time.Millisecond) {
				return nil
			}
		}
	}
}

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

// closeSilent ends parked connections whose clients have been silent for too long.
func (s *Server) closeSilent(ctx context.Context) {
	for pause(ctx, min(s.o.Limits.IdleTimeout/16, s.o.Limits.LoginTimeout/2)) {
		now := time.Now()
		s.closeConns(func(c *conn) bool { return c.expired(now) })
	}
}

// ServeConn serves one connection and closes it. It returns when the connection has ended, or when it is
// the loop's. The connection may be one whose first bytes were looked at, as long as its Read still
// returns them.
func (s *Server) ServeConn(ctx context.Context, nc net.Conn) {
	if s.o.Loop != nil {
		adopted, err := s.o.Loop.Adopt(nc)
		if err != nil {
			s.o.Log.Warn("cannot serve a connection", "remote", nc.RemoteAddr().String(), "err", err)
			return
		}
		nc = adopted
	}
	c := newConn(ctx, s, nc)
	if !s.add(c) {
		c.end()
		return
	}
	c.serve()
}

func (s *Server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down || len(s.conns) >= s.o.Limits.Connections {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.down && len(s.conns) == 0 {
		close(s.idle)
	}
}

// cutOffTime is how long connections that were cut off may take to end what they were doing.
const cutOffTime = time.Second

// Shutdown takes no new connections, and closes each that has no request and no file open; the
// others when their last file is closed, or all when ctx ends. It returns when the last one is gone, with ctx's error
// if some had to be cut off; one that waits for a disk that hangs is left behind.
func (s *Server) Shutdown(ctx context.Context) error {
	defer s.pool.Close()
	s.mu.Lock()
	if !s.down {
		s.down = true
		if len(s.conns) == 0 {
			close(s.idle)
		}
	}
	s.mu.Unlock()
	for {
		s.closeConns((*conn).unused)
		select {
		case <-s.idle:
			return nil
		case <-ctx.Done():
			s.closeConns(func(*conn) bool { return true })
			select {
			case <-s.idle:
			case <-time.After(cutOffTime):
			}
			return errs.Wrap(ctx.Err(), "xrd.Shutdown", "")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s *Server) closeConns(which func(*conn) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if which(c) {
			_ = c.nc.Close()
		}
	}
}

// HasSession reports whether the session of that name, as opens give it, is connected.
func (s *Server) HasSession(name string) bool {
	var id wire.SessionID
	if hex.DecodedLen(len(name)) != len(id) {
		return false
	}
	_, err := hex.Decode(id[:], []byte(name))
	return err == nil && s.session(id) != nil
}

// Sessions lists the logged-in clients.
func (s *Server) Sessions() []hemera.SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]hemera.SessionInfo, 0, len(s.sessions))
	for _, ss := range s.sessions {
		list = append(list, ss.info())
	}
	return list
}

func (s *Server) session(id wire.SessionID) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}
