package xrd

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/rules/wire"
)

const (
	// substreamsMax bounds the connections bound to one session, like the reference.
	substreamsMax = 15
	// substreamQueue bounds the requests that wait for one bound connection.
	substreamQueue = 32
)

// substreams has the connections bound to one session. It is safe for concurrent use.
type substreams struct {
	mu      sync.Mutex
	ended   bool                          // nothing can be bound any more
	streams [substreamsMax + 1]*substream // by path id; 0 is the session's own connection
	given   [substreamsMax + 1]bool       // path ids that were ever used
}

// add assigns a path id to a bound connection.
func (s *substreams) add(l *substream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errNoSession
	}
	for id := 1; id <= substreamsMax; id++ { // the lowest free id
		if s.streams[id] == nil {
			l.id = uint8(id)
			s.streams[id] = l
			s.given[id] = true
			return nil
		}
	}
	return translate.Refuse(wire.NoMemory, "the session has all the parallel connections it can")
}

// get returns the connection bound as a path id, or nil.
func (s *substreams) get(id uint8) *substream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int(id) >= len(s.streams) {
		return nil
	}
	return s.streams[id]
}

// remove frees a path id for another connection.
func (s *substreams) remove(id uint8) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[id] = nil
}

// wasGiven reports whether a connection was ever bound as the path id. If so, a client may still write on this connection
// because it has not detected its loss.
func (s *substreams) wasGiven(id uint8) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(id) < len(s.given) && s.given[id]
}

// close closes the bound connections and accepts no others. Their own goroutines clean up.
func (s *substreams) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, l := range s.streams {
		if l != nil {
			_ = l.conn.nc.Close()
			l.stop()
		}
	}
}

// queueRead queues a read for the connection bound as id, where run answers it. file is the file that it uses. It waits
// while the queue is full.
func (s *substreams) queueRead(id uint8, r *request, file *openFile, run func(*request) error) error {
	if l := s.get(id); l != nil && l.submit(queuedWork{request: *r, inUse: &file.inUse, run: run}) {
		return nil
	}
	return translate.Refuse(wire.ArgInvalid, "no such path")
}

// queueWrite queues a write to a file whose data arrives on the connection bound as id, where run reads it. A non-nil
// refusal is the reason why it is refused; then the data is dropped there. If no connection was ever bound as id, the
// server cannot know where the data is, and closes the connection, so that data is not taken for requests.
func (s *substreams) queueWrite(id uint8, r *request, file *openFile, refusal error, run func(*request) error) error {
	w := queuedWork{request: *r, run: run}
	if refusal == nil { // a close waits until the data is written
		w.inUse = &file.inUse
	} else {
		n := int64(r.Length)
		w.run = func(r *request) error { return r.drain(n, refusal) }
	}
	if l := s.get(id); l != nil && l.submit(w) {
		return nil
	}
	err := translate.Refuse(wire.ArgInvalid, "no connection is bound as this path")
	if r.Length > 0 && !s.wasGiven(id) {
		return closeAfter{err}
	}
	return err
}

// substream is a bound connection from the view of its session. Reads that are answered there and writes whose data
// arrives there are queued, and the goroutine of the bound connection serves them in that order. Clients send no requests
// on a bound connection.
type substream struct {
	session *session
	id      uint8
	conn    *conn
	// The session's goroutine waits for this one when the queue is full; quit ends that wait.
	quit chan struct{} // closed when the substream ends
	once sync.Once

	closed atomic.Bool // nothing is queued any more
	queue  chan queuedWork

	mu      sync.Mutex // guards reading
	reading bool       // without an event loop: the goroutine reads the connection, and wake may end that read
}

// errUnannounced ends a bound connection on which data arrived without a request.
var errUnannounced = errors.New("data came on a bound connection that no write announced")

// queuedWork is one request for a bound connection.
type queuedWork struct {
	request request
	inUse   *sync.WaitGroup // of the file; nil if the request is refused
	run     func(*request) error
}

