package xrd

import (
	"io"
	"net"
	"syscall"
)

// source reads requests from a connection. It holds a buffer only while there is something in it:
// a connection that waits costs no memory. Before it waits it calls idle, so that answers are
// written exactly when no further request is at hand.
type source struct {
	conn net.Conn
	raw  syscall.RawConn // nil when the connection is not a socket
	idle func() error
	pool *pool

	whole *[bufferSize]byte // nil while data is empty and the connection waits
	data  []byte            // read, not consumed; within whole

	requests int // begun since the last fill

	attempt func(fd uintptr) bool // made once: one step of fill
	n       int                   // its results
	err     error
	waited  bool
}

func newSource(conn net.Conn, pool *pool, idle func() error) *source {
	s := &source{conn: conn, pool: pool, idle: idle}
	if sc, ok := conn.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			s.raw = raw
		}
	}
	s.attempt = s.tryRead
	return s
}

// peek returns the next n bytes, which stay unread and valid until the next call; n is at most
// bufferSize.
func (s *source) peek(n int) ([]byte, error) {
	for len(s.data) < n {
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
	return s.data[:n], nil
}

// skip consumes n bytes that peek returned.
func (s *source) skip(n int) {
	s.data = s.data[n:]
}

// drain reads n bytes and drops them.
func (s *source) drain(n int64) error {
	for n > 0 {
		if len(s.data) == 0 {
			if err := s.fill(); err != nil {
				return err
			}
		}
		k := min(n, int64(len(s.data)))
		s.skip(int(k))
		n -= k
	}
	return nil
}

// readFull reads len(p) bytes, past the buffer once that is empty.
func (s *source) readFull(p []byte) error {
	k := copy(p, s.data)
	s.skip(k)
	if k == len(p) {
		return nil
	}
	s.release()
	if err := s.idle(); err != nil {
		return err
	}
	if _, err := io.ReadFull(s.conn, p[k:]); err != nil {
		return broken{err}
	}
	return nil
}

// fill reads more, behind what is there.
func (s *source) fill() error {
	s.makeRoom()
	if s.raw == nil {
		return s.fillPlain()
	}
	s.n, s.err, s.waited = 0, nil, false
	if s.requests == 1 {
		// A client that sends one request at a time waits for its answer: looking for more first
		// would only delay it. When several came together, more may have come meanwhile.
		s.waited = true
		if err := s.idle(); err != nil {
			return err
		}
	}
	s.requests = 0
	if err := s.raw.Read(s.attempt); err != nil {
		return broken{err}
	}
	return s.took(s.n, s.err)
}

func (s *source) fillPlain() error {
	if err := s.idle(); err != nil {
		return err
	}
	n, err := s.conn.Read(s.whole[len(s.data):])
	if n > 0 {
		err = nil
	}
	return s.took(n, err)
}

// took accounts for the outcome of one read.
func (s *source) took(n int, err error) error {
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return broken{err}
	}
	s.data = s.whole[:len(s.data)+n]
	return nil
}

// tryRead is called by the runtime until it returns true, each time the socket may be readable.
func (s *source) tryRead(fd uintptr) bool {
	s.makeRoom()
	for {
		s.n, s.err = syscall.Read(int(fd), s.whole[len(s.data):])
		if s.err != syscall.EINTR {
			break
		}
	}
	if s.err != syscall.EAGAIN {
		return true
	}
	s.n, s.err = 0, nil
	if !s.waited {
		s.waited = true
		if s.err = s.idle(); s.err != nil {
			return true
		}
	}
	if len(s.data) == 0 {
		s.release()
	}
	return false
}

// makeRoom moves what is unread to the front of a buffer.
func (s *source) makeRoom() {
	if s.whole == nil {
		s.whole = s.pool.buffer()
	}
	n := copy(s.whole[:], s.data)
	s.data = s.whole[:n]
}

// release gives the buffer back; nothing unread may be in it.
func (s *source) release() {
	if s.whole != nil && len(s.data) == 0 {
		s.pool.buffers.Put(s.whole)
		s.whole, s.data = nil, nil
	}
}

// broken is a failure of the connection itself: nothing more can be read or answered.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }
