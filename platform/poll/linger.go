package poll

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// lingerTime is the time for which a transfer keeps a thread in the kernel while it waits for its client. Most transfers
// wait often and shortly, and waking a thread where it sleeps is cheapest. A deadline may be noticed late by the same
// time.
const lingerTime = 10 * time.Millisecond

// transfer calls step, which sends or receives and may wait for lingerTime in the kernel. If step then returns EAGAIN,
// transfer waits for the event without a thread, and returns EAGAIN: the caller tries again. If too many transfers linger
// already, step does not wait at all. The loop gets the event only during the second wait: otherwise each packet would
// wake pollers.
func (s *Socket) transfer(g *gate, event uint32, step func() error) error {
	s.setInterest(event, false)
	if !s.use() {
		return net.ErrClosed
	}
	lingers := s.loop.lingering.Add(1) <= s.loop.lingerers
	err := s.setBlocking(lingers)
	if err == nil {
		err = step()
	}
	s.loop.lingering.Add(-1)
	s.done()
	if err != unix.EAGAIN {
		return err
	}
	s.setInterest(event, true)
	if err := g.wait(); err != nil {
		return err
	}
	s.setInterest(event, false)
	return unix.EAGAIN
}

// setBlocking sets whether calls that send and receive may wait. Reader and writer share the mode of the descriptor. If
// they change it at the same time, one of them waits or does not wait for lingerTime; both are correct.
func (s *Socket) setBlocking(on bool) error {
	if s.blocking.Load() == on {
		return nil
	}
	s.blocking.Store(on)
	return unix.SetNonblock(s.fd, !on)
}

// Linger waits for up to lingerTime for the next request of a client, on this thread, and reads it. It returns ErrAgain,
// usually at once, if that is not worth a thread: then the owner parks the connection.
//
// This serves a client that sends one request at a time faster. Its requests wake the thread that served the last one, on
// the same core and with warm caches, and need no epoll_wait. It is not worth a thread if the client was slower than
// lingerTime the last time, or if half of the threads that may linger do: the other half is for transfers.
func (s *Socket) Linger(p []byte) (int, error) {
	l := s.loop
	if !s.prompt {
		return 0, ErrAgain
	}
	defer l.lingering.Add(-1)
	if l.lingering.Add(1) > l.lingerers/2 {
		return 0, ErrAgain
	}
	s.ReleasePoller()
	s.setInterest(unix.EPOLLIN, false) // Park registers for it again
	if !s.use() {
		return 0, net.ErrClosed
	}
	n, err := 0, s.setBlocking(true)
	if err == nil {
		n, err = receive(s.fd, p, 0)
	}
	s.done()
	if err == unix.EAGAIN {
		s.prompt = false
		return 0, ErrAgain
	}
	s.drained = n < len(p)
	return s.took(n, len(p), err)
}
