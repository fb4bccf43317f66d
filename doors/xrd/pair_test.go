package xrd

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"hemera/platform/auth"
	"hemera/platform/poll"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// everybody is a policy that accepts all clients.
type everybody struct{}

func (everybody) Offer(auth.Peer) ([]auth.Mechanism, error) { return nil, nil }

func (everybody) Anonymous(p auth.Peer) hemera.Identity {
	return hemera.Identity{Name: p.Login, UID: 1000, GID: 1000, Protocol: "host", App: p.App}
}

// noLoop makes all tests serve their connections without an event loop, with Go's own poller: go test ./doors/xrd -args
// -noloop. TestWithoutLoop uses it.
var noLoop = flag.Bool("noloop", false, "serve connections without an event loop")

// pair is a manager's door and a node's over one memory.
type pair struct {
	*memory
	manager, node         *Server
	managerAddr, nodeAddr string
}

func newPair(tb testing.TB, change func(*Options)) *pair {
	tb.Helper()
	p := &pair{memory: newMemory()}
	loop, err := poll.NewLoop()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(loop.Close) // after the servers' cleanups
	logs := slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	build := func(isManager bool) (*Server, string) {
		o := Options{
			Loop: loop, ManagerAddr: func() string { return p.managerAddr }, Policy: everybody{}, Log: logs,
		}
		if isManager {
			o.Manager = &ManagerOptions{Names: p.memory, Attributes: p.memory, Files: memoryFiles{p.memory}, Resolve: p.memory.Resolve}
		} else {
			o.Node = &NodeOptions{Node: p.memory, Resolve: p.memory.Resolve, Puller: directPuller{p}}
		}
		if change != nil {
			change(&o)
		}
		if *noLoop {
			o.Loop = nil
		}
		s, err := New(o)
		if err != nil {
			tb.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		served := background(func() error { return s.Serve(ctx, l) })
		tb.Cleanup(func() {
			cancel()
			if err := <-served; err != nil {
				tb.Error(err)
			}
			stop, done := context.WithTimeout(context.Background(), 0)
			defer done()
			_ = s.Shutdown(stop)
		})
		return s, l.Addr().String()
	}
	p.manager, p.managerAddr = build(true)
	p.node, p.nodeAddr = build(false)
	p.memory.mu.Lock()
	p.memory.addr = p.nodeAddr
	p.memory.mu.Unlock()
	return p
}

// newLocalPair starts a pair whose manager's door opens files itself, in the same memory. It returns a count of these
// opens.
func newLocalPair(tb testing.TB, change func(*Options)) (*pair, *atomic.Int64) {
	tb.Helper()
	opened := new(atomic.Int64)
	p := newPair(tb, func(o *Options) {
		if o.Manager != nil {
			here := countingNode{o.Manager.Names.(*memory), opened}
			o.Manager.Local = func(id hemera.NodeID) hemera.Node {
				if id != 7 {
					return nil
				}
				return here
			}
		}
		if change != nil {
			change(o)
		}
	})
	return p, opened
}

// node converts a change of a node's options to one for newPair.
func node(change func(*NodeOptions)) func(*Options) {
	return func(o *Options) {
		if o.Node != nil {
			change(o.Node)
		}
	}
}

// manager converts a change of a manager's options to one for newPair.
func manager(change func(*ManagerOptions)) func(*Options) {
	return func(o *Options) {
		if o.Manager != nil {
			change(o.Manager)
		}
	}
}

// tokenOf returns the token of a grant of [memory], which needs no signature.
func tokenOf(g hemera.Grant) string {
	token, _ := g.Permit.Token()
	return token
}

type countingNode struct {
	hemera.Node
	opened *atomic.Int64
}

func (n countingNode) Open(ctx context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	n.opened.Add(1)
	return n.Node.Open(ctx, p, o)
}

func background(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// directPuller reads a source with simple requests of the protocol.
type directPuller struct{ p *pair }

func (d directPuller) Pull(_ context.Context, s PullSource, dst hemera.Handle, progress func(int64)) error {
	c, err := dialRaw(s.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	opaque := s.Opaque.With("tpc.key", s.Key).With("tpc.org", s.Origins[0])
	status, body, err := c.call(wire.Open{Options: wire.OpenRead}, []byte(opaque.Join(s.Path)))
	if err != nil {
		return err
	}
	if status != wire.StatusOK {
		return errors.New(wire.ParseError(body).Text)
	}
	fh := wire.Handle(body[:4])
	for off := int64(0); ; {
		_, data, err := c.call(wire.Read{Handle: fh, Offset: off, Length: 1 << 20}, nil)
		if err != nil || len(data) == 0 {
			return err
		}
		if err := dst.WritePages(data, nil, off); err != nil {
			return err
		}
		off += int64(len(data))
		progress(off)
	}
}

// rawConn is a client that sends single messages.
type rawConn struct {
	net.Conn
	stream uint16
	id     wire.SessionID
}

// dialRaw connects, does the handshake and logs in.
func dialRaw(addr string) (*rawConn, error) { return dialRawAs(addr, 0) }

// dialRawAs does the same for a client with the abilities.
func dialRawAs(addr string, ability uint8) (*rawConn, error) {
	nc, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	c := &rawConn{Conn: nc}
	_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
	if err := c.hello(); err != nil {
		_ = nc.Close()
		return nil, err
	}
	_, body, err := c.call(wire.Login{PID: 42, User: "tester", Ability: ability, Capabilities: wire.LoginCapVer}, nil)
	if err == nil {
		var reply wire.LoginReply
		reply, err = wire.ParseLoginReply(body)
		c.id = reply.Session
	}
	return c, err
}

// hello does the handshake and kXR_protocol.
func (c *rawConn) hello() error {
	if _, err := c.Write(wire.AppendHandshake(nil)); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, make([]byte, 16)); err != nil {
		return err
	}
	_, _, err := c.call(wire.Protocol{Version: 0x520, Expect: wire.ExpectLogin}, nil)
	return err
}

func (c *rawConn) send(r wire.Request, payload []byte) (wire.StreamID, error) {
	c.stream++
	id := wire.StreamID{byte(c.stream >> 8), byte(c.stream)}
	_, err := c.Write(append(wire.AppendRequest(nil, id, r, len(payload)), payload...))
	return id, err
}

// frame reads one response, and the data after the body of a status frame.
func (c *rawConn) frame() (wire.ResponseHeader, []byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return wire.ResponseHeader{}, nil, err
	}
	h := wire.ParseResponseHeader(head[:])
	body := make([]byte, h.Length)
	if _, err := io.ReadFull(c, body); err != nil {
		return h, nil, err
	}
	if h.Status == wire.StatusStatus {
		s, err := wire.ParseStatusFrame(body)
		if err != nil {
			return h, nil, err
		}
		data := make([]byte, s.DataLength)
		if _, err := io.ReadFull(c, data); err != nil {
			return h, nil, err
		}
		body = append(body, data...)
	}
	return h, body, nil
}

// call sends a request and joins the frames of its answer, also of a promised one.
func (c *rawConn) call(r wire.Request, payload []byte) (wire.Status, []byte, error) {
	if _, err := c.send(r, payload); err != nil {
		return 0, nil, err
	}
	return c.answer()
}

func (c *rawConn) answer() (wire.Status, []byte, error) {
	var all []byte
	for {
		h, body, err := c.frame()
		switch {
		case err != nil:
			return 0, nil, err
		case h.Status == wire.StatusWaitResp:
			continue
		case h.Status == wire.StatusAttn:
			inner, body, _, err := wire.ParseAttn(body)
			return inner.Status, body, err
		case h.Status == wire.StatusOKSoFar:
			all = append(all, body...)
			continue
		}
		return h.Status, append(all, body...), nil
	}
}
