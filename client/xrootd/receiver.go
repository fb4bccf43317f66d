package xrootd

import (
	"bufio"
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"hemera/platform/iovec"
)

const (
	// inBuffer is the receiver's buffer, in bytes: one system call for many short answers. What it has of long ones is copied.
	inBuffer = 16 << 10
	// batchPages is how many pages are read at once, so that a call is short and the pages are in the second cache of a core when they
	// are checked.
	batchPages = 32
)

// receiver is what the reading goroutine reads from: short things by a buffer, pages into their places.
type receiver struct {
	*bufio.Reader

	socket  syscall.RawConn // nil if there is none, as in simulations
	list    iovec.List
	receive func(fd uintptr) (done bool) // receives all of the list, unless there is nothing to read now
	err     error                        // of receive
}

// newReceiver reads from nc; nobody else may.
func newReceiver(nc net.Conn) *receiver {
	r := &receiver{Reader: bufio.NewReaderSize(nc, inBuffer)}
	if c, ok := nc.(syscall.Conn); ok {
		r.socket, _ = c.SyscallConn() // fails for one that is closed, as reading will
	}
	r.receive = func(fd uintptr) bool {
		for !r.list.Done() {
			err := r.list.Receive(int(fd)) // #nosec G115 -- a descriptor
			switch {
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EAGAIN):
				return false
			case err != nil:
				r.err = err
				return true
			}
		}
		return true
	}
	return r
}

// readInto fills the places one after the other, which it may change. None is empty, and together they have batchPages pages at most.
func (r *receiver) readInto(places [][]byte) error {
	for len(places) > 0 && (r.socket == nil || r.Buffered() > 0) { // what is buffered comes first
		p := places[0]
		if r.socket != nil {
			p = p[:min(len(p), r.Buffered())]
		}
		if _, err := io.ReadFull(r.Reader, p); err != nil {
			return err
		}
		if places[0] = places[0][len(p):]; len(places[0]) == 0 {
			places = places[1:]
		}
	}
	if len(places) == 0 {
		return nil
	}
	r.list.Set(places...)
	defer r.list.Clear()
	if err := r.socket.Read(r.receive); err != nil {
		return err
	}
	err := r.err
	r.err = nil
	return err
}
