package client_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy forwards connections to a server and cuts each one after a number of bytes, at exactly the
// same byte in every run.
type proxy struct {
	listener net.Listener
	server   string

	mu   sync.Mutex
	cuts []cut // for the next connections, in order; after them none is cut
	seen int   // connections
	done sync.WaitGroup
}

// cut ends a connection after so many bytes in a direction; zero is never.
type cut struct{ toServer, toClient int64 }

func newProxy(t *testing.T, server string, cuts ...cut) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: server, cuts: cuts}
	p.done.Go(p.accept)
	t.Cleanup(func() { l.Close() })
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		var now cut
		if p.seen++; len(p.cuts) > 0 {
			now, p.cuts = p.cuts[0], p.cuts[1:]
		}
		p.mu.Unlock()
		s, err := net.Dial("tcp", p.server)
		if err != nil {
			c.Close()
			continue
		}
		forward := func(dst, src net.Conn, limit int64) {
			var r io.Reader = src
			if limit > 0 {
				r = io.LimitReader(src, limit)
			}
			io.Copy(dst, r)
			c.Close()
			s.Close()
		}
		go forward(s, c, now.toServer)
		go forward(c, s, now.toClient)
	}
}
