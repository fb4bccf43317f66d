package transport

import (
	"errors"
	"io"
	"net"

	"hemera/platform/poll"
	"hemera/rules/wire"
)

// Source reads requests from a connection. It has a buffer only while there is data in it. Before it waits for the client
// it calls idle, so that answers are written exactly when no further request has arrived. It belongs to the goroutine
// that serves the connection.
type Source struct {
	conn net.Conn
	sock *poll.Socket // conn, if it is one
	idle func(betweenRequests bool) error
	pool *Pool

	buffer *[BufferSize]byte // nil while data is empty, or while data is in header and the connection waits
	data   []byte            // read, not consumed; within buffer or header
	header [wire.RequestHeaderSize]byte

	requests int // begun since the last fill
}

// ErrIdle is returned by [Source.Next] where it would wait.
var ErrIdle = errors.New("the connection waits for its client")

// NewSource makes the source of a connection. idle is called before each wait, with true before a wait for a new request
// and false before a wait for the rest of one. An error of idle ends the read.
func NewSource(conn net.Conn, pool *Pool, idle func(betweenRequests bool) error) *Source {
	sock, _ := conn.(*poll.Socket)
	return &Source{conn: conn, sock: sock, idle: idle, pool: pool}
}

// Buffered returns the number of bytes that can be read without waiting.
func (s *Source) Buffered() int { return len(s.data) }

// Begin records the begin of a request. With it Source distinguishes clients that send one request at a time from those
// that send many together.
func (s *Source) Begin() { s.requests++ }

// Next returns the next n bytes at the begin of a request. It works like [Source.Peek], but returns ErrIdle where Peek
// would wait, if the connection can be parked.
func (s *Source) Next(n int) ([]byte, error) {
	for len(s.data) < n {
		if err := s.fill(false); err != nil {
			return nil, err
		}
	}
	return s.data[:n], nil
}

// Peek returns the next n bytes, which stay unread and are valid until the next call. n is at most BufferSize. It waits
// for them.
func (s *Source) Peek(n int) ([]byte, error) {
	for len(s.data) < n {
		if err := s.fill(true); err != nil {
			return nil, err
		}
	}
	return s.data[:n], nil
}

// Skip consumes n bytes that Peek or Next has returned.
func (s *Source) Skip(n int) {
	s.data = s.data[n:]
}

// Drain reads and drops n bytes.
func (s *Source) Drain(n int64) error {
	for n > 0 {
		if len(s.data) == 0 {
			if err := s.fill(true); err != nil {
				return err
			}
		}
		k := min(n, int64(len(s.data)))
		s.Skip(int(k))
		n -= k
	}
	return nil
}

// ReadFull reads len(p) bytes. When the buffer is empty it reads directly into p.
func (s *Source) ReadFull(p []byte) error {
	k := copy(p, s.data)
	s.Skip(k)
	if k == len(p) {
		return nil
	}
	s.release()
	if err := s.idle(false); err != nil {
		return err
	}
	var err error
	if s.sock != nil {
		_, err = s.sock.ReadFull(p[k:])
	} else {
		_, err = io.ReadFull(s.conn, p[k:])
	}
	if err != nil {
		return broken(err)
	}
	return nil
}

// Close returns the memory and drops unread data. It does not close the connection.
func (s *Source) Close() {
	s.data = nil
	s.release()
}

// fill reads more data behind the existing. If there is none it waits or, outside a request, returns ErrIdle.
func (s *Source) fill(inside bool) error {
	s.compact()
	if s.sock == nil {
		if err := s.idle(!inside); err != nil {
			return err
		}
		return s.received(s.conn.Read(s.buffer[len(s.data):]))
	}
	// A client that sends one request at a time waits for its answer, so it is written before looking for more input.
	// When several requests came together, more may have come meanwhile.
	flushed := s.requests == 1
	s.requests = 0
	if flushed {
		if err := s.idle(!inside); err != nil {
			return err
		}
	}
	n, err := s.sock.TryRead(s.buffer[len(s.data):])
	if err != poll.ErrAgain {
		return s.received(n, err)
	}
	if !flushed {
		if err := s.idle(!inside); err != nil {
			return err
		}
	}
	if !inside {
		if n, err := s.sock.Linger(s.buffer[len(s.data):]); err != poll.ErrAgain {
			return s.received(n, err)
		}
		s.shrink()
		return ErrIdle
	}
	return s.received(s.sock.Read(s.buffer[len(s.data):]))
}

// received handles the result of one read.
func (s *Source) received(n int, err error) error {
	if n > 0 {
		s.data = s.buffer[:len(s.data)+n]
		return nil
	}
	if err == nil {
		err = io.EOF
	}
	return broken(err)
}

// compact moves unread data to the front of a buffer.
func (s *Source) compact() {
	if s.buffer == nil {
		s.buffer = s.pool.buffer()
	}
	n := copy(s.buffer[:], s.data)
	s.data = s.buffer[:n]
}

// release returns the buffer if it has no unread data.
func (s *Source) release() {
	if s.buffer != nil && len(s.data) == 0 {
		s.pool.buffers.Put(s.buffer)
		s.buffer, s.data = nil, nil
	}
}

// shrink returns the buffer before the connection waits. It copies a partial header, so that a client cannot occupy a
// buffer with one byte.
func (s *Source) shrink() {
	if len(s.data) == 0 {
		s.release()
		return
	}
	if s.buffer != nil && len(s.data) <= len(s.header) {
		n := copy(s.header[:], s.data)
		s.pool.buffers.Put(s.buffer)
		s.buffer, s.data = nil, s.header[:n]
	}
}

// Broken is a failure of the connection itself: nothing more can be read or answered.
type Broken struct{ Err error }

// Error implements error.
func (b Broken) Error() string { return b.Err.Error() }

// Unwrap returns the cause.
func (b Broken) Unwrap() error { return b.Err }

// broken wraps err in Broken unless it is wrapped already.
func broken(err error) error {
	if _, already := errors.AsType[Broken](err); already {
		return err
	}
	return Broken{err}
}
