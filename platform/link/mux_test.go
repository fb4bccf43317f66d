package link

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func serve(t testing.TB, base net.Listener, o MuxOptions, classes ...Class) (*Mux, map[Class]net.Listener) {
	t.Helper()
	m := NewMux(base, o)
	doors := map[Class]net.Listener{}
	for _, c := range classes {
		doors[c] = m.Listener(c)
	}
	done := make(chan error, 1)
	go func() { done <- m.Serve() }()
	t.Cleanup(func() {
		m.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return m, doors
}

func listenTCP(t testing.TB) net.Listener {
	t.Helper()
	l, err := Listen(context.Background(), "127.0.0.1:0", DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func dialTCP(t testing.TB, l net.Listener) net.Conn {
	t.Helper()
	c, err := Dial(context.Background(), l.Addr().String(), DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestMuxHandsOutByFirstByte(t *testing.T) {
	defer goleak.VerifyNone(t)
	hellos := map[Class]string{XRootD: "\x00\x00\x00\x00rest", HTTP: "GET / HTTP/1.1\r\n", TLS: "\x16\x03\x01"}
	var memory Memory
	inMemory, err := memory.Listen("manager:0")
	if err != nil {
		t.Fatal(err)
	}
	dials := map[string]struct {
		base net.Listener
		dial func(net.Listener) net.Conn
	}{
		"tcp": {listenTCP(t), func(l net.Listener) net.Conn { return dialTCP(t, l) }},
		"memory": {inMemory, func(l net.Listener) net.Conn {
			c, err := memory.Dial(context.Background(), l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			return c
		}},
	}
	for name, d := range dials {
		t.Run(name, func(t *testing.T) {
			_, doors := serve(t, d.base, MuxOptions{}, XRootD, HTTP, TLS)
			for class, hello := range hellos {
				c := d.dial(d.base)
				go func() {
					_, _ = io.WriteString(c, hello)
				}()
				got, err := doors[class].Accept()
				if err != nil {
					t.Fatal(err)
				}
				if _, raw := got.(*net.TCPConn); name == "tcp" && !raw {
					t.Errorf("%v: the door got a %T, not the socket itself", class, got)
				}
				text := make([]byte, len(hello))
				if _, err := io.ReadFull(got, text); err != nil || string(text) != hello {
					t.Errorf("%v: the door read %q, %v", class, text, err)
				}
				got.Close()
				c.Close()
			}
		})
	}
}

func closedByPeer(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Fatalf("the connection is still open: %d bytes, %v", n, err)
	} else if e, ok := err.(net.Error); ok && e.Timeout() {
		t.Fatal("the connection is still open after 5 s")
	}
}

func TestMuxClosesWhatItDoesNotServe(t *testing.T) {
	base := listenTCP(t)
	serve(t, base, MuxOptions{}, XRootD)
	for _, hello := range []string{"\x07", "GET /", "\xff\xff"} {
		c := dialTCP(t, base)
		_, _ = io.WriteString(c, hello)
		closedByPeer(t, c)
	}
}

func TestMuxClosesSilentConnections(t *testing.T) {
	base := listenTCP(t)
	serve(t, base, MuxOptions{FirstByte: 20 * time.Millisecond}, XRootD)
	closedByPeer(t, dialTCP(t, base))
}

func TestMuxEvictsTheOldestPending(t *testing.T) {
	base := listenTCP(t)
	_, doors := serve(t, base, MuxOptions{FirstByte: time.Hour, Pending: 3}, XRootD)
	var silent []net.Conn
	for range 3 {
		silent = append(silent, dialTCP(t, base))
	}
	honest := dialTCP(t, base)
	_, _ = honest.Write([]byte{0})
	got, err := doors[XRootD].Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	closedByPeer(t, silent[0])
}

func TestMuxBoundsConnectionsNobodyAccepts(t *testing.T) {
	base := listenTCP(t)
	_, doors := serve(t, base, MuxOptions{FirstByte: time.Hour, Pending: 2}, XRootD)
	var waiting []net.Conn
	for range 3 {
		c := dialTCP(t, base)
		_, _ = c.Write([]byte{0})
		waiting = append(waiting, c)
	}
	closedByPeer(t, waiting[0])
	for range 2 {
		c, err := doors[XRootD].Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
}

func TestMuxCloseEndsEverything(t *testing.T) {
	defer goleak.VerifyNone(t)
	base := listenTCP(t)
	m := NewMux(base, MuxOptions{FirstByte: time.Hour})
	door := m.Listener(HTTP)
	served := make(chan error, 1)
	go func() { served <- m.Serve() }()
	silent := dialTCP(t, base)
	accepted := make(chan error, 1)
	go func() {
		_, err := door.Accept()
		accepted <- err
	}()
	m.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve after Close: %v", err)
	}
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
	closedByPeer(t, silent)
}

func TestOneDoorClosedLeavesTheOthers(t *testing.T) {
	base := listenTCP(t)
	_, doors := serve(t, base, MuxOptions{}, XRootD, HTTP)
	doors[HTTP].Close()
	h := dialTCP(t, base)
	_, _ = io.WriteString(h, "GET")
	closedByPeer(t, h)
	x := dialTCP(t, base)
	_, _ = x.Write([]byte{0})
	c, err := doors[XRootD].Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// FuzzMuxFirstBytes: a door reads exactly the bytes that the client sent, and a connection that reaches no door is
// closed.
func FuzzMuxFirstBytes(f *testing.F) {
	for _, s := range []string{"\x00\x00\x00\x00", "GET / HTTP/1.1\r\n", "\x16\x03\x01\x02", "\x80", ""} {
		f.Add([]byte(s))
	}
	var memory Memory
	base, err := memory.Listen("fuzz:1")
	if err != nil {
		f.Fatal(err)
	}
	m := NewMux(base, MuxOptions{})
	arrived := make(chan net.Conn)
	for _, c := range []Class{XRootD, HTTP, TLS} {
		door := m.Listener(c)
		go func() {
			for {
				conn, err := door.Accept()
				if err != nil {
					return
				}
				arrived <- conn
			}
		}()
	}
	go func() { _ = m.Serve() }()
	f.Cleanup(func() { m.Close() })
	f.Fuzz(func(t *testing.T, hello []byte) {
		c, err := memory.Dial(context.Background(), "fuzz:1")
		if err != nil {
			t.Fatal(err)
		}
		written := make(chan struct{})
		go func() {
			defer close(written)
			_, _ = c.Write(hello)
			c.Close()
		}()
		if len(hello) > 0 && Classify(hello[0]) != Unknown {
			got, err := io.ReadAll(<-arrived)
			if err != nil || string(got) != string(hello) {
				t.Errorf("said %q, the door read %q, %v", hello, got, err)
			}
		}
		<-written
	})
}
