package xrd

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/doors/xrd/transport"
	"hemera/platform/auth"
	"hemera/platform/poll"
	"hemera/rules/limits"
	"hemera/rules/wire"
)

const (
	// payloadMax is the longest payload of a request that carries no data; drainMax is the longest
	// that is read and dropped so that the connection can go on.
	payloadMax = transport.BufferSize
	drainMax   = 16 << 20
	// slowJobs is how much slow work one connection may have under way.
	slowJobs = 64
	// slowRequest is how long a request takes that waited for something: the next of its kind on
	// the connection is expected to wait too.
	slowRequest = 50 * time.Microsecond
)

// conn is one connection. All fields belong to the goroutine that serves it but those marked. While it waits for
// a request at the server's loop it has none.
type conn struct {
	srv    *Server
	nc     net.Conn
	sock   *poll.Socket    // nc, if it can be parked
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	in     *transport.Source
	out    *transport.Sink // safe for others
	peer   auth.Peer
	jobs   sync.WaitGroup // slow work under way
	slots  chan struct{}  // one for each
	began  time.Time
	armed  time.Time // when the read deadline was last set
	limits Limits

	greeted   bool   // the handshake is done
	slow      uint64 // the kinds of request that took long when they last came, by operation
	version   uint32 // of the client's protocol; 0 until it said so
	session   *session
	refusal   error                   // why the client was not let in; its first request is told
	exchange  *exchange               // authentication under way
	bound     *substream              // this connection carries data of another's session
	working   substreamWork           // the queued request that it is about
	waiting   *limits.Account[Client] // of memory for requests; nil until one had to be waited for
	waitingAs Client
	hurried   bool // the rest of a request has a deadline of its own
	current   request
	rest      int64 // of the data of the write that writer is about

	// writer is the file that the goroutine of the connection is writing to, and may hang at; see overtake.go.
	writer atomic.Pointer[handle]

	// What Shutdown and the search for idle connections look at: whether a request is under way,
	// when the client was last waited for after its login (roughly, in Unix nanoseconds), and the session
	// that the connection serves.
	busy   atomic.Bool
	seen   atomic.Int64
	shared atomic.Pointer[session]
}

// request is one message, valid until the next one is read.
type request struct {
	wire.RequestHeader
	payload []byte // aliases the input buffer; nil when the operation reads it itself
	release func() // gives back what the payload took of a budget; nil for nothing
	trace   string
}

func newConn(ctx context.Context, s *Server, nc net.Conn) *conn {
	c := &conn{
		srv: s, nc: nc, limits: s.o.Limits, began: time.Now(),
		out: transport.NewSink(nc, &s.pool, s.o.Limits.WriteStall), slots: make(chan struct{}, slowJobs),
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.sock, _ = nc.(*poll.Socket)
	c.in = transport.NewSource(nc, &s.pool, c.beforeWait)
	c.peer = auth.Peer{Remote: addrOf(nc.RemoteAddr()), Local: addrOf(nc.LocalAddr())}
	return c
}

func addrOf(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		p := t.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	return netip.AddrPort{}
}

// never is when a bound connection is silent for too long: its session ends it.
const never = math.MaxInt64

// beforeWait runs when the connection is about to wait for its client: between two requests, or for the
// rest of one.
func (c *conn) beforeWait(between bool) error {
	if err := c.out.Flush(); err != nil {
		return err
	}
	if between {
		c.busy.Store(false)
	}
	now := time.Now()
	switch {
	case c.hurried:
	case c.bound != nil && !between: // in the middle of a write's data
		c.armed = time.Time{}
		return c.nc.SetReadDeadline(now.Add(c.limits.IdleTimeout))
	case c.bound != nil:
		if c.armed.IsZero() {
			c.armed = now
			c.seen.Store(never)
			return c.nc.SetReadDeadline(time.Time{})
		}
	case !c.ready():
		if c.armed.IsZero() {
			c.armed = now
			return c.nc.SetReadDeadline(c.began.Add(c.limits.LoginTimeout))
		}
	case now.Sub(c.armed) > c.limits.IdleTimeout/16:
		c.armed = now
		c.seen.Store(now.UnixNano())
		return c.nc.SetReadDeadline(now.Add(c.limits.IdleTimeout))
	}
	return nil
}

// ready reports whether the client has shown who it is.
func (c *conn) ready() bool {
	return c.bound != nil || c.session != nil && c.session.identity() != nil
}

// becameReady lets the deadline of the login go.
func (c *conn) becameReady() { c.armed = time.Time{} }

// unused reports whether nothing is lost when the connection is closed.
func (c *conn) unused() bool {
	ss := c.shared.Load()
	return !c.busy.Load() && len(c.slots) == 0 && (ss == nil || ss.open.Load() == 0)
}

// expired reports whether a client has been silent for too long while its connection was parked, where
// it has no deadline.
func (c *conn) expired(now time.Time) bool {
	switch seen := c.seen.Load(); {
	case c.busy.Load(), seen == never:
		return false
	case seen == 0:
		return now.Sub(c.began) > c.limits.LoginTimeout
	default:
		return now.Sub(time.Unix(0, seen)) > c.limits.IdleTimeout
	}
}

// serve runs the connection until it ends, or until it is parked; the loop then calls serve again.
func (c *conn) serve() {
	c.serveFrom(func() error {
		if c.greeted {
			return nil
		}
		return c.handshake()
	})
}

func (c *conn) serveFrom(first func() error) {
	if ours := c.advance(first); ours {
		c.end()
		c.srv.remove(c)
	}
}

// advance runs first, and requests, until the connection ends, or is not this goroutine's any more: it
// was parked, then it is the loop's, or overtaken.
func (c *conn) advance(first func() error) (ours bool) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case overtaken{}:
			c.srv.overtaken.Add(-1)
		default:
			c.failed(p)
			ours = true
		}
	}()
	err := first()
	for err == nil {
		if err = c.next(); err == transport.ErrIdle {
			if c.sock.Park(c.serve) {
				return false
			}
			err = nil
		}
	}
	_ = c.out.FlushLast()
	if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		c.srv.o.Log.Debug("connection ended", "peer", c.peer.Remote, "err", err)
	}
	return true
}

