package client_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"hemera"
	"hemera/app/client"
	"hemera/core/transfer"
	"hemera/errs"
	"hemera/rules/wire"
)

// TestCloseDoesNotWaitForADial: a server that says nothing does not keep a client, and its process, from ending.
func TestCloseDoesNotWaitForADial(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := client.New(client.Options{DialTimeout: time.Hour, Stall: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() {
		_, err := c.Stat(ctx, client.URL{Endpoint: client.Endpoint{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}, Path: "/f"})
		asked <- err
	}()
	silent, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c.Close()
	if _, err := c.Stat(t.Context(), client.URL{Endpoint: client.Endpoint{Host: "127.0.0.1", Port: 1}, Path: "/f"}); !errors.Is(err, errs.Cancelled) {
		t.Errorf("stat with a closed client: %v", err)
	}
	cancel()
	if err := <-asked; err == nil {
		t.Error("a server that says nothing has answered")
	}
}

// TestCloseAfterTheContextsEnd: the server is told all the same, or it would keep the file open as long as the
// session lives; a write is given up, and not made visible as it is.
func TestCloseAfterTheContextsEnd(t *testing.T) {
	for range 20 { // what is told must not be left to chance
		s := newScript(t, dataServer, func(r asked) []byte {
			if r.ID == wire.ReqOpen {
				return opened(r, 0)
			}
			return good(r, nil)
		})
		c := quick(t)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for _, write := range []bool{false, true} {
			f, err := c.Open(t.Context(), s.url("/f"), client.OpenOptions{Write: write, Create: write})
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
		if _, err := c.Stat(t.Context(), s.url("/f")); err == nil {
			t.Error("the answer to a stat makes sense") // it only came after the others
		}
		q, closes := s.got(wire.ReqQuery), s.got(wire.ReqClose)
		if len(closes) != 2 || len(q) != 1 || q[0].payload != hemera.OpaqueAbort {
			t.Errorf("%d closes, given up by %+v", len(closes), q)
		}
	}
}

// TestLateOpen: what is opened for somebody who has stopped waiting is closed again, and a write given up.
func TestLateOpen(t *testing.T) {
	for _, write := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		gone, closed := make(chan struct{}), make(chan struct{})
		s := newScript(t, dataServer, func(r asked) []byte {
			switch r.ID {
			case wire.ReqOpen:
				cancel()
				<-gone
				return opened(r, 0)
			case wire.ReqClose:
				close(closed)
			}
			return good(r, nil)
		})
		if _, err := quick(t).Open(ctx, s.url("/f"), client.OpenOptions{Write: write, Create: write}); !errors.Is(err, errs.Cancelled) {
			t.Errorf("writing %t: open: %v", write, err)
		}
		close(gone)
		<-closed
		if q := s.got(wire.ReqQuery); len(q) != 0 != write {
			t.Errorf("writing %t: asked %+v", write, q)
		}
	}
}

// TestClosedPieceIsNotWaitedFor: a peer that does not answer any more keeps nobody who has read from it.
func TestClosedPieceIsNotWaitedFor(t *testing.T) {
	closed := make(chan struct{})
	s := newScript(t, dataServer, func(r asked) []byte {
		if r.ID == wire.ReqClose {
			close(closed)
			return nil
		}
		return opened(r, 5)
	})
	p := peers(t, client.Options{Stall: time.Hour})
	piece, err := p.Open(t.Context(), transfer.RemotePiece{Target: hemera.Target{Addr: s.url("/").Addr(), Disk: 1}}, "token")
	if err != nil {
		t.Fatal(err)
	}
	if err := piece.Close(); err != nil {
		t.Error(err)
	}
	<-closed
}
