package xrd

import (
	"errors"
	"net"
	"sync"
	"time"

	"hemera/doors/xrd/transport"
	"hemera/rules/wire"
)

const (
	// maxSubstreams is how many connections may be bound to one session, the reference's number.
	maxSubstreams = 15
	// substreamQueue is how many requests may wait for one bound connection.
	substreamQueue = 32
)

// substream is a bound connection as its session sees it. Reads that are answered there and writes whose
// data comes there are queued for it, and the goroutine of the bound connection runs them in that order.
// Nothing else comes on a bound connection.
type substream struct {
	session *session
	id      uint8
	conn    *conn
	quit    chan struct{}
	once    sync.Once

	mu     sync.Mutex // held while something is put into work
	closed bool
	work   chan substreamWork
}

// errUnannounced ends a bound connection on which data came that no request announced.
var errUnannounced = errors.New("data came on a bound connection that no write announced")

// substreamWork is one request that is served on a bound connection.
type substreamWork struct {
	request request
	done    *sync.WaitGroup // of the handle; nil if the request is refused
	run     func(*conn) error
}

// doBind makes this connection carry data of another's session.
func (c *conn) doBind(r *request) error {
	if c.session != nil || c.bound != nil {
		return refuse(wire.InvalidRequest, "the connection is in use")
	}
	ss := c.srv.session(wire.DecodeBind(r.Body).Session)
	switch {
	case c.srv.o.Role == RoleManager && c.srv.o.Local == nil:
		return refuse(wire.Unsupported, "a manager has one stream")
	case ss == nil || ss.identity() == nil:
		return errNoSession
	case ss.conn.peer.Remote.Addr() != c.peer.Remote.Addr():
		return refuse(wire.NotAuthorized, "the session belongs to another host")
	}
	l := &substream{session: ss, conn: c, quit: make(chan struct{}), work: make(chan substreamWork, substreamQueue)}
	if err := ss.addSubstream(l); err != nil {
		return err
	}
	c.bound = l
	c.shared.Store(ss)
	c.becameReady()
	return c.ok(r, []byte{l.id})
}

func (ss *session) addSubstream(l *substream) error {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.ending {
		return errNoSession
	}
	for id := 1; id <= maxSubstreams; id++ {
		if ss.substreams[id] == nil {
			l.id = uint8(id)
			ss.substreams[id] = l
			ss.bound[id] = true
			return nil
		}
	}
	return refuse(wire.NoMemory, "the session has all the parallel connections it can")
}

func (ss *session) substream(id uint8) *substream {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if int(id) >= len(ss.substreams) {
		return nil
	}
	return ss.substreams[id]
}

// closeSubstreams cuts off the bound connections, for good; their own goroutines clean up.
func (ss *session) closeSubstreams() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.ending = true
	for _, l := range ss.substreams {
		if l != nil {
			_ = l.conn.nc.Close()
			l.stop()
		}
	}
}

// onSubstream queues a read for a bound connection. It waits while the queue is full.
func (c *conn) onSubstream(id uint8, w substreamWork) error {
	if l := c.session.substream(id); l != nil && l.submit(w, c.beforeQueue) {
		return nil
	}
	return refuse(wire.ArgInvalid, "no such path")
}

// writeOnSubstream queues a write to h whose data comes on a bound connection, where take takes it. cause, if
// not nil, is why it is refused; then the data is dropped there. Where nothing was ever bound as the path nobody
// knows where the data is: the connection is closed, lest data is taken for requests.
func (c *conn) writeOnSubstream(id uint8, r *request, h *handle, cause error, take func(*conn) error) error {
	w := substreamWork{request: *r, run: take}
	if cause == nil {
		w.done = &h.inflight
	} else {
		n := int64(r.Length)
		w.run = func(b *conn) error { return b.drain(n, cause) }
	}
	if l := c.session.substream(id); l != nil && l.submit(w, c.beforeQueue) {
		return nil
	}
	err := refuse(wire.ArgInvalid, "no connection is bound as this path")
	if r.Length > 0 && !c.session.wasBound(id) {
		return closing{err}
	}
	return err
}

// wasBound reports whether a connection was ever bound as the path: then a client may write on it that has
// not noticed that it is lost.
func (ss *session) wasBound(id uint8) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return int(id) < len(ss.bound) && ss.bound[id]
}

// beforeQueue runs before the connection waits for room in a queue.
func (c *conn) beforeQueue() {
	_ = c.out.Flush()
	c.lend()
}

func (l *substream) submit(w substreamWork, beforeWait func()) bool {
	w.request.payload, w.request.release = nil, nil
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if w.done != nil {
		w.done.Add(1)
	}
	select {
	case l.work <- w:
	default:
		beforeWait()
		select {
		case l.work <- w:
		case <-l.quit:
			w.finished()
			return false
		}
	}
	if l.conn.sock != nil {
		l.conn.sock.Wake()
	}
	return true
}

// finished lets the file of the request go.
func (w *substreamWork) finished() {
	if w.done != nil {
		w.done.Done()
		w.done = nil
	}
}

func (l *substream) stop() { l.once.Do(func() { close(l.quit) }) }

// close ends the link, and forgets what is queued: the client asks again elsewhere. The goroutine of its
// connection calls it.
func (l *substream) close() {
	l.stop()
	l.mu.Lock()
	l.closed = true
	for len(l.work) > 0 {
		w := <-l.work
		w.finished()
	}
	l.mu.Unlock()
	l.session.mu.Lock()
	defer l.session.mu.Unlock()
	l.session.substreams[l.id] = nil
}

// nextBound runs one request that was queued for the bound connection. Like [conn.next] it returns transport.ErrIdle
// when there is none.
func (c *conn) nextBound() error {
	w, err := c.bound.await(c)
	if err != nil {
		return err
	}
	c.busy.Store(true)
	c.working = w
	c.current = w.request
	return c.finishBound(w.run(c))
}

// finishBound answers a queued request that failed, and lets its file go.
func (c *conn) finishBound(err error) error {
	if err != nil {
		err = c.finish(&c.current, err)
	}
	c.working.finished()
	return err
}

// await takes the next request out of the queue.
func (l *substream) await(c *conn) (substreamWork, error) {
	select {
	case w := <-l.work:
		return w, nil
	default:
	}
	if err := c.out.Flush(); err != nil {
		return substreamWork{}, err
	}
	var late <-chan time.Time
	if c.sock != nil {
		_, err := c.in.Next(1)
		if err == transport.ErrIdle && len(l.work) == 0 {
			return substreamWork{}, err
		}
		if err != nil && err != transport.ErrIdle {
			return substreamWork{}, err
		}
		// Data is here before the request that announces it, which comes on another connection.
		c.lend()
		t := time.NewTimer(c.limits.RequestTime)
		defer t.Stop()
		late = t.C
	}
	select {
	case w := <-l.work:
		return w, nil
	case <-l.quit:
		return substreamWork{}, transport.Broken{Err: net.ErrClosed}
	case <-late:
		return substreamWork{}, transport.Broken{Err: errUnannounced}
	}
}
