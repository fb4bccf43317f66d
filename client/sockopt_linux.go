package client

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// userTimeout makes the kernel end a connection whose sent bytes stay unacknowledged for so long,
// instead of the quarter of an hour that retransmission goes on otherwise.
func userTimeout(d time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			// Best effort: without it the stall timeout still ends the connection.
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
		})
	}
}