// contain keeps a defect in serving one client from ending the others: that client's connection is
// closed, with what it holds.
func (c *conn) contain() {
	if p := recover(); p != nil {
		c.failed(p)
	}
}

func (c *conn) failed(p any) {
	c.srv.o.Log.Error("request failed with a panic", "panic", p, "peer", c.peer.Remote, "stack", string(debug.Stack()))
	_ = c.nc.Close()
}

func (c *conn) end() {
	_ = c.nc.Close()
	c.closeAccount()
	c.cancel()
	if c.bound != nil {
		c.working.finished()
		c.bound.close()
	}
	if c.session != nil {
		c.session.closeSubstreams() // a close may wait for data that is to come there
		c.jobs.Wait()
		c.srv.endSession(c.session)
	}
	c.in.Close()
}

// next reads and runs one request. An error ends the connection, but for transport.ErrIdle: there is none.
func (c *conn) next() error {
	if c.bound != nil {
		return c.nextBound()
	}
	b, err := c.in.Next(wire.RequestHeaderSize)
	if err != nil {
		return err
	}
	c.busy.Store(true)
	c.current = request{RequestHeader: wire.ParseRequestHeader(b)}
	r := &c.current
	c.in.Skip(wire.RequestHeaderSize)
	c.in.Begin()
	began := time.Now()
	if c.session != nil {
		c.session.last.Store(began.UnixNano())
	}
	err = c.timed(r, began)
	if err == nil {
		return nil
	}
	return c.finish(r, err)
}

// finish answers a request that failed. It returns an error if that ends the connection.
func (c *conn) finish(r *request, err error) error {
	last, ends := errors.AsType[closing](err)
	if ends {
		err = last.error
	} else {
		err = c.beginAnew(r, err)
	}
	if e := c.answerError(r, err); e != nil {
		return e
	}
	return last.error
}

// lend tells the loop that the goroutine serving the connection will now wait for something other than
// the client.
func (c *conn) lend() {
	if c.sock != nil {
		c.sock.ReleasePoller()
	}
}

// timed runs a request and takes its time: for the records, and to lend this goroutine beforehand for
// requests that will probably keep it. Those that wait for a disk in any case lend it themselves.
func (c *conn) timed(r *request, began time.Time) error {
	kind := uint64(1) << ((r.ID - wire.ReqAuth) % 64)
	if c.slow&kind != 0 {
		c.lend()
	}
	err := c.run(r)
	took := time.Since(began)
	if c.slow &^= kind; took > slowRequest {
		c.slow |= kind
	}
	if c.srv.o.Recorder != nil {
		c.srv.o.Recorder.Record(r.ID.String(), took, outcome(err))
	}
	return err
}

// outcome is what counts as failure for who counts operations.
func outcome(err error) error {
	if _, ok := errors.AsType[*redirect](err); ok {
		return nil
	}
	return err
}

// run checks a request and hands it to its operation. Its error is answered to the client.
func (c *conn) run(r *request) error {
	if r.Length < 0 {
		return closing{refuse(wire.ArgInvalid, "the request's length is negative")}
	}
	if !r.ID.Known() {
		return c.skipRequest(r, refuse(wire.InvalidRequest, "the request is not known"))
	}
	op := &c.srv.ops[r.ID-wire.ReqAuth]
	if err := c.admit(r, op); err != nil {
		return c.skipRequest(r, err)
	}
	if op.streams {
		return op.run(c, r)
	}
	err := c.readPayload(r, op)
	if r.release != nil {
		defer r.release()
	}
	if err != nil {
		return err
	}
	return op.run(c, r)
}

