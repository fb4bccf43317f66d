package xrootd

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// writeUserTimeout is how long a server may take no data of a write: longer than a node waits for a disk that
// has stalled, after which it goes on at another disk or says why not.
const writeUserTimeout = 45 * time.Second

// raiseUserTimeout keeps the kernel from giving the session up while its server takes no data. For the
// kernel that is the same as a server that is gone: Options.UserTimeout bounds both.
func (c *Conn) raiseUserTimeout() {
	socket, ok := c.nc.(syscall.Conn) // not so in simulations
	if !ok || c.opts.UserTimeout >= writeUserTimeout {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return // it is closed
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(writeUserTimeout.Milliseconds()))
	})
}
