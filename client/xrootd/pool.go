package xrootd

import (
	"context"
	"sync"

	"hemera/platform/turn"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// pool is a bounded set of sessions with servers. Shared sessions are kept by server, user and lane until they are idle
// for Options.Idle. Sessions for exclusive use are leased, and a few are kept for the next lease. Methods are safe for
// concurrent use.
type pool struct {
	opts Options

	mu       sync.Mutex // guards the rest; never held while dialing
	sessions map[sessionKey]*session
	spare    map[Endpoint][]*Conn // idle sessions for exclusive use
	closed   bool
}

// sessionKey names a shared session: a server, and one of several sessions with it. The lanes of group g, see
// OpenOptions.Group, begin at g × Options.Sessions.
type sessionKey struct {
	endpoint Endpoint
	lane     int
}

// session is an entry of the pool. The holder of the turn may look and dial, and, with the pool's lock, set conn.
type session struct {
	turn turn.Turn
	conn *Conn // nil before the first; may be dead
}

// newPool makes an empty pool; the options must be complete.
func newPool(o Options) *pool {
	return &pool{opts: o, sessions: map[sessionKey]*session{}, spare: map[Endpoint][]*Conn{}}
}

// close ends all sessions. It does not wait for servers that are being dialed; their connections end as soon as they are
// made.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	var open []*Conn
	for _, s := range p.sessions {
		if s.conn != nil {
			open = append(open, s.conn)
		}
	}
	for _, list := range p.spare {
		open = append(open, list...)
	}
	p.sessions, p.spare = nil, nil
	p.mu.Unlock()
	for _, conn := range open {
		conn.Close()
	}
}

// entry returns the pool's entry for the key, and makes it if needed. It fails with Overloaded if all are in use.
func (p *pool) entry(key sessionKey) (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, closedError(key.endpoint)
	}
	if s := p.sessions[key]; s != nil {
		return s, nil
	}
	if len(p.sessions) >= p.opts.PoolMax { // only then, because kept sessions save a dial
		p.dropUnused()
	}
	if len(p.sessions) >= p.opts.PoolMax {
		return nil, errs.New(errs.Overloaded, "xrootd.ConnectTo", key.endpoint.String(), "all sessions of the pool are in use")
	}
	s := &session{turn: turn.New()}
	p.sessions[key] = s
	return s, nil
}

// closedError returns the error of calls after Close.
func closedError(e Endpoint) error {
	return errs.New(errs.Cancelled, "xrootd.ConnectTo", e.String(), "the client is closed")
}

// set sets the connection of an entry. It returns false if the pool was closed meanwhile.
func (p *pool) set(s *session, conn *Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		s.conn = conn
	}
	return !p.closed
}

// dropUnused removes unused entries. The caller holds the lock. It does not wait: an entry that is being dialed counts as
// used.
func (p *pool) dropUnused() {
	for key, s := range p.sessions {
		if !s.turn.TryAcquire() { // being dialed
			continue
		}
		if s.conn == nil || s.conn.unused() {
			delete(p.sessions, key)
			if s.conn != nil {
				s.conn.Close()
			}
		}
		s.turn.Release()
	}
}

// connect returns a live shared session with the server, dialing if there is none. It blocks while another caller dials
// the same session, and for at most DialTimeout while it dials itself.
func (p *pool) connect(ctx context.Context, e Endpoint, lane int) (*Conn, error) {
	s, err := p.entry(sessionKey{e, lane})
	if err != nil {
		return nil, err
	}
	if err := s.turn.Acquire(ctx); err != nil {
		return nil, err
	}
	defer s.turn.Release()
	old := s.conn
	if old != nil && old.reason() == nil { // it may end at the next moment; then the request fails, and is repeated if allowed
		return old, nil
	}
	conn, err := dial(ctx, e, p.opts, wire.ExpectLogin)
	if err != nil {
		return nil, err
	}
	if !p.set(s, conn) { // the client was closed during the dial
		conn.Close()
		return nil, closedError(e)
	}
	if old != nil {
		// End the lost session, to release its locks and files. Requests are handled in order, so there is no need to
		// wait for the answer; NotFound is fine too.
		k := &call{finish: func(*call) {}}
		if conn.send(ctx, k, wire.Endsess{Session: old.session}) == nil {
			conn.flush()
		}
	}
	return conn, nil
}

// lease returns a session for exclusive use. The caller returns it with release.
func (p *pool) lease(ctx context.Context, e Endpoint) (*Conn, error) {
	p.mu.Lock()
	for list := p.spare[e]; len(list) > 0; { // the last one used is the most likely to be alive
		conn := list[len(list)-1]
		list = list[:len(list)-1]
		p.spare[e] = list
		if conn.reason() == nil {
			p.mu.Unlock()
			return conn, nil
		}
	}
	p.mu.Unlock()
	return dial(ctx, e, p.opts, wire.ExpectLogin)
}

// sparesMax bounds the idle exclusive sessions that are kept for one server.
const sparesMax = 4

// release puts a leased session back, or closes it if there are enough spare ones or it has ended.
func (p *pool) release(conn *Conn) {
	p.mu.Lock()
	if list := p.spare[conn.endpoint]; !p.closed && conn.reason() == nil && len(list) < sparesMax {
		p.spare[conn.endpoint] = append(list, conn)
		conn = nil
	}
	p.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
}