// finish ends the use of the file. Later calls do nothing.
func (w *queuedWork) finish() {
	if w.inUse != nil {
		w.inUse.Done()
		w.inUse = nil
	}
}

// submit queues a request. It returns false if the connection is lost. It waits for room in the queue. Only the goroutine
// of the session's connection calls it.
func (l *substream) submit(w queuedWork) bool {
	if l.closed.Load() {
		return false
	}
	main := w.request.conn
	w.request.payload, w.request.release = nil, nil
	if w.inUse != nil {
		w.inUse.Add(1)
	}
	// The queue is full: before the wait, send the client its answers and lend the poller.
	select {
	case l.queue <- w:
	default:
		_ = main.out.Flush()
		main.lend()
		select {
		case l.queue <- w:
		case <-l.quit:
			w.finish()
			return false
		}
	}
	if l.closed.Load() { // close may have emptied the queue before this request was in it
		l.dropQueued()
		return true
	}
	l.wake()
	return true
}

// wake makes the bound connection check its queue: it may be parked, or reading. Without an event loop a past deadline
// ends the read.
func (l *substream) wake() {
	if l.conn.sock != nil {
		l.conn.sock.Wake()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reading { // otherwise the queue is checked before the next read
		l.reading = false
		_ = l.conn.nc.SetReadDeadline(time.Unix(1, 0))
	}
}

// beginRead precedes a read of the bound connection between two requests. Without an event loop such a read detects that
// the client closes the connection. It returns ErrIdle if the queue is not empty.
func (l *substream) beginRead() error {
	l.mu.Lock()
	l.reading = true // before the check of the queue: a request queued after the check wakes the read
	l.mu.Unlock()
	if len(l.queue) > 0 {
		return transport.ErrIdle
	}
	return nil
}

// endRead follows the read, and returns its error, or ErrIdle if wake ended it.
func (l *substream) endRead(err error) error {
	l.mu.Lock()
	woken := !l.reading
	l.reading = false
	l.mu.Unlock()
	if !woken {
		return err
	}
	_ = l.conn.nc.SetReadDeadline(time.Time{}) // if it fails the next read does
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return transport.ErrIdle
	}
	return err
}

func (l *substream) stop() { l.once.Do(func() { close(l.quit) }) }

// close ends the substream and drops its queue: the client asks again elsewhere. The goroutine of the bound connection
// calls it.
func (l *substream) close() {
	l.stop()
	l.closed.Store(true)
	l.dropQueued()
	l.session.streams.remove(l.id)
}

// dropQueued ends the queued work. It may run in two goroutines at once.
func (l *substream) dropQueued() {
	for {
		select {
		case w := <-l.queue:
			w.finish()
		default:
			return
		}
	}
}

// next takes the next request out of the queue. It waits for one, or returns ErrIdle if the connection can be parked.
// While it waits it detects the end of the connection, by an event or by a read that a request ends.
func (l *substream) next(c *conn) (queuedWork, error) {
	select {
	case w := <-l.queue: // without a flush while there is more work
		return w, nil
	default:
	}
	if err := c.out.Flush(); err != nil {
		return queuedWork{}, err
	}
	_, err := c.in.Next(1)
	if c.sock == nil {
		err = l.endRead(err)
	}
	if err == transport.ErrIdle && len(l.queue) == 0 && c.sock != nil || err != nil && err != transport.ErrIdle {
		return queuedWork{}, err
	}
	// Data arrived before its request, which comes on another connection. Or the request came meanwhile.
	c.lend()
	late := time.NewTimer(c.srv.o.Limits.RequestTime)
	defer late.Stop()
	select {
	case w := <-l.queue:
		return w, nil
	case <-l.quit:
		return queuedWork{}, transport.Broken{Err: net.ErrClosed}
	case <-late.C:
		return queuedWork{}, transport.Broken{Err: errUnannounced}
	}
}
