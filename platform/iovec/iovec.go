// Package iovec has lists of memory for system calls that read or write several places at once (readv(2), sendmsg(2)).
//
// File data and the checksums of its pages alternate in the protocol, and stand apart in memory. With a list they go between a
// socket and their places without a copy.
package iovec

import (
	"io"
	"unsafe"

	"golang.org/x/sys/unix"
)

// callMax is how many slices one system call takes, the kernel's bound (UIO_MAXIOV).
const callMax = 1024

// List is what is left of some slices that are read or written one after the other. The zero value is empty. It is for one
// goroutine at a time, and keeps the memory alive until [List.Clear].
type List struct {
	all  []unix.Iovec // its memory is used again
	left []unix.Iovec // of all
}

// Set makes the list that of the slices. Empty ones are left out.
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

// Clear empties the list, which keeps no memory alive then.
func (l *List) Clear() {
	clear(l.all)
	l.left = nil
}

// Done reports whether nothing is left.
func (l *List) Done() bool { return len(l.left) == 0 }

// Send writes to a socket as much as it takes (sendmsg), and goes on behind it with the next call. Something must be left. It waits
// as the descriptor does, and Go's scheduler knows of it. MSG_NOSIGNAL turns SIGPIPE into EPIPE. It fails with the errno of the call.
func (l *List) Send(fd int) error {
	message := unix.Msghdr{Iov: &l.left[0]}
	message.SetIovlen(min(len(l.left), callMax))
	n, _, e := unix.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&message)), unix.MSG_NOSIGNAL)
	return l.moved(n, e)
}

// Receive reads what a socket has (readv), and goes on behind it with the next call. Something must be left, 128 KiB at most: the
// call keeps its processor, so a garbage collection that is to begin waits for it. The descriptor must not block. It fails with the
// errno of the call, and with io.ErrUnexpectedEOF at the end of the stream.
func (l *List) Receive(fd int) error {
	n, _, e := unix.RawSyscall(unix.SYS_READV, uintptr(fd), uintptr(unsafe.Pointer(&l.left[0])), uintptr(min(len(l.left), callMax)))
	if e == 0 && n == 0 {
		return io.ErrUnexpectedEOF
	}
	return l.moved(n, e)
}

// moved takes note of the result of a system call: bytes from the begin of what is left, or an error.
func (l *List) moved(n uintptr, e unix.Errno) error {
	if e != 0 {
		return e
	}
	l.drop(int(n)) // #nosec G115 -- at most what the list has
	return nil
}

// drop takes n bytes from the begin of what is left, which has as many.
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
