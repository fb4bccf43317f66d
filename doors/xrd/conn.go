package xrd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/platform/auth"
	"hemera/platform/poll"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// slowRequest is the duration from which a request counts as one that waited: the connection expects that the next
// request of its kind waits too.
const slowRequest = 50 * time.Microsecond

// conn is one connection, from accept to close: it reads requests, has them served in order, and is parked while there
// are none. The handlers serve the requests, and the session has the client's state.
//
// All fields belong to the goroutine that serves the connection except those marked. A parked connection has no
// goroutine.
type conn struct {
	srv    *Server
	nc     net.Conn
	sock   *poll.Socket    // nc, if it can be parked
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	in     *transport.Source
	out    *transport.Sink // safe for concurrent use
	peer   auth.Peer

	handshakeDone bool
	login         loginState
	deadline      readDeadline
	intake        intake
	async         asyncWork // safe for concurrent use
	slowKinds     uint64    // kinds of request that were slow the last time, one bit each

	session *session   // of the login on this connection; nil before it, and on a bound connection
	bound   *substream // set if this connection carries data of another connection's session
	work    queuedWork // the queued request that a bound connection serves
	current request

	// For Shutdown and the search for idle connections.
	busy   atomic.Bool             // a request is being served
	shared atomic.Pointer[session] // the session that the connection serves, its own or another connection's
}

func newConn(ctx context.Context, s *Server, nc net.Conn) *conn {
	c := &conn{srv: s, nc: nc, out: transport.NewSink(nc, &s.pool, s.o.Limits.WriteStall)}
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.sock, _ = nc.(*poll.Socket)
	c.in = transport.NewSource(nc, &s.pool, c.beforeWait)
	c.peer = auth.Peer{Remote: addrOf(nc.RemoteAddr()), Local: addrOf(nc.LocalAddr())}
	c.deadline = readDeadline{nc: nc, limits: &s.o.Limits, accepted: time.Now()}
	c.intake = intake{in: c.in, deadline: &c.deadline, budget: s.o.Budgets.Requests, forOpenFiles: s.o.Node != nil}
	c.async.slots = make(chan struct{}, asyncMax)
	return c
}

// addrOf returns the address of a TCP connection, and the zero address for others.
func addrOf(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		p := t.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	return netip.AddrPort{}
}

// serve runs the connection until it ends or is parked. The poller calls serve again when a parked connection has input.
func (c *conn) serve() {
	if parked := c.serveRequests(); !parked { // otherwise another goroutine may have it already
		defer c.srv.clients.removeConn(c)
		c.srv.o.Panics.Run("xrd.Close", fmt.Sprint(c.peer.Remote), c.end)
	}
}

// serveRequests serves requests until the connection ends or is parked. After true another goroutine may already serve
// the connection.
func (c *conn) serveRequests() (parked bool) {
	defer c.containPanic()
	err := c.handshake()
	for err == nil {
		err = c.next()
		if err != transport.ErrIdle {
			continue
		}
		if c.sock.Park(c.serve) { // false if input came meanwhile
			return true
		}
		err = nil
	}
	_ = c.out.FlushLast() // the last answer may say why the connection ends
	if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		c.srv.o.Log.Debug("connection ended", "peer", c.peer.Remote, "error", err)
	}
	return false
}

// containPanic closes the connection whose serving has panicked, so that the others are not affected. Each goroutine that
// works for the connection defers it.
func (c *conn) containPanic() {
	if p := recover(); p != nil {
		_ = c.srv.o.Panics.Note("xrd.Serve", fmt.Sprint(c.peer.Remote), p)
		_ = c.nc.Close()
	}
}

// end releases everything that the connection has. It waits for asynchronous work, which may wait for disks.
func (c *conn) end() {
	// First the socket: work that waits for the client then ends.
	_ = c.nc.Close()
	c.intake.close()
	c.cancel() // services that work for the connection stop
	if c.bound != nil {
		c.work.finish()
		c.bound.close()
	}
	if c.session != nil {
		c.session.streams.close() // a close may wait for data on the streams
		c.async.running.Wait()
		c.srv.endSession(c.session)
	}
	c.in.Close()
}

// beforeWait runs before the connection waits for its client, between two requests or for the rest of one.
func (c *conn) beforeWait(betweenRequests bool) error {
	// The client may wait for these answers before it sends more.
	if err := c.out.Flush(); err != nil {
		return err
	}
	if betweenRequests {
		c.busy.Store(false)
	}
	err := c.deadline.set(betweenRequests)
	if err == nil && betweenRequests && c.bound != nil && c.sock == nil {
		err = c.bound.beginRead()
	}
	return err
}

// handshake reads the client's first 20 bytes, which may arrive in parts (§2.1). Later calls do nothing.
func (c *conn) handshake() error {
	if c.handshakeDone {
		return nil
	}
	b, err := c.in.Peek(wire.HandshakeSize)
	if err != nil {
		return err
	}
	if !wire.IsHandshake(b) {
		return translate.Refuse(wire.InvalidRequest, "not an XRootD client")
	}
	c.in.Skip(wire.HandshakeSize)
	c.handshakeDone = true
	kind := wire.HandshakeServer
	if c.srv.o.Manager != nil {
		kind = wire.HandshakeManager
	}
	return c.out.Collect(wire.HandshakeReply{Version: wire.ProtocolVersion, Type: kind}.Append(nil))
}

