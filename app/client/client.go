package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"hemera/errs"
	"hemera/rules/wire"
)

// Client is a bounded pool of sessions and the operations on names. It follows redirects and obeys
// waits. Methods may be called concurrently.
type Client struct {
	opts    Options
	lanes   atomic.Uint32 // deals files to the sessions of a server in turn
	buffers buffers

	mu       sync.Mutex
	sessions map[sessionKey]*session
	spare    map[Endpoint][]*Conn // for exclusive use, idle now
	closed   bool
}

// sessionKey is a server, and which of several sessions with it: as dealt, or a peer's disk's.
type sessionKey struct {
	endpoint Endpoint
	lane     int
}

// session is a place in the pool. Whoever holds the token in turn may look and dial, and with the client's
// lock put what was dialed.
type session struct {
	turn chan struct{}
	conn *Conn // nil before the first, dead perhaps
}

// New makes a client. Close it to end its sessions.
func New(o Options) *Client {
	return &Client{opts: o.withDefaults(), sessions: map[sessionKey]*session{}, spare: map[Endpoint][]*Conn{}}
}

// Close ends all sessions; what is in flight fails. It does not wait for servers that are being dialed.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	var open []*Conn
	for _, s := range c.sessions {
		if s.conn != nil {
			open = append(open, s.conn)
		}
	}
	for _, list := range c.spare {
		open = append(open, list...)
	}
	c.sessions, c.spare = nil, nil
	c.mu.Unlock()
	for _, conn := range open {
		conn.Close()
	}
	return nil
}

// place finds or makes the pool's place for the key.
func (c *Client) place(key sessionKey) (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, closedError(key.endpoint)
	}
	if s := c.sessions[key]; s != nil {
		return s, nil
	}
	if len(c.sessions) >= c.opts.PoolMax {
		c.sweep()
	}
	if len(c.sessions) >= c.opts.PoolMax {
		return nil, errs.New(errs.Overloaded, "connect to", key.endpoint.String(), "all sessions of the pool are in use")
	}
	s := &session{turn: make(chan struct{}, 1)}
	c.sessions[key] = s
	return s, nil
}

func closedError(e Endpoint) error {
	return errs.New(errs.Cancelled, "connect to", e.String(), "the client is closed")
}

// put gives a place its connection, unless the client was closed meanwhile.
func (c *Client) put(s *session, conn *Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		s.conn = conn
	}
	return !c.closed
}

// sweep drops the places nobody uses now.
func (c *Client) sweep() {
	for key, s := range c.sessions {
		select {
		case s.turn <- struct{}{}:
			if s.conn == nil || s.conn.unused() {
				delete(c.sessions, key)
				if s.conn != nil {
					s.conn.Close()
				}
			}
			<-s.turn
		default: // being dialed
		}
	}
}

// deal is the session in turn, of those that a server has for ordinary files.
func (c *Client) deal() int { return int(c.lanes.Add(1)) % c.opts.Sessions }

// connect returns a live session with the server, dialing if needed.
func (c *Client) connect(ctx context.Context, e Endpoint, lane int) (*Conn, error) {
	s, err := c.place(sessionKey{e, lane})
	if err != nil {
		return nil, err
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.turn }()
	old := s.conn
	if old != nil && old.reason() == nil {
		return old, nil
	}
	conn, err := dial(ctx, e, c.opts, wire.ExpectLogin)
	if err != nil {
		return nil, err
	}
	if !c.put(s, conn) {
		conn.Close()
		return nil, closedError(e)
	}
	if old != nil {
		// Frees what the lost session holds, locks before all. Requests are handled in order, so the
		// answer need not be waited for; NotFound is as good.
		k := &call{finish: func(*call) {}}
		if conn.send(ctx, k, wire.Endsess{Session: old.session}) == nil {
			conn.flush()
		}
	}
	return conn, nil
}

