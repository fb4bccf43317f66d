package conform

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Cutter is a proxy that forwards connections to a server and cuts each one after a number of bytes,
// at exactly the same byte in every run.
//
// Tests use it where a real network would end a connection at a random moment: each byte of an exchange can be tried in turn.
type Cutter struct {
	listener net.Listener // for clients
	server   string       // host:port behind the proxy

	mu   sync.Mutex     // guards cuts and seen
	cuts []Cut          // for the next connections, in order; after them none is cut
	seen int            // connections
	done sync.WaitGroup // the accepting goroutine
}

// Cut ends a connection after so many bytes in a direction; zero is never. Before, if set, is called once
// before the client notices.
// The bytes up to the limit are forwarded; the next one is not.
type Cut struct {
	ToServer, ToClient int64
	Before             func()
}

// NewCutter starts a proxy to the server's address. It cuts its connections as told, in the order
// they come; those after that are left alone.
// The listener ends with the test.
func NewCutter(t testing.TB, server string, cuts ...Cut) *Cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Cutter{listener: l, server: server, cuts: cuts}
	p.done.Go(p.accept)
	t.Cleanup(func() { l.Close() })
	return p
}

// Addr returns the address at which clients connect.
func (p *Cutter) Addr() string { return p.listener.Addr().String() }

// Next has the connections that come from now on cut as told.
// Cuts that were not used are dropped.
func (p *Cutter) Next(cuts ...Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts = cuts
}

// Connections counts those that came.
// A client that came back counts again.
func (p *Cutter) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// accept takes connections until the cutter is closed.
// Both directions of a connection end together: a half-closed connection is another kind of fault.
func (p *Cutter) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		var now Cut
		if p.seen++; len(p.cuts) > 0 {
			now, p.cuts = p.cuts[0], p.cuts[1:]
		}
		p.mu.Unlock()
		// A server that is not there looks like a cut before the first byte.
		s, err := net.Dial("tcp", p.server)
		if err != nil {
			c.Close()
			continue
		}
		// Each direction has its own limit and goroutine.
		forward := func(dst, src net.Conn, limit int64) {
			var r io.Reader = src
			if limit > 0 {
				r = io.LimitReader(src, limit)
			}
			n, _ := io.Copy(dst, r)
			// Only a direction that reached its limit calls Before.
			if limit > 0 && n == limit && now.Before != nil {
				now.Before()
			}
			c.Close()
			s.Close()
		}
		go forward(s, c, now.ToServer)
		go forward(c, s, now.ToClient)
	}
}