// admit says whether the client may send the request now.
func (c *conn) admit(r *request, op *operation) error {
	switch {
	case c.refusal != nil && r.ID != wire.ReqProtocol && r.ID != wire.ReqPing && r.ID != wire.ReqLogin:
		return closing{c.refusal}
	case op.always:
		return nil
	case c.session == nil:
		return closing{refuse(wire.InvalidRequest, r.ID.String()+" before login")}
	case !c.ready():
		return refuse(wire.NotAuthorized, r.ID.String()+" before authentication")
	case op.run == nil:
		return refuse(wire.Unsupported, r.ID.String()+" is not supported")
	}
	return nil
}

// skipRequest drops the payload of a request that is refused.
func (c *conn) skipRequest(r *request, err error) error {
	if r.Length > drainMax && r.ID != wire.ReqWrite && r.ID != wire.ReqPgwrite {
		return closing{err}
	}
	return c.drain(int64(r.Length), err)
}

// drain drops n bytes of data and passes err on; it only fails differently when the connection does.
func (c *conn) drain(n int64, err error) error {
	if int64(c.in.Buffered()) < n {
		defer c.hurry(n)()
	}
	if e := c.in.Drain(n); e != nil {
		return closing{e}
	}
	return err
}

func (c *conn) readPayload(r *request, op *operation) error {
	limit := max(payloadMax, op.payload)
	n := int(r.Length)
	switch {
	case n > limit:
		return c.skipRequest(r, refuse(wire.ArgTooLong, "the request is longer than the server takes"))
	case n <= c.in.Buffered():
		b, err := c.in.Peek(n)
		if err != nil {
			return err
		}
		r.payload = b
		c.in.Skip(n)
		return nil
	}
	return c.awaitPayload(r, n)
}

// awaitPayload reads a payload that is long, or not there yet: what waits for its client counts for it.
func (c *conn) awaitPayload(r *request, n int) error {
	if n > transport.BufferSize && c.srv.o.Role == RoleNode && c.session != nil && c.session.open.Load() == 0 {
		return c.skipRequest(r, refuse(wire.ArgTooLong, "a node takes requests of this length for open files only"))
	}
	defer c.hurry(int64(n))()
	if verdict := c.reserve(r, max(n, transport.BufferSize)); verdict != limits.Fits {
		return c.skipRequest(r, &waitFor{Seconds: 5, Text: "too many long requests are under way: " + verdict.String()})
	}
	if n <= transport.BufferSize {
		b, err := c.in.Peek(n)
		if err != nil {
			return closing{err}
		}
		r.payload = b
		c.in.Skip(n)
		return nil
	}
	// Memory grows only with the bytes that really come.
	b := make([]byte, 0, transport.BufferSize)
	for len(b) < n {
		p, err := c.in.Peek(min(n-len(b), transport.BufferSize/4))
		if err != nil {
			return closing{err}
		}
		b = append(b, p...)
		c.in.Skip(len(p))
	}
	r.payload = b
	return nil
}

// ok answers a request with a body, or none.
func (c *conn) ok(r *request, body []byte) error {
	return c.out.Answer(r.Stream, wire.StatusOK, body)
}

// okText answers with a text and the NUL that clients expect behind it.
func (c *conn) okText(r *request, text string) error {
	return c.ok(r, append([]byte(text), 0))
}

// answerError answers a request with what an operation returned; nothing for failures of the
// connection itself.
func (c *conn) answerError(r *request, err error) error {
	if _, gone := errors.AsType[transport.Broken](err); gone {
		return err
	}
	status, body := c.failure(r, err)
	return c.out.Answer(r.Stream, status, body)
}

// failure is the answer that reports err.
func (c *conn) failure(r *request, err error) (wire.Status, []byte) {
	if elsewhere, ok := errors.AsType[*redirect](err); ok {
		return wire.StatusRedirect, elsewhere.Append(make([]byte, 0, 8+len(elsewhere.Host)+len(elsewhere.Opaque)))
	}
	if later, ok := errors.AsType[*waitFor](err); ok {
		return wire.StatusWait, wire.Wait(*later).Append(nil)
	}
	trace := r.traceID()
	answer := answerOf(err, trace)
	level := slog.LevelDebug
	if answer.Code == wire.ServerError {
		level = slog.LevelWarn
	}
	if c.srv.o.Log.Enabled(c.ctx, level) {
		c.srv.o.Log.Log(c.ctx, level, "request failed", "op", r.ID.String(), "code", int(answer.Code), "err", err, "peer", c.peer.Remote, "trace", trace)
	}
	return wire.StatusError, wire.AppendError(nil, answer)
}

// traceID is made when something needs it.
func (r *request) traceID() string {
	if r.trace == "" {
		r.trace = hemera.NewTraceID()
	}
	return r.trace
}

// traced is the connection's context with the request's trace id.
func (c *conn) traced(r *request) context.Context { return hemera.WithTrace(c.ctx, r.traceID()) }

// who is the identity of an authenticated client.
func (c *conn) who() hemera.Identity { return *c.session.identity() }
