package link

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// The ports of Hold are below those that the kernel gives to clients.
const (
	holdLowest  = 20_000
	holdHighest = 32_000
	holdTries   = 1000 // places that Hold tries; one is nearly always enough
)

// Held is a row of TCP ports that this process holds for servers which it starts: nothing else gets them by chance. A held port refuses connections
// until its server listens, and whenever the server is away.
type Held struct {
	First   int // the others follow
	sockets []int
}

// Hold finds count free ports in a row and holds them until Close or the end of the process. It does not block. It fails with Unavailable if no
// such row is free.
//
// The ports are bound and not listened on. Linux lets a server listen on such a port if both sockets have SO_REUSEADDR, as listeners of servers
// do. Hold sets it after bind(2), so no second Hold gets the port, and the kernel chooses no port that is bound.
//
// A socket that is handed over to the server would not do for tests that kill it: clients would wait in its queue, and not be refused. A port that
// the kernel chooses would be another one after a restart.
func Hold(count int) (*Held, error) {
	if count < 1 || count > holdHighest-holdLowest {
		return nil, errs.New(errs.Invalid, "link.Hold", "", fmt.Sprintf("%d ports cannot be held", count))
	}
	var failed error
	for range holdTries {
		// From a random place, so that two that ask at once rarely meet.
		h := &Held{First: holdLowest + rand.IntN(holdHighest-holdLowest-count+1)}
		if failed = h.bind(count); failed == nil {
			return h, nil
		}
		_ = h.Close() // what was bound of a row that is not free
	}
	return nil, errs.As(failed, errs.Unavailable, "link.Hold", fmt.Sprintf("%d ports in a row", count))
}

// bind binds the row. After an error the caller closes it.
func (h *Held) bind(count int) error {
	for port := h.First; port < h.First+count; port++ {
		fd, err := bindAll(port)
		if fd >= 0 {
			h.sockets = append(h.sockets, fd)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bindAll binds a port of all addresses of this machine. After an error the socket, if there is one, is still to be closed.
func bindAll(port int) (int, error) {
	const kind = unix.SOCK_STREAM | unix.SOCK_CLOEXEC
	fd, err := unix.Socket(unix.AF_INET6, kind, 0)
	var at unix.Sockaddr = &unix.SockaddrInet6{Port: port}
	if errors.Is(err, unix.EAFNOSUPPORT) {
		fd, err = unix.Socket(unix.AF_INET, kind, 0)
		at = &unix.SockaddrInet4{Port: port}
	} else if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
	}
	if err == nil {
		err = unix.Bind(fd, at)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	return fd, err
}

// Close lets others have the ports. A server that listens on one keeps it.
func (h *Held) Close() error {
	var all []error
	for _, fd := range h.sockets {
		all = append(all, unix.Close(fd))
	}
	h.sockets = nil
	return errors.Join(all...)
}
