// Package iovec has lists of memory for system calls that read or write several places at once (readv(2), sendmsg(2)).
//
// In the protocol, file data and the checksums of its pages alternate; in memory they are separate. A list moves them
// between a socket and their places without a copy.
package iovec

import (
	"io"
	"unsafe"

	"golang.org/x/sys/unix"
)

// callMax is the number of slices that one system call accepts, the kernel's bound (UIO_MAXIOV).
const callMax = 1024

// List has the rest of some slices that are read or written one after the other. The zero value is empty. It is not safe
// for concurrent use. It keeps the memory alive until [List.Clear].
type List struct {
	all  []unix.Iovec // reused memory
	left []unix.Iovec // of all
}

// Set replaces the list by the slices. Empty ones are left out.
func (l *List) Set(slices ...[]byte) {
	l.all = l.all[:0]
	for _, p := range slices {
		if len(p) > 0 {
			v := unix.Iovec{Base: &p[0]}
			v.SetLen(len(p))
			l.all = append(l.all, v)
		}
	}
	l.left = l.all
}

// Clear empties the list, so that it keeps no memory alive.
func (l *List) Clear() {
	clear(l.all)
	l.left = nil
}

// Done reports whether the list is empty.
func (l *List) Done() bool { return len(l.left) == 0 }

// Send writes to a socket as much as it accepts (sendmsg); the next call continues after that. The list must not be
// empty. It blocks as the descriptor does, and Go's scheduler knows. MSG_NOSIGNAL turns SIGPIPE into EPIPE. It fails with
// the errno of the call.
func (l *List) Send(fd int) error {
	message := unix.Msghdr{Iov: &l.left[0]}
	message.SetIovlen(min(len(l.left), callMax))
	n, _, e := unix.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&message)), unix.MSG_NOSIGNAL)
	return l.moved(n, e)
}

// Receive reads the bytes that a socket has (readv); the next call continues after that. The list must have 1 byte to 128
// KiB left: during the call a garbage collection cannot begin, because the call keeps its processor. The descriptor must
// be non-blocking. It fails with the errno of the call, and with io.ErrUnexpectedEOF at the end of the stream.
func (l *List) Receive(fd int) error {
	n, _, e := unix.RawSyscall(unix.SYS_READV, uintptr(fd), uintptr(unsafe.Pointer(&l.left[0])), uintptr(min(len(l.left), callMax)))
	if e == 0 && n == 0 {
		return io.ErrUnexpectedEOF
	}
	return l.moved(n, e)
}

// moved handles the result of a system call: the number of bytes that it moved, or an error.
func (l *List) moved(n uintptr, e unix.Errno) error {
	if e != 0 {
		return e
	}
	l.drop(int(n)) // #nosec G115 -- at most what the list has
	return nil
}

// drop removes the first n bytes, which the list must have.
func (l *List) drop(n int) {
	for n > 0 {
		first := &l.left[0]
		have := int(first.Len) // #nosec G115 -- of a slice
		if n < have {
			first.Base = (*byte)(unsafe.Add(unsafe.Pointer(first.Base), n))
			first.SetLen(have - n)
			return
		}
		n -= have
		l.left = l.left[1:]
	}
}
