package link

import (
	"errors"
	"io"
	"math"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// ErrAgain is what [Socket.TryRead] returns when nothing is there.
var ErrAgain = errors.New("nothing to read yet")

// Socket is a TCP connection that belongs to a [Loop]. As a [net.Conn] it behaves like package net's,
// but for these: one goroutine reads at a time, and one writes. Between two requests its owner can leave it
// to the loop ([Socket.Park]), and no goroutine exists for it.
type Socket struct {
	loop          *Loop
	fd            int
	local, remote net.Addr

	in, out gate
	hungUp  atomic.Bool  // the peer ended its side, or the connection failed: read until the end
	users   atomic.Int64 // of fd; below zero once closed

	mu       sync.Mutex // held while interest changes
	interest uint32     // the events the loop is told of

	vec []unix.Iovec // scratch of Writev

	poller atomic.Pointer[poller] // whose goroutine serves the connection; nil for any other

	// The reader's.
	drained bool   // the last read emptied the socket
	goOn    func() // what is parked
}

func newSocket(l *Loop, tcp *net.TCPConn) (*Socket, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &Socket{loop: l, interest: unix.EPOLLIN, local: tcp.LocalAddr(), remote: tcp.RemoteAddr()}
	s.in.wake, s.out.wake = make(chan struct{}, 1), make(chan struct{}, 1)
	var failed error
	err = raw.Control(func(fd uintptr) { s.fd, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	if err := l.watchFor(s); err != nil {
		_ = unix.Close(s.fd)
		return nil, err
	}
	return s, nil
}

// event is called by a poller with what happened. It reports whether it woke a goroutine.
func (s *Socket) event(events uint32, p *poller) (woke bool) {
	if events&(unix.EPOLLHUP|unix.EPOLLRDHUP|unix.EPOLLERR) != 0 {
		s.hungUp.Store(true)
		events |= unix.EPOLLIN | unix.EPOLLOUT
	}
	if events&unix.EPOLLOUT != 0 {
		woke = s.out.signal() == waiting
	}
	if events&unix.EPOLLIN == 0 {
		return woke
	}
	switch s.in.signal() {
	case waiting:
		woke = true
	case parked:
		s.resume(p)
	}
	return woke
}

// resume goes on with a parked connection, on the caller's goroutine.
func (s *Socket) resume(p *poller) {
	s.in.take()
	s.drained = false
	s.poller.Store(p)
	s.goOn()
}

// Park leaves the connection to the loop until something can be read, or the connection ended; goOn
// is then called on one of the loop's goroutines. It reports false, and does nothing, when that
// is so already. After true the caller must not touch the connection any more.
func (s *Socket) Park(goOn func()) bool {
	s.goOn = goOn
	p := s.poller.Swap(nil)
	if s.in.state.CompareAndSwap(quiet, parked) {
		s.setInterest(unix.EPOLLIN, true)
		return true
	}
	s.in.take()
	s.drained = false
	s.poller.Store(p)
	return false
}

// Lend tells that the goroutine serving the connection is about to do something that may take
// longer than a few microseconds, so that the loop has another take its place.
func (s *Socket) Lend() {
	if p := s.poller.Load(); p != nil {
		s.loop.lend(p)
	}
}

// TryRead reads what is there, or returns ErrAgain.
func (s *Socket) TryRead(p []byte) (int, error) {
	if s.drained {
		if !s.in.take() {
			return 0, ErrAgain
		}
		s.drained = false
	}
	if !s.use() {
		return 0, net.ErrClosed
	}
	n, err := receive(s.fd, p)
	s.done()
	switch {
	case err == unix.EAGAIN:
		s.drained = true
		return 0, ErrAgain
	case err != nil:
		return 0, s.failed("read", err)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	s.drained = n < len(p) && !s.hungUp.Load()
	return n, nil
}

// Read implements net.Conn.
func (s *Socket) Read(p []byte) (int, error) {
	for {
		n, err := s.TryRead(p)
		if err != ErrAgain {
			return n, err
		}
		if err := s.WaitRead(); err != nil {
			return 0, err
		}
	}
}

// WaitRead waits until TryRead may find something, up to the deadline.
func (s *Socket) WaitRead() error {
	err := s.wait(&s.in, unix.EPOLLIN)
	s.drained = false
	if err != nil {
		return s.failed("read", err)
	}
	return nil
}

// wait waits for one direction. Transfers wait often and shortly, and are woken with less effort on
// a thread of their own; the loop watches the connections of those that wait longer, or are too many.
func (s *Socket) wait(g *gate, event uint32) error {
	s.Lend()
	s.setInterest(event, false)
	if s.loop.lingering.Add(1) <= s.loop.lingerers {
		ready, err := s.linger(g, event)
		s.loop.lingering.Add(-1)
		if ready || err != nil {
			return err
		}
	} else {
		s.loop.lingering.Add(-1)
	}
	s.setInterest(event, true)
	err := g.wait()
	s.setInterest(event, false)
	return err
}

// lingerTime is how long a transfer keeps a thread while it waits for its client.
const lingerTime = 10 * time.Millisecond

// linger waits a little, in the kernel.
func (s *Socket) linger(g *gate, event uint32) (ready bool, err error) {
	left, ok := g.left()
	if !ok {
		return false, os.ErrDeadlineExceeded
	}
	if !s.use() {
		return false, net.ErrClosed
	}
	defer s.done()
	g.poll[0] = unix.PollFd{Fd: int32(s.fd), Events: int16(event)}
	n, err := unix.Poll(g.poll[:], int(min(left, lingerTime).Milliseconds()))
	if err == unix.EINTR {
		return true, nil
	}
	return n > 0, err
}

// setInterest has the loop told of an event, or not.
func (s *Socket) setInterest(event uint32, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := s.interest &^ event
	if on {
		want |= event
	}
	if want == s.interest || !s.use() {
		return
	}
	defer s.done()
	if s.loop.change(s.fd, want) == nil {
		s.interest = want
	}
}

// Write implements net.Conn.
func (s *Socket) Write(p []byte) (int, error) {
	done := 0
	err := s.write("write", func() (bool, error) {
		n, err := send(s.fd, p[done:])
		done += max(n, 0)
		return done == len(p), err
	})
	return done, err
}

// write calls step until it is done or fails, waiting while the socket is full.
func (s *Socket) write(op string, step func() (done bool, err error)) error {
	for {
		if !s.use() {
			return net.ErrClosed
		}
		done, err := step()
		s.done()
		switch {
		case err == nil && done:
			return nil
		case err == nil, err == unix.EINTR:
			continue
		case err != unix.EAGAIN:
			return s.failed(op, err)
		}
		if err := s.wait(&s.out, unix.EPOLLOUT); err != nil {
			return s.failed(op, err)
		}
	}
}

// Close ends the connection. Whoever waits for it gets net.ErrClosed, and a parked one goes on to
// find that out.
func (s *Socket) Close() error {
	for {
		n := s.users.Load()
		if n < 0 {
			return net.ErrClosed
		}
		if s.users.CompareAndSwap(n, n+1+math.MinInt64) {
			break
		}
	}
	_ = unix.Shutdown(s.fd, unix.SHUT_RDWR)
	s.out.signal()
	if s.in.signal() == parked {
		go s.resume(nil)
	}
	s.done()
	return nil
}

// use keeps the descriptor until done, unless the connection is closed.
func (s *Socket) use() bool {
	for {
		n := s.users.Load()
		if n < 0 {
			return false
		}
		if s.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (s *Socket) done() {
	if s.users.Add(-1) == math.MinInt64 {
		s.loop.sockets.set(s.fd, nil)
		_ = unix.Close(s.fd)
	}
}

func (s *Socket) failed(op string, err error) error {
	if s.users.Load() < 0 {
		err = net.ErrClosed
	}
	return &net.OpError{Op: op, Net: "tcp", Source: s.local, Addr: s.remote, Err: err}
}

// LocalAddr implements net.Conn.
func (s *Socket) LocalAddr() net.Addr { return s.local }

// RemoteAddr implements net.Conn.
func (s *Socket) RemoteAddr() net.Addr { return s.remote }

// SetReadDeadline bounds waiting in Read and WaitRead; a parked connection has no deadline.
func (s *Socket) SetReadDeadline(t time.Time) error {
	s.in.setDeadline(t)
	return nil
}

// SetWriteDeadline bounds waiting for the peer in everything that writes.
func (s *Socket) SetWriteDeadline(t time.Time) error {
	s.out.setDeadline(t)
	return nil
}

// SetDeadline implements net.Conn.
func (s *Socket) SetDeadline(t time.Time) error {
	s.in.setDeadline(t)
	s.out.setDeadline(t)
	return nil
}
