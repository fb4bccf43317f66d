package xrootd_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// TestCloseDoesNotWaitForADial checks that a silent server does not keep a client, and so its process, from ending.
func TestCloseDoesNotWaitForADial(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := xrootd.New(xrootd.Options{DialTimeout: time.Hour, Stall: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() {
		_, err := c.Stat(ctx, xrootd.URL{Endpoint: xrootd.Endpoint{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}, Path: "/f"})
		asked <- err
	}()
	silent, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c.Close()
	if _, err := c.Stat(t.Context(), xrootd.URL{Endpoint: xrootd.Endpoint{Host: "127.0.0.1", Port: 1}, Path: "/f"}); !errors.Is(err, errs.Cancelled) {
		t.Errorf("stat with a closed client: %v", err)
	}
	cancel()
	if err := <-asked; err == nil {
		t.Error("a server that says nothing has answered")
	}
}

// TestCloseAfterTheContextsEnd checks that the close is sent although the context has ended. Otherwise the server would
// keep the file open as long as the session lives. A write is aborted and must not become visible.
func TestCloseAfterTheContextsEnd(t *testing.T) {
	for range 20 { // several times, because the order of goroutines differs
		s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
			if r.ID == wire.ReqOpen {
				return xrootdtest.Opened(r, 0)
			}
			return xrootdtest.Good(r, nil)
		})
		c := quick(t)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for _, write := range []bool{false, true} {
			f, err := c.Open(t.Context(), s.URL("/f"), xrootd.OpenOptions{Write: write, Create: write})
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Close(over); (err != nil) != write {
				t.Errorf("writing %t: close: %v", write, err)
			}
			if err := f.Close(t.Context()); write && !errors.Is(err, errs.BadHandle) {
				t.Errorf("a second close: %v", err)
			}
		}
		if _, err := c.Stat(t.Context(), s.URL("/f")); err == nil {
			t.Error("the answer to a stat makes sense") // the server sends it after the others only
		}
		q, closes := s.Got(wire.ReqQuery), s.Got(wire.ReqClose)
		if len(closes) != 2 || len(q) != 1 || q[0].Payload != wire.OpaqueAbort {
			t.Errorf("%d closes, aborted by %+v", len(closes), q)
		}
	}
}

// TestLateOpen checks that a file that was opened for a caller that stopped waiting is closed again, and that a write is
// aborted.
func TestLateOpen(t *testing.T) {
	for _, write := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		gone, closed := make(chan struct{}), make(chan struct{})
		s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
			switch r.ID {
			case wire.ReqOpen:
				cancel()
				<-gone
				return xrootdtest.Opened(r, 0)
			case wire.ReqClose:
				close(closed)
			}
			return xrootdtest.Good(r, nil)
		})
		if _, err := quick(t).Open(ctx, s.URL("/f"), xrootd.OpenOptions{Write: write, Create: write}); !errors.Is(err, errs.Cancelled) {
			t.Errorf("writing %t: open: %v", write, err)
		}
		close(gone)
		<-closed
		if q := s.Got(wire.ReqQuery); len(q) != 0 != write {
			t.Errorf("writing %t: asked %+v", write, q)
		}
	}
}

func TestCloseEndsEverything(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte { return xrootdtest.Opened(r, 5) })
	c := xrootd.New(xrootd.Options{Sessions: 3})
	for range 6 {
		if _, err := c.Open(t.Context(), s.URL("/f"), xrootd.OpenOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	c.Close()
	s.Stop()
	goleak.VerifyNone(t, before)
	if _, err := c.Stat(t.Context(), s.URL("/f")); !errors.Is(err, errs.Cancelled) {
		t.Errorf("stat with a closed client: %v", err)
	}
}

func TestUnusedSessionEnds(t *testing.T) {
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte { return xrootdtest.Good(r, nil) })
	conn, err := xrootd.Dial(t.Context(), s.URL("/").Endpoint, xrootd.Options{Idle: 40 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	<-conn.Down()
	if err := conn.Ping(t.Context()); !errors.Is(err, errs.Unavailable) {
		t.Errorf("ping on an ended session: %v", err)
	}
}
