package xrd

import (
	"errors"
	"io"
	"net"

	"hemera/platform/link"
	"hemera/rules/wire"
)

// source reads requests from a connection. It holds a buffer only while there is something in it:
// a connection that waits costs no memory. Before it waits it calls idle, so that answers are
// written exactly when no further request is at hand; between says that it waits for a request, and not
// for the rest of one.
type source struct {
	conn net.Conn
	sock *link.Socket // conn, if it is one
	idle func(between bool) error
	pool *pool

	whole *[bufferSize]byte // nil while data is empty, or within few, and the connection waits
	data  []byte            // read, not consumed; within whole or few
	few   [wire.RequestHeaderSize]byte

	requests int // begun since the last fill
}

// errIdle is what [source.next] returns instead of waiting.
var errIdle = errors.New("the connection waits for its client")

func newSource(conn net.Conn, pool *pool, idle func(between bool) error) *source {
	sock, _ := conn.(*link.Socket)
	return &source{conn: conn, sock: sock, idle: idle, pool: pool}
}

// next is peek for the beginning of a request: it returns errIdle where peek would wait, if the
// connection can be parked.
func (s *source) next(n int) ([]byte, error) {
	for len(s.data) < n {
		if err := s.fill(false); err != nil {
			return nil, err
		}
	}
	return s.data[:n], nil
}

// peek returns the next n bytes, which stay unread and valid until the next call; n is at most
// bufferSize.
func (s *source) peek(n int) ([]byte, error) {
	for len(s.data) < n {
		if err := s.fill(true); err != nil {
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
			if err := s.fill(true); err != nil {
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
		return broken{err}
	}
	return nil
}

// fill reads more, behind what is there. If there is nothing it waits, or, when it is not inside a request,
// returns errIdle.
func (s *source) fill(inside bool) error {
	s.makeRoom()
	if s.sock == nil {
		if err := s.idle(!inside); err != nil {
			return err
		}
		return s.took(s.conn.Read(s.whole[len(s.data):]))
	}
	// A client that sends one request at a time waits for its answer: looking for more first would
	// only delay it. When several came together, more may have come meanwhile.
	flushed := s.requests == 1
	s.requests = 0
	if flushed {
		if err := s.idle(!inside); err != nil {
			return err
		}
	}
	n, err := s.sock.TryRead(s.whole[len(s.data):])
	if err != link.ErrAgain {
		return s.took(n, err)
	}
	if !flushed {
		if err := s.idle(!inside); err != nil {
			return err
		}
	}
	if !inside {
		s.shelve()
		return errIdle
	}
	return s.took(s.sock.Read(s.whole[len(s.data):]))
}

// took accounts for the outcome of one read.
func (s *source) took(n int, err error) error {
	if n > 0 {
		s.data = s.whole[:len(s.data)+n]
		return nil
	}
	if err == nil {
		err = io.EOF
	}
	return broken{err}
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

// shelve gives the buffer back for as long as the connection waits: what there is of a header is kept aside, so
// that a client cannot hold a buffer with one byte.
func (s *source) shelve() {
	if len(s.data) == 0 {
		s.release()
		return
	}
	if s.whole != nil && len(s.data) <= len(s.few) {
		n := copy(s.few[:], s.data)
		s.pool.buffers.Put(s.whole)
		s.whole, s.data = nil, s.few[:n]
	}
}

// broken is a failure of the connection itself: nothing more can be read or answered.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }
