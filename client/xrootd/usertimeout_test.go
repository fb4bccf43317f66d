package xrootd

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hemera/platform/link"
)

// TestRaiseUserTimeout reads the option back from the socket. A test of its effect would have to wait for the kernel.
func TestRaiseUserTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for given, want := range map[time.Duration]time.Duration{10 * time.Second: writeUserTimeout, time.Minute: time.Minute} {
		nc, err := link.Dial(t.Context(), l.Addr().String(), link.Options{UserTimeout: given})
		if err != nil {
			t.Fatal(err)
		}
		c := &Conn{nc: nc, opts: Options{UserTimeout: given}}
		c.raiseUserTimeout()
		raw, err := nc.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Control(func(fd uintptr) {
			got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
			if err != nil || time.Duration(got)*time.Millisecond != want {
				t.Errorf("with %v the kernel waits for %d ms, %v; want %v", given, got, err, want)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := nc.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