// next reads and serves one request. Errors end the connection, except ErrIdle, which means that there is no request.
func (c *conn) next() error {
	if c.bound != nil {
		return c.nextQueued()
	}
	b, err := c.in.Next(wire.RequestHeaderSize)
	if err != nil {
		return err
	}
	c.busy.Store(true)
	c.current = request{RequestHeader: wire.ParseRequestHeader(b), conn: c, session: c.session}
	r := &c.current // one for all requests, so that a request costs no allocation
	c.in.Skip(wire.RequestHeaderSize)
	c.in.Begin()
	began := time.Now()
	if c.session != nil {
		c.session.lastUsed.Store(began.UnixNano())
	}
	err = c.timed(r, began)
	if err == nil {
		return nil
	}
	return c.finish(r, err)
}

// nextQueued serves one request that the session queued for this bound connection. Like next it returns ErrIdle if
// there is none.
func (c *conn) nextQueued() error {
	w, err := c.bound.next(c)
	if err != nil {
		return err
	}
	c.busy.Store(true)
	c.work = w
	c.current = w.request
	c.current.conn = c // the data and the answer use this connection, not the session's
	err = w.run(&c.current)
	if err != nil {
		err = c.finish(&c.current, err)
	}
	c.work.finish()
	return err
}

// finish answers a request that failed. It returns an error if that ends the connection.
func (c *conn) finish(r *request, err error) error {
	last, ends := errors.AsType[closeAfter](err)
	if ends {
		err = last.error
	} else {
		err = c.srv.restarts.onFailure(r, err)
	}
	if e := r.fail(err); e != nil {
		return e
	}
	return last.error
}

// timed serves a request and records its time. If the last request of the kind was slow, it calls lend first. Handlers
// that always wait for a disk call lend themselves.
func (c *conn) timed(r *request, began time.Time) error {
	kind := uint64(1) << ((r.ID - wire.ReqAuth) % 64) // there are fewer than 64 kinds
	if c.slowKinds&kind != 0 {
		c.lend()
	}
	err := c.dispatch(r)
	took := time.Since(began)
	if c.slowKinds &^= kind; took > slowRequest {
		c.slowKinds |= kind
	}
	if c.srv.o.Recorder != nil {
		c.srv.o.Recorder.Record(r.ID.String(), took, failureOf(err))
	}
	return err
}

// failureOf returns the error that a Recorder counts as a failure; nil for a redirect, which is an answer.
func failureOf(err error) error {
	if _, ok := errors.AsType[*redirect](err); ok {
		return nil
	}
	return err
}

// dispatch checks a request, reads its payload and has its handler serve it.
func (c *conn) dispatch(r *request) error {
	if r.Length < 0 {
		return closeAfter{translate.Refuse(wire.ArgInvalid, "the request's length is negative")}
	}
	if !r.ID.Known() {
		return c.intake.skip(r, translate.Refuse(wire.InvalidRequest, "the request is not known"))
	}
	op := &c.srv.operations[r.ID-wire.ReqAuth] // Known has checked the range
	if err := c.admit(r, op); err != nil {
		return c.intake.skip(r, err)
	}
	if op.streams { // the handler reads the data, of any length
		return op.handler.Serve(r)
	}
	err := c.intake.readPayload(r, op.payloadMax)
	if r.release != nil { // also when the handler panics
		defer r.release()
	}
	if err != nil {
		return err
	}
	return op.handler.Serve(r)
}

// admit fails if the client may not send the request now, or if the role does not serve it.
func (c *conn) admit(r *request, op *operation) error {
	switch {
	case c.login.refusal != nil && r.ID != wire.ReqProtocol && r.ID != wire.ReqPing && r.ID != wire.ReqLogin:
		return closeAfter{c.login.refusal}
	case op.beforeLogin: // the handler checks the state
		return nil
	case c.session == nil:
		return closeAfter{translate.Refuse(wire.InvalidRequest, r.ID.String()+" before login")}
	case !c.deadline.loggedIn():
		return translate.Refuse(wire.NotAuthorized, r.ID.String()+" before authentication")
	case op.handler == nil:
		return translate.Refuse(wire.Unsupported, r.ID.String()+" is not supported")
	}
	return nil
}

// lend tells the poller that the goroutine that serves the connection will wait for something other than the client, so
// that another goroutine takes its turn at the poller.
func (c *conn) lend() {
	if c.sock != nil {
		c.sock.ReleasePoller()
	}
}

// unused reports whether closing the connection loses nothing. It is safe for concurrent use.
func (c *conn) unused() bool {
	ss := c.shared.Load()
	return !c.busy.Load() && len(c.async.slots) == 0 && (ss == nil || ss.handles.open.Load() == 0)
}

// expired reports whether a parked connection's client has been silent for too long. It is safe for concurrent use.
func (c *conn) expired(now time.Time) bool { return !c.busy.Load() && c.deadline.expired(now) }

// silentSince returns the time of the client's last request, in Unix nanoseconds, and whether it has logged in. Before
// the login it is the time of the connection. It is safe for concurrent use.
func (c *conn) silentSince() (since int64, loggedIn bool) {
	ss := c.shared.Load()
	if ss == nil || ss.identity() == nil {
		return c.deadline.accepted.UnixNano(), false
	}
	return ss.lastUsed.Load(), true
}

// countedAs returns the client to which the connection's use of shared budgets is charged.
func (c *conn) countedAs() Client {
	if c.session != nil {
		if who := c.session.identity(); who != nil && who.UID != hemera.NobodyID {
			return Client{Name: who.Name, UID: who.UID}
		}
	}
	return clientAt(c.peer)
}
