package poll

import (
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hemera/platform/iovec"
)

// ErrAgain is the error of [Socket.TryRead] if no byte is available and the connection has not ended.
var ErrAgain = errors.New("nothing to read yet")

// Socket is a TCP connection that belongs to a [Loop]. It is a [net.Conn] like package net's, with two differences: only
// one goroutine at a time may read, and one may write. Between two requests its owner can leave it to the loop
// ([Socket.Park]), so that it needs no goroutine.
type Socket struct {
	loop          *Loop
	fd            int // not shared; valid between use and done
	local, remote net.Addr
	closed        func() // called once, by Close

	in, out gate
	hungUp  atomic.Bool  // the peer closed its side, or the connection failed: read until the end
	users   atomic.Int64 // number of calls that use fd; once closed, math.MinInt64 is added

	blocking atomic.Bool // mode of the descriptor: O_NONBLOCK is off; shared by the reader and the writer
	mu       sync.Mutex  // held while interest changes
	interest uint32      // the events that the loop gets: EPOLLIN, EPOLLOUT

	list iovec.List // the writer's: the rest that Writev has to write, empty between calls

	poller atomic.Pointer[poller] // the poller whose goroutine serves the connection; nil on any other goroutine

	// These belong to the reader; resume uses them while the connection is parked.
	drained  bool      // the last read emptied the socket, so the next one needs an event first
	goOn     func()    // continues a parked connection
	parkedAt time.Time // when the owner last called Park
	prompt   bool      // the client's last request came within lingerTime
}

