package poll

import (
	"io"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// quickBytes is the longest transfer between memory and a socket that is a raw system call, which Go's scheduler does not
// notice. It takes a few microseconds and cannot block (MSG_DONTWAIT). Notifying the scheduler takes a twentieth of that.
const quickBytes = 64 << 10

// receive reads from a socket, and tries again after a signal (EINTR). It blocks unless flags has MSG_DONTWAIT or the
// descriptor is non-blocking.
func receive(fd int, p []byte, flags int) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if flags&unix.MSG_DONTWAIT != 0 && len(p) <= quickBytes {
			n, err = quick(unix.SYS_RECVFROM, fd, p, uintptr(flags))
		} else {
			n, err = scheduled(unix.SYS_RECVFROM, fd, p, uintptr(flags))
		}
		if err != unix.EINTR {
			received(fd)
			return n, err
		}
	}
}

// send writes to a socket; p must not be empty. It may block for lingerTime. MSG_NOSIGNAL turns SIGPIPE into EPIPE.
func send(fd int, p []byte) (int, error) {
	sent(fd)
	return scheduled(unix.SYS_SENDTO, fd, p, unix.MSG_NOSIGNAL)
}

// sendNow writes as much as a socket accepts at once, at most quickBytes.
func sendNow(fd int, p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	sent(fd)
	return quick(unix.SYS_SENDTO, fd, p, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
}

// scheduled makes a system call that may block: Go's scheduler gives the processor to another goroutine.
func scheduled(call uintptr, fd int, p []byte, flags uintptr) (int, error) {
	n, _, e := unix.Syscall6(call, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), flags, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// quick makes a system call that cannot block. It keeps its processor during the call, so a garbage collection cannot
// begin until it returns.
func quick(call uintptr, fd int, p []byte, flags uintptr) (int, error) {
	n, _, e := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), flags, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// Writev writes the slices one after the other, and skips empty ones. Unlike net.Buffers, it does not change them. It
// releases the poller above quickBytes, and may block.
func (s *Socket) Writev(slices [][]byte) error {
	size := 0
	for _, p := range slices {
		size += len(p)
	}
	s.list.Set(slices...)
	defer s.list.Clear()
	return s.write("writev", int64(size), s.list.Done, func() error {
		sent(s.fd)
		return s.list.Send(s.fd) // it may block for lingerTime
	})
}

// SendFile writes head and then n bytes of the file at off, without copying these through the process. MSG_MORE keeps the
// head in the same packet as the data; at 16 to 64 KiB this takes a quarter less time than corking (TCP_CORK). It fails
// with io.ErrUnexpectedEOF if the file ends before. The peer has the head by then, so the connection cannot be used any
// more.
func (s *Socket) SendFile(head []byte, f *os.File, off, n int64) error {
	src := int(f.Fd())
	err := s.write("sendfile", n, func() bool { return len(head) == 0 && n == 0 }, func() error {
		sent(s.fd)
		if len(head) > 0 {
			k, err := unix.SendmsgN(s.fd, head, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
			if head = head[max(k, 0):]; err != nil || len(head) > 0 || n == 0 {
				return err
			}
		}
		k, err := unix.Sendfile(s.fd, src, &off, int(min(n, 1<<30)))
		if err == nil && k == 0 {
			err = io.ErrUnexpectedEOF
		}
		n -= int64(max(k, 0))
		return err
	})
	runtime.KeepAlive(f)
	return err
}