// lease returns a session for exclusive use, to be given back by unlease.
func (c *Client) lease(ctx context.Context, e Endpoint) (*Conn, error) {
	c.mu.Lock()
	for list := c.spare[e]; len(list) > 0; {
		conn := list[len(list)-1]
		list = list[:len(list)-1]
		c.spare[e] = list
		if conn.reason() == nil {
			c.mu.Unlock()
			return conn, nil
		}
	}
	c.mu.Unlock()
	return dial(ctx, e, c.opts, wire.ExpectLogin)
}

// unlease takes a session back, or closes it if there are enough spare ones.
func (c *Client) unlease(conn *Conn) {
	const spareMax = 4
	c.mu.Lock()
	if list := c.spare[conn.endpoint]; !c.closed && conn.reason() == nil && len(list) < spareMax {
		c.spare[conn.endpoint] = append(list, conn)
		conn = nil
	}
	c.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
}

// request is one operation, to be sent wherever its route leads.
type request struct {
	op       string
	build    func(u URL) (wire.Request, []byte)
	again    bool // see policy
	failover bool
	lane     int
	patience time.Duration
	sink     sink
	// exclusive takes a session of its own; await, if set, waits for the answer in the caller's way.
	exclusive bool
	recovers  bool                          // from the loss of a session that may still hold locks
	stays     bool                          // a redirect is the answer
	regret    func(conn *Conn, body []byte) // see call
	await     func(ctx context.Context, conn *Conn, k *call) answer
}

// result is a good answer, who gave it and how it was found.
type result struct {
	body       []byte
	conn       *Conn
	route      route
	redirected bool // the body is a redirect, of a request that stays
}

// do sends the request until it is answered, by the server it leads to.
func (c *Client) do(ctx context.Context, r route, q request) (result, error) {
	if err := r.url.sayable(q.op); err != nil {
		return result{}, err
	}
	p := policy{op: q.op, again: q.again, failover: q.failover, retryFor: c.opts.RetryFor, waitFor: c.opts.WaitFor}
	e := effort{lost: q.recovers}
	var failing time.Time
	for {
		conn, a := c.attempt(ctx, r, q)
		if q.stays && a.err == nil && a.status == wire.StatusRedirect {
			return result{a.body, conn, r, true}, nil
		}
		v := p.judge(r, a, e)
		if v.stop {
			return result{a.body, conn, r, false}, v.err
		}
		e.lost = e.lost || a.err != nil
		if failing.IsZero() && (v.again || a.err != nil) {
			failing = time.Now()
		}
		if v.again {
			e.failures++
			if e.failures == failuresTold && c.opts.Trying != nil {
				c.opts.Trying(v.err, c.opts.RetryFor)
			}
			c.opts.Log.Debug("trying again", "op", q.op, "url", r.url.Redacted(), "after", v.delay, "because", v.err)
		}
		if v.wait {
			e.waited += v.delay
		}
		if err := pause(ctx, v.delay); err != nil {
			return result{}, errs.Wrap(err, q.op, r.url.Redacted())
		}
		if !failing.IsZero() {
			e.failing = time.Since(failing)
		}
		r = v.next
	}
}

// attempt asks the server that the route is at, once.
func (c *Client) attempt(ctx context.Context, r route, q request) (*Conn, answer) {
	open := c.connect
	if q.exclusive {
		open = func(ctx context.Context, e Endpoint, _ int) (*Conn, error) { return c.lease(ctx, e) }
	}
	conn, err := open(ctx, r.url.Endpoint, q.lane)
	if err != nil {
		return nil, answer{err: err}
	}
	if q.exclusive {
		defer c.unlease(conn)
	}
	k := &call{sink: q.sink, patience: q.patience, regret: q.regret}
	w, payload := q.build(r.url)
	if err := conn.send(ctx, k, w, payload); err != nil {
		return conn, answer{err: err}
	}
	conn.flush()
	if q.await != nil {
		return conn, q.await(ctx, conn, k)
	}
	return conn, conn.wait(ctx, k)
}
