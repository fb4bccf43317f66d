package link

import (
	"context"
	"net"
	"strconv"
	"sync"

	"hemera/words/errs"
)

// Memory is a network inside the process, for tests: addresses are plain "host:port" text, and connections are those of
// net.Pipe (synchronous, with deadlines). The zero value is ready to use.
type Memory struct {
	mu        sync.Mutex // guards all below
	listeners map[string]*memoryListener
	lastPort  int
}

// Listen claims the address; port 0 chooses a free one. It fails with Exists if the address is in use.
func (m *Memory) Listen(addr string) (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, errs.As(err, errs.Invalid, "link.Listen", addr)
	}
	if port == "0" {
		m.lastPort++
		addr = net.JoinHostPort(host, strconv.Itoa(40000+m.lastPort))
	}
	if m.listeners[addr] != nil {
		return nil, errs.New(errs.Exists, "link.Listen", addr, "address in use")
	}
	if m.listeners == nil {
		m.listeners = map[string]*memoryListener{}
	}
	l := &memoryListener{net: m, addr: memoryAddr(addr), conns: make(chan net.Conn), done: make(chan struct{})}
	m.listeners[addr] = l
	return l, nil
}

// Dial connects to a listener. It fails with Unavailable if there is no listener. It blocks until the listener accepts or
// ctx ends.
func (m *Memory) Dial(ctx context.Context, addr string) (net.Conn, error) {
	m.mu.Lock()
	l := m.listeners[addr]
	m.lastPort++
	from := memoryAddr(net.JoinHostPort("client", strconv.Itoa(40000+m.lastPort)))
	m.mu.Unlock()
	if l == nil {
		return nil, errs.New(errs.Unavailable, "link.Dial", addr, "connection refused")
	}
	here, there := net.Pipe()
	select {
	case l.conns <- &memoryConn{Conn: there, local: l.addr, remote: from}:
		return &memoryConn{Conn: here, local: from, remote: l.addr}, nil
	case <-l.done:
		return nil, errs.New(errs.Unavailable, "link.Dial", addr, "connection refused")
	case <-ctx.Done():
		return nil, errs.Wrap(ctx.Err(), "link.Dial", addr)
	}
}

type memoryListener struct {
	net   *Memory
	addr  memoryAddr
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, &net.OpError{Op: "accept", Net: "memory", Addr: l.addr, Err: net.ErrClosed}
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() {
		close(l.done)
		l.net.mu.Lock()
		defer l.net.mu.Unlock()
		delete(l.net.listeners, string(l.addr))
	})
	return nil
}

func (l *memoryListener) Addr() net.Addr { return l.addr }

type memoryAddr string

func (a memoryAddr) Network() string { return "memory" }
func (a memoryAddr) String() string  { return string(a) }

type memoryConn struct {
	net.Conn
	local, remote memoryAddr
}

func (c *memoryConn) LocalAddr() net.Addr  { return c.local }
func (c *memoryConn) RemoteAddr() net.Addr { return c.remote }
