package xrd

import (
	"sync"

	"hemera"
	"hemera/wire"
)

const (
	// maxSubstreams is how many connections may be bound to one session, the reference's number.
	maxSubstreams = 15
	// substreamQueue is how many reads may wait for one bound connection.
	substreamQueue = 32
)

// substream is a bound connection as its session sees it: reads are queued for it, and a worker runs
// them and writes the answers there (§2.4).
type substream struct {
	session *session
	id      uint8
	conn    *conn
	quit    chan struct{}
	once    sync.Once
	done    chan struct{}

	mu     sync.Mutex // held while something is put into work
	closed bool
	work   chan substreamRead
}

// substreamRead is one read whose answer goes out on a bound connection.
type substreamRead struct {
	request request
	file    hemera.File
	done    *sync.WaitGroup
	off, n  int64
	pages   bool
}

// doBind makes this connection carry answers of another's session.
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
	l := &substream{session: ss, conn: c, quit: make(chan struct{}), done: make(chan struct{}), work: make(chan substreamRead, substreamQueue)}
	if err := ss.addSubstream(l); err != nil {
		return err
	}
	c.bound = l
	c.shared.Store(ss)
	c.becameReady()
	go l.run()
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
func (c *conn) onSubstream(id uint8, r substreamRead) error {
	l := c.session.substream(id)
	r.request.payload = nil
	if l == nil || !l.submit(r, c.out.flush) {
		return refuse(wire.ArgInvalid, "no such path")
	}
	return nil
}

func (l *substream) submit(r substreamRead, beforeWait func() error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	r.done.Add(1)
	select {
	case l.work <- r:
		return true
	default:
	}
	_ = beforeWait()
	select {
	case l.work <- r:
		return true
	case <-l.quit:
		r.done.Done()
		return false
	}
}

func (l *substream) stop() { l.once.Do(func() { close(l.quit) }) }

// close ends the link; its connection's goroutine calls it.
func (l *substream) close() {
	l.stop()
	<-l.done
	l.session.mu.Lock()
	defer l.session.mu.Unlock()
	l.session.substreams[l.id] = nil
}

func (l *substream) run() {
	defer close(l.done)
	for {
		select {
		case r := <-l.work:
			l.serve(r)
		case <-l.quit:
			l.drop()
			return
		}
	}
}

func (l *substream) serve(r substreamRead) {
	defer r.done.Done()
	defer l.conn.contain()
	l.answer(r)
}

// drop forgets what is queued: the client asks again elsewhere.
func (l *substream) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for {
		select {
		case r := <-l.work:
			r.done.Done()
		default:
			return
		}
	}
}

func (l *substream) answer(r substreamRead) {
	send := sendRead
	if r.pages {
		send = sendPages
	}
	err := send(l.conn.out, r.request.Stream, r.file, r.off, r.n)
	if err != nil {
		err = l.conn.answerError(&r.request, err)
	}
	if err == nil && len(l.work) == 0 {
		err = l.conn.out.flush()
	}
	if err != nil {
		_ = l.conn.nc.Close()
		l.stop()
	}
}
