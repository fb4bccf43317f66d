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
	// inBuffer is the size of the receiver's buffer, in bytes: many short answers need one system call. The part of long
	// answers that is in it gets copied.
	inBuffer = 16 << 10
	// batchPages is the number of pages that are read at once, so that a call is short and the pages are in a core's
	// second-level cache when they are checked.
	batchPages = 32
)

// receiver reads for the reading goroutine: headers and short answers through a buffer, pages directly into their places.
type receiver struct {
	*bufio.Reader

	socket  syscall.RawConn // nil without a socket, as in simulations
	list    iovec.List
	receive func(fd uintptr) (done bool) // receives all of the list, unless there is nothing to read now
	err     error                        // of receive
}

// newReceiver reads from nc, which must have no other reader.
func newReceiver(nc net.Conn) *receiver {
	r := &receiver{Reader: bufio.NewReaderSize(nc, inBuffer)}
	if c, ok := nc.(syscall.Conn); ok {
		r.socket, _ = c.SyscallConn() // fails for a closed one, as reading will
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

// readInto fills the places one after the other, and may change them. None may be empty, and together they must have at
// most batchPages pages.
func (r *receiver) readInto(places [][]byte) error {
	for len(places) > 0 && (r.socket == nil || r.Buffered() > 0) { // the buffered bytes come first
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