// newSocket makes a socket with its own descriptor for a TCP connection, which the caller closes. Until then Go's poller
// keeps the old descriptor.
func newSocket(l *Loop, tcp *net.TCPConn, closed func()) (*Socket, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &Socket{loop: l, closed: closed, interest: unix.EPOLLIN, local: tcp.LocalAddr(), remote: tcp.RemoteAddr()}
	s.in.wake, s.out.wake = make(chan struct{}, 1), make(chan struct{}, 1)
	var failed error
	err = raw.Control(func(fd uintptr) { s.fd, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	if err := s.setUp(); err != nil {
		_ = unix.Close(s.fd)
		return nil, err
	}
	return s, nil
}

// setUp bounds the time that one call waits in the kernel (SO_SNDTIMEO, SO_RCVTIMEO: socket(7)), and registers the
// socket.
func (s *Socket) setUp() error {
	linger := unix.NsecToTimeval(lingerTime.Nanoseconds())
	for _, option := range []int{unix.SO_SNDTIMEO, unix.SO_RCVTIMEO} {
		if err := unix.SetsockoptTimeval(s.fd, unix.SOL_SOCKET, option, &linger); err != nil {
			return err
		}
	}
	return s.loop.watchFor(s)
}

// event handles an event from the kernel; the poller p calls it. If the connection is parked, event serves it and returns
// when that is done. It reports whether it woke a goroutine.
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

// resume continues a parked connection on the caller's goroutine, which owns the connection then. p is the goroutine's
// poller, or nil.
func (s *Socket) resume(p *poller) {
	s.in.take()
	s.drained = false
	s.prompt = time.Since(s.parkedAt) < lingerTime
	s.poller.Store(p)
	s.goOn()
}

// Park leaves the connection to the loop until it is readable or has ended; then the loop calls goOn on one of its
// goroutines. If that is so already, Park does nothing and returns false. After true the caller must not touch the
// connection any more.
func (s *Socket) Park(goOn func()) bool {
	s.goOn, s.parkedAt = goOn, time.Now()
	p := s.poller.Swap(nil) // before the state: another poller may resume the connection at once
	if s.in.state.CompareAndSwap(quiet, parked) {
		s.setInterest(unix.EPOLLIN, true)
		return true
	}
	s.in.take()
	s.drained, s.prompt = false, true
	s.poller.Store(p)
	return false
}

// Wake resumes a parked connection, on a new goroutine, as if it were readable. If it is not parked, its next Park
// returns false.
func (s *Socket) Wake() {
	if s.in.signal() == parked {
		go s.resume(nil)
	}
}

// ReleasePoller tells the loop that the goroutine that serves the connection is about to do something that may take
// longer than a few microseconds, so that the loop lets another one take its place.
func (s *Socket) ReleasePoller() {
	if p := s.poller.Load(); p != nil {
		s.loop.release(p)
	}
}

// Released reports whether another goroutine has taken the place of the one that serves the connection, or need not,
// because it does not belong to the loop.
func (s *Socket) Released() bool {
	p := s.poller.Load()
	return p == nil || p.away.Load()
}

// TryRead reads the available bytes, or returns ErrAgain. It never blocks. After a read that left the buffer partly
// empty, it knows that the socket is empty, and makes no system call until the next event.
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
	n, err := receive(s.fd, p, unix.MSG_DONTWAIT)
	s.done()
	if err == unix.EAGAIN {
		s.drained = true
		return 0, ErrAgain
	}
	if err == nil {
		s.drained = n < len(p) && !s.hungUp.Load() // no event follows a hang-up: read until the end
	}
	return s.took(n, len(p), err)
}

// took returns the result of a read in the form of net.Conn: zero bytes mean the end of the stream.
func (s *Socket) took(n, wanted int, err error) (int, error) {
	switch {
	case err != nil:
		return 0, s.failed("read", err)
	case n == 0 && wanted > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Read implements net.Conn. It blocks until it has some bytes.
func (s *Socket) Read(p []byte) (int, error) { return s.read(p, 0) }

// ReadFull reads all of p and blocks until it has it, like [io.ReadFull], with fewer calls.
func (s *Socket) ReadFull(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := s.read(p[done:], unix.MSG_WAITALL)
		done += n
		if err == io.EOF && done > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// read reads once and may block: it tries first without blocking, then in the kernel, then without a thread. It releases
// the poller before it blocks.
func (s *Socket) read(p []byte, flags int) (int, error) {
	if n, err := s.TryRead(p); err != ErrAgain {
		return n, err
	}
	s.ReleasePoller()
	for {
		var n int
		err := s.transfer(&s.in, unix.EPOLLIN, func() (err error) {
			n, err = receive(s.fd, p, flags)
			return err
		})
		s.drained = false
		if err != unix.EAGAIN {
			return s.took(n, len(p), err)
		}
	}
}

// Write implements net.Conn. Up to quickBytes it first tries without blocking, and passes only the rest to write: most
// answers fit into the socket's buffer.
func (s *Socket) Write(p []byte) (int, error) {
	done := 0
	if len(p) <= quickBytes {
		if !s.use() {
			return 0, net.ErrClosed
		}
		n, err := sendNow(s.fd, p)
		s.done()
		if err != nil && err != unix.EAGAIN && err != unix.EINTR {
			return 0, s.failed("write", err)
		}
		done = n
	}
	err := s.write("write", int64(len(p)), func() bool { return done == len(p) }, func() error {
		n, err := send(s.fd, p[done:])
		done += n
		return err
	})
	return done, err
}

// write calls step until complete returns true or step fails. size is the number of bytes at the beginning: above
// quickBytes write releases the poller at once, otherwise only if the first step did not complete them. op is for the
// error.
func (s *Socket) write(op string, size int64, complete func() bool, step func() error) error {
	for first := true; !complete(); first = false {
		if !first || size > quickBytes {
			s.ReleasePoller()
		}
		err := s.transfer(&s.out, unix.EPOLLOUT, step)
		if err != nil && err != unix.EAGAIN && err != unix.EINTR {
			return s.failed(op, err)
		}
	}
	return nil
}

// setInterest adds an event to those that the loop gets, or removes it. After Close it does nothing. If the kernel
// refuses the new set, the old one stays. epoll_ctl does not block, so it runs under mu.
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

// Close ends the connection. A goroutine that blocks on it gets net.ErrClosed. A parked connection is resumed and finds
// that it is closed.
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
	s.closed()
	// Shutdown wakes calls that block in the kernel; the signals wake those that wait for an event.
	_ = unix.Shutdown(s.fd, unix.SHUT_RDWR)
	s.out.signal()
	if s.in.signal() == parked {
		go s.resume(nil)
	}
	s.done()
	return nil
}

// use keeps the descriptor open until done, and returns true. It returns false if the connection is closed.
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

// done ends a use. The last one after Close closes the descriptor, so no call uses a descriptor that belongs to another
// connection by then.
func (s *Socket) done() {
	if s.users.Add(-1) == math.MinInt64 {
		s.loop.sockets.set(s.fd, nil)
		_ = unix.Close(s.fd)
	}
}

// failed returns the error of a call in the form of package net. After Close it is net.ErrClosed, whatever the kernel
// returned.
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

// SetReadDeadline bounds blocking in Read and ReadFull; they may end up to lingerTime late. A parked connection has no
// deadline.
func (s *Socket) SetReadDeadline(t time.Time) error {
	s.in.setDeadline(t)
	return nil
}

// SetWriteDeadline bounds blocking in all methods that write.
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
