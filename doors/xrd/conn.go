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

// slowRequest is how long a request takes that waited for something: the next of its kind on the connection is
// expected to wait too.
const slowRequest = 50 * time.Microsecond

// conn is one connection, from accept to close: it reads requests, has them served in order, and parks while there are
// none. What the requests do is in the handlers, and what a client holds is in its session.
//
// All fields belong to the goroutine that serves the connection but those marked. A parked connection has no goroutine.
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
	slowKinds     uint64    // the kinds of request that took long when they last came, one bit each

	session *session   // of the login that came here; nil before, and on a bound connection
	bound   *substream // this connection carries data of another's session
	work    queuedWork // the queued request that a bound connection serves
	current request

	// Shutdown, and the search for idle connections, read these.
	busy   atomic.Bool             // a request is under way
	shared atomic.Pointer[session] // the session that the connection serves, its own or another's
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

// addrOf returns the zero address for anything but TCP.
func addrOf(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		p := t.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	return netip.AddrPort{}
}

// serve runs the connection until it ends, or until it is parked. The poller that finds input on a parked connection
// calls serve again.
func (c *conn) serve() {
	if parked := c.serveRequests(); !parked { // else it is another goroutine's already
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

// containPanic keeps a defect in serving one client from ending the others: that client's connection is closed, with
// what it holds. It is deferred by each goroutine that works for the connection.
func (c *conn) containPanic() {
	if p := recover(); p != nil {
		_ = c.srv.o.Panics.Note("xrd.Serve", fmt.Sprint(c.peer.Remote), p)
		_ = c.nc.Close()
	}
}

// end releases what the connection holds. It waits for asynchronous work, which may wait for disks.
func (c *conn) end() {
	// The socket first: work that waits for the client ends with it.
	_ = c.nc.Close()
	c.intake.close()
	c.cancel() // services that work for the connection stop
	if c.bound != nil {
		c.work.finish()
		c.bound.close()
	}
	if c.session != nil {
		c.session.streams.close() // a close may wait for data that is to come there
		c.async.running.Wait()
		c.srv.endSession(c.session)
	}
	c.in.Close()
}

// beforeWait runs when the connection is about to wait for its client, between two requests or for the rest of one.
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

// handshake reads the client's first 20 bytes, which may come in any pieces (§2.1). Later calls do nothing.
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

// next reads and serves one request. An error ends the connection, but for ErrIdle, which says that there is none.
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
	r := &c.current // one for all: a request costs no allocation
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
	c.current.conn = c // the data and the answer are here, not on the session's connection
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

// timed serves a request and takes its time: for the records, and to lend this goroutine beforehand to requests that
// will probably keep it. Requests that wait for a disk in any case lend it themselves.
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

// failureOf returns the error that counts as a failure for a Recorder. A redirect is an answer.
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
	if op.streams { // the handler takes the data, however long it is
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

// admit fails if the client may not send the request now, or the role does not serve it.
func (c *conn) admit(r *request, op *operation) error {
	switch {
	case c.login.refusal != nil && r.ID != wire.ReqProtocol && r.ID != wire.ReqPing && r.ID != wire.ReqLogin:
		return closeAfter{c.login.refusal}
	case op.beforeLogin: // the handler checks what it needs
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

// lend tells the loop that the goroutine that serves the connection will now wait for something other than the client,
// so that another goroutine takes over its turn at the poller.
func (c *conn) lend() {
	if c.sock != nil {
		c.sock.ReleasePoller()
	}
}

// unused reports whether nothing is lost when the connection is closed. It is safe for concurrent use.
func (c *conn) unused() bool {
	ss := c.shared.Load()
	return !c.busy.Load() && len(c.async.slots) == 0 && (ss == nil || ss.handles.open.Load() == 0)
}

// expired reports whether a parked connection's client has been silent for too long. It is safe for concurrent use.
func (c *conn) expired(now time.Time) bool { return !c.busy.Load() && c.deadline.expired(now) }

// silentSince returns when the client last sent a request, in Unix nanoseconds, and whether it has logged in. If it has
// not, the time is when it connected. It is safe for concurrent use.
func (c *conn) silentSince() (since int64, loggedIn bool) {
	ss := c.shared.Load()
	if ss == nil || ss.identity() == nil {
		return c.deadline.accepted.UnixNano(), false
	}
	return ss.lastUsed.Load(), true
}

// countedAs returns the client that the connection's use of shared budgets is charged to.
func (c *conn) countedAs() Client {
	if c.session != nil {
		if who := c.session.identity(); who != nil && who.UID != hemera.NobodyID {
			return Client{Name: who.Name, UID: who.UID}
		}
	}
	return clientAt(c.peer)
}
