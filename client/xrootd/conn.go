package xrootd

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// Conn is one logged-in session: many requests in flight, answered in any order, over one TCP connection. One goroutine
// reads, one checks timeouts; callers write. When the connection is lost, every request in flight fails at once and the
// Conn is not usable any more. Methods are safe for concurrent use.
type Conn struct {
	endpoint Endpoint
	opts     Options // complete
	nc       net.Conn
	in       *receiver // the reading goroutine's
	out      *sender

	// Set by the login, constant afterwards.
	flags   uint32         // of the server, from the answer to kXR_protocol
	version uint32         // of the protocol that the server speaks
	session wire.SessionID // with which a later session ends this one

	free  chan uint16   // free slots for requests; its capacity bounds them
	down  chan struct{} // closed once, by fail
	users atomic.Int64  // open files and borrowers: the session is not idle
	heard atomic.Int64  // time of the last bytes received, in Unix nanoseconds

	mu    sync.Mutex // guards calls, err, and in each call the fields above its line
	calls []*call    // by slot; nil is free
	err   error      // reason of its end
}

// greetingSlot is for the answer to the handshake, which has no stream id. No request uses it.
const greetingSlot = 0

// newConn wraps a new connection; log in before use.
func newConn(nc net.Conn, e Endpoint, o Options) *Conn {
	c := &Conn{
		endpoint: e, opts: o, nc: nc, in: newReceiver(nc), out: newSender(nc),
		free: make(chan uint16, o.InFlight), down: make(chan struct{}), calls: make([]*call, o.InFlight+1),
	}
	for slot := greetingSlot + 1; slot <= o.InFlight; slot++ {
		c.free <- uint16(slot)
	}
	c.heard.Store(time.Now().UnixNano())
	return c
}

// Endpoint returns the server and user of the session.
func (c *Conn) Endpoint() Endpoint { return c.endpoint }

// HasPages reports whether the server supports pgread and pgwrite: it announces them, and its version is new enough.
func (c *Conn) HasPages() bool {
	return c.flags&wire.FlagSupPgrw != 0 && c.version >= wire.VersionPages
}

// Down returns a channel that is closed when the session has ended, for any reason. An ended Conn stays ended.
func (c *Conn) Down() <-chan struct{} { return c.down }

// Close ends the session; requests in flight fail with Unavailable. The server closes the session's open files.
func (c *Conn) Close() error {
	c.fail(errs.New(errs.Cancelled, "xrootd.TalkTo", c.endpoint.String(), "closed"))
	return nil
}

// fail ends the session and all calls, except one that the reading goroutine is processing; that goroutine ends it
// itself.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	if c.err != nil { // the first reason counts
		c.mu.Unlock()
		return
	}
	c.err = err
	var ended []*call
	for slot, k := range c.calls {
		if k != nil && !k.busy { // endFrame completes a busy one
			c.calls[slot] = nil
			ended = append(ended, k)
		}
	}
	c.mu.Unlock()
	close(c.down)
	c.nc.Close() // wakes the reading goroutine and a writer
	for _, k := range ended {
		if !k.abandoned {
			k.complete(answer{err: lost(c.endpoint, true, err)})
		}
	}
}

// streamID returns a slot in its wire form. Servers return it unchanged; its 16 bits bound the requests in flight.
func streamID(slot uint16) (id wire.StreamID) {
	binary.BigEndian.PutUint16(id[:], slot)
	return id
}

// send queues a request; flush sends it. The payload must not change until the flush has returned. It blocks while too
// many requests are in flight. If it returns nil, finish will be called, or done closed, exactly once; after an error
// never.
func (c *Conn) send(ctx context.Context, k *call, r wire.Request, payload ...[]byte) error {
	// A free slot is the right to send one request.
	select {
	case k.slot = <-c.free:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.down:
		return lost(c.endpoint, false, c.reason())
	}
	if k.finish == nil {
		k.done = make(chan struct{})
	}
	k.since = time.Now() // before it is in the socket, so that waiting for other senders counts as silence too
	// Zero does not mean "no limit": each request has one.
	if k.silenceMax == 0 {
		k.silenceMax = c.opts.Stall
	}
	c.mu.Lock()
	if c.err != nil {
		err := c.err
		c.mu.Unlock()
		return lost(c.endpoint, false, err)
	}
	c.calls[k.slot] = k
	c.mu.Unlock()

	n := 0
	for _, p := range payload {
		n += len(p)
	}
	var head [wire.RequestHeaderSize]byte
	c.out.queue(wire.AppendRequest(head[:0], streamID(k.slot), r, n), payload, n)
	return nil
}

// flush writes everything queued. Its failure also fails the calls, so it returns nothing.
func (c *Conn) flush() {
	if err := c.out.flush(); err != nil {
		c.fail(err)
	}
}

// reason returns the reason why the session has ended; nil while it is alive.
func (c *Conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// wait returns the answer of a sent call. If the context ends first, the call is abandoned: its sink is not used any more
// once wait has returned.
func (c *Conn) wait(ctx context.Context, k *call) answer {
	select {
	case <-k.done:
		return k.answer
	default:
	}
	select {
	case <-k.done:
		return k.answer
	case <-ctx.Done():
	}
	if c.abandon(k) {
		return answer{err: ctx.Err()}
	}
	<-k.done
	if k.answer.err != nil {
		return answer{err: ctx.Err()}
	}
	return k.answer
}

// abandon ends the caller's part of a call: its answer is not needed any more. It returns false if the call has finished
// or will finish very soon.
func (c *Conn) abandon(k *call) bool {
	c.mu.Lock()
	if c.calls[k.slot] != k {
		c.mu.Unlock()
		return false
	}
	if !k.busy {
		k.abandoned = true
		c.mu.Unlock()
		return true
	}
	c.mu.Unlock()
	// A frame that may never end is being written to the caller's memory.
	c.fail(errors.New("abandoned in the middle of an answer"))
	return false
}

// roundTrip sends one request and waits for its answer, which goes to the sink if there is one.
func (c *Conn) roundTrip(ctx context.Context, s sink, r wire.Request, payload ...[]byte) answer {
	k := &call{sink: s}
	if err := c.send(ctx, k, r, payload...); err != nil {
		return answer{err: err}
	}
	c.flush()
	return c.wait(ctx, k)
}

// Ping blocks until the server has answered on this session.
func (c *Conn) Ping(ctx context.Context) error {
	return c.roundTrip(ctx, nil, wire.Ping{}).failure("xrootd.Ping", c.endpoint.String())
}

// writeUserTimeout is the time for which a server may accept no data of a write: longer than a node waits for a disk that
// has stalled, after which it continues on another disk or fails.
const writeUserTimeout = 45 * time.Second

// raiseUserTimeout keeps the kernel from ending the session while its server accepts no data. The kernel cannot
// distinguish that from a server that is gone: Options.UserTimeout bounds both.
func (c *Conn) raiseUserTimeout() {
	socket, ok := c.nc.(syscall.Conn) // not in simulations
	if !ok || c.opts.UserTimeout >= writeUserTimeout {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return // it is closed
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(writeUserTimeout.Milliseconds()))
	})
}
