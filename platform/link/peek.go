package link

import (
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// peek blocks until the first byte of a connection arrives, up to its read deadline, and does not consume it. It returns
// the connection to use from now on: the same one for a socket, a replaying one for others, such as pipes in tests.
func peek(conn net.Conn) (net.Conn, byte, error) {
	if s, ok := conn.(syscall.Conn); ok {
		first, err := peekSocket(s)
		return conn, first, err
	}
	var b [1]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		return conn, 0, err
	}
	return &replayed{Conn: conn, first: b[:]}, b[0], nil
}

// peekSocket does the same as peek for a socket. It waits in Go's poller, without a thread. It returns io.EOF if the
// client closed its side without a byte.
func peekSocket(s syscall.Conn) (byte, error) {
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, err
	}
	var b [1]byte
	var n int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		for {
			n, _, failed = unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
			if failed != unix.EINTR {
				return failed != unix.EAGAIN // false: wait until readable, up to the deadline
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case failed != nil:
		return 0, failed
	case n == 0:
		return 0, io.EOF
	}
	return b[0], nil
}

// replayed is a connection whose first byte was read already. Like any net.Conn it has one reader at a time.
type replayed struct {
	net.Conn
	first []byte // bytes that Read returns first
}

// Read implements net.Conn. It returns the replayed byte alone, without waiting for more.
func (r *replayed) Read(p []byte) (int, error) {
	if len(r.first) == 0 || len(p) == 0 {
		return r.Conn.Read(p)
	}
	n := copy(p, r.first)
	r.first = r.first[n:]
	return n, nil
}
