package xrd

import (
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
)

// canSendFile reports whether [sendFile] works for the connection.
func canSendFile(tcp *net.TCPConn) bool { return tcp != nil }

// sendFile writes head and then n bytes of the file at off. MSG_MORE keeps the head in the same
// packet as the data, which at 16 to 64 KiB costs a quarter less than corking.
func sendFile(tcp *net.TCPConn, head []byte, f *os.File, off, n int64) error {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	src := int(f.Fd())
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		var again bool
		head, off, n, again, failed = sendStep(int(fd), src, head, off, n)
		return !again
	})
	runtime.KeepAlive(f)
	if err == nil {
		err = failed
	}
	return err
}

// sendStep sends as much as the socket takes; again means that it is full.
func sendStep(fd, src int, head []byte, off, n int64) (h []byte, o, left int64, again bool, err error) {
	for len(head) > 0 {
		k, err := syscall.SendmsgN(fd, head, nil, nil, syscall.MSG_MORE|syscall.MSG_NOSIGNAL)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return head, off, n, true, nil
		case err != nil:
			return head, off, n, false, os.NewSyscallError("sendmsg", err)
		}
		head = head[k:]
	}
	for n > 0 {
		k, err := syscall.Sendfile(fd, src, &off, int(min(n, 1<<30)))
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return nil, off, n, true, nil
		case err != nil:
			return nil, off, n, false, os.NewSyscallError("sendfile", err)
		case k == 0:
			return nil, off, n, false, io.ErrUnexpectedEOF
		}
		n -= int64(k)
	}
	return nil, off, 0, false, nil
}
