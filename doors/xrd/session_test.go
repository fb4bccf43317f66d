package xrd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"hemera/platform/auth"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func dial(t *testing.T, addr string) *rawConn {
	t.Helper()
	c, err := dialRaw(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// bare connects without a handshake.
func bare(t *testing.T, addr string) *rawConn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
	return &rawConn{Conn: nc}
}

// must sends a request that has to succeed.
func (c *rawConn) must(t *testing.T, r wire.Request, payload string) []byte {
	t.Helper()
	status, body, err := c.call(r, []byte(payload))
	if err != nil || status != wire.StatusOK && status != wire.StatusStatus {
		t.Fatalf("%s %q: status %d, %q, %v", r.ID(), payload, status, body, err)
	}
	return body
}

// refused sends a request that has to fail with the code.
func (c *rawConn) refused(t *testing.T, r wire.Request, payload string, want wire.Code) *wire.Error {
	t.Helper()
	status, body, err := c.call(r, []byte(payload))
	if err != nil || status != wire.StatusError {
		t.Fatalf("%s %.60q: status %d, %q, %v; want error %d", r.ID(), payload, status, body, err, want)
	}
	e := wire.ParseError(body)
	if e.Code != want {
		t.Fatalf("%s %.60q: %v, want %d", r.ID(), payload, e, want)
	}
	return e
}

// closed checks that the server has closed the connection.
func (c *rawConn) closed(t *testing.T) {
	t.Helper()
	if _, _, err := c.frame(); err == nil {
		t.Fatal("the connection is still open")
	} else if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
		t.Fatal("the connection is still open")
	}
}

func TestFirstBytes(t *testing.T) {
	p := newPair(t, nil)
	c := bare(t, p.nodeAddr)
	all := wire.AppendHandshake(nil)
	all = wire.AppendRequest(all, wire.StreamID{0, 1}, wire.Protocol{Version: 0x520, Flags: 9}, 0)
	all = wire.AppendRequest(all, wire.StreamID{0, 2}, wire.Login{User: "a"}, 0)
	all = wire.AppendRequest(all, wire.StreamID{0xff, 0xff}, wire.Ping{}, 0)
	for _, b := range all {
		if _, err := c.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	want := append([]byte{0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 5, 0x20, 0, 0, 0, 1}, // data server
		0, 1, 0, 0, 0, 0, 0, 8, 0, 0, 5, 0x20, 0, 0x30, 0, 1, // server, posc, pages
		0, 2, 0, 0, 0, 0, 0, 16)
	got := make([]byte, len(want)+16+8)
	if _, err := io.ReadFull(c, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[:len(want)], want) {
		t.Errorf("answers\n%x, want\n%x", got[:len(want)], want)
	}
	if tail := got[len(want)+16:]; !bytes.Equal(tail, []byte{0xff, 0xff, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("ping answered %x", tail)
	}
}

func TestManagerFlags(t *testing.T) {
	c := dial(t, newPair(t, nil).managerAddr)
	r, err := wire.ParseProtocolReply(c.must(t, wire.Protocol{Version: 0x520}, ""))
	if err != nil || r.Flags != 0x300002 {
		t.Errorf("flags %x, %v", r.Flags, err)
	}
	if r, _ = wire.ParseProtocolReply(c.must(t, wire.Protocol{}, "")); r.Flags != 0 {
		t.Errorf("flags for the oldest clients %x", r.Flags)
	}
}

func TestMalformed(t *testing.T) {
	p := newPair(t, nil)
	raw := func(id wire.RequestID, length int32) string {
		return string(wire.RequestHeader{Stream: wire.StreamID{1, 1}, ID: id, Length: length}.Append(nil))
	}
	for _, c := range []struct {
		name, bytes string
		login       bool
		code        wire.Code // 0: no answer
		open        bool      // afterwards
	}{
		{"not a handshake", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", false, 0, false},
		{"request before login", string(wire.AppendHandshake(nil)) + raw(wire.ReqStat, 2) + "/x", false, wire.InvalidRequest, false},
		{"unknown request before login", string(wire.AppendHandshake(nil)) + raw(4999, 0), false, wire.InvalidRequest, true},
		{"negative length", raw(wire.ReqStat, -1), true, wire.ArgInvalid, false},
		{"huge length", raw(wire.ReqStat, 0x7fffffff), true, wire.ArgTooLong, false},
		{"long path", raw(wire.ReqStat, 100000) + "/" + strings.Repeat("x", 99999), true, wire.ArgTooLong, true},
		{"unknown request", raw(4999, 3) + "abc", true, wire.InvalidRequest, true},
		{"never implemented", raw(wire.ReqGPFile, 2) + "/x", true, wire.Unsupported, true},
		{"second login", raw(wire.ReqLogin, 0), true, wire.InvalidRequest, true},
		{"bind of a session", raw(wire.ReqBind, 0), true, wire.InvalidRequest, true},
		{"unknown query", raw(wire.ReqQuery, 1) + "x", true, wire.ArgInvalid, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := bare(t, p.managerAddr)
			if c.login {
				conn = dial(t, p.managerAddr)
			}
			if _, err := io.WriteString(conn, c.bytes); err != nil {
				t.Fatal(err)
			}
			if !c.login && c.code != 0 {
				if _, err := io.ReadFull(conn, make([]byte, 16)); err != nil {
					t.Fatal(err)
				}
			}
			if c.code != 0 {
				h, body, err := conn.frame()
				if err != nil || h.Status != wire.StatusError || wire.ParseError(body).Code != c.code {
					t.Fatalf("answer %+v %q, %v; want %d", h, body, err, c.code)
				}
			}
			switch {
			case !c.open:
				conn.closed(t)
			case c.login:
				conn.must(t, wire.Ping{}, "")
			default:
				conn.must(t, wire.Protocol{Version: wire.ProtocolVersion}, "")
			}
		})
	}
}

func TestErrorsTellWhatToDo(t *testing.T) {
	p := newPair(t, func(o *Options) { o.ManagerAddr = func() string { return "" } })
	c := dial(t, p.nodeAddr)
	e := c.refused(t, wire.Dirlist{}, "/x", wire.NoServer)
	if !strings.Contains(e.Text, "try again when the node has registered") || !strings.Contains(e.Text, "[trace ") {
		t.Errorf("text %q", e.Text)
	}
}

// keyed is a policy and its only mechanism: it requires the word "sesame", in two steps.
type keyed struct{ everybody }

func (keyed) Offer(p auth.Peer) ([]auth.Mechanism, error) {
	if p.Login == "banned" {
		return nil, errs.New(errs.Denied, "login", p.Login, "not here").WithRemedy("ask the admin")
	}
	return []auth.Mechanism{keyedMechanism{}}, nil
}

type keyedMechanism struct{}

func (keyedMechanism) Name() string                  { return "key" }
func (keyedMechanism) Offer() string                 { return "key,1" }
func (keyedMechanism) Begin(auth.Peer) auth.Exchange { return &keyedExchange{} }

type keyedExchange struct{ step int }

func (x *keyedExchange) Step(b []byte) (*hemera.Identity, []byte, error) {
	x.step++
	switch {
	case x.step == 1:
		return nil, []byte("more"), nil
	case string(b) == "key\x00sesame":
		return &hemera.Identity{Name: "ali", UID: 5}, nil, nil
	}
	return nil, nil, errs.New(errs.Unauthenticated, "auth", "", "wrong word")
}

func TestAuthentication(t *testing.T) {
	p := newPair(t, func(o *Options) { o.Policy = keyed{} })
	c := bare(t, p.managerAddr)
	if err := c.hello(); err != nil {
		t.Fatal(err)
	}
	reply, err := wire.ParseLoginReply(c.must(t, wire.Login{User: "ali"}, ""))
	if err != nil || reply.Security != "&P=key,1" {
		t.Fatalf("login answer %+v, %v", reply, err)
	}
	step := func(credentials string) (wire.Status, string) {
		status, body, err := c.call(wire.Auth{Type: "key"}, []byte(credentials))
		if err != nil {
			t.Fatal(err)
		}
		return status, string(body)
	}
	c.refused(t, wire.Stat{}, "/", wire.NotAuthorized)
	c.must(t, wire.Ping{}, "")
	c.refused(t, wire.Auth{Type: "zzzz"}, "zzzz\x00x", wire.AuthFailed)
	bound := bare(t, p.nodeAddr)
	if err := bound.hello(); err != nil {
		t.Fatal(err)
	}
	bound.refused(t, wire.Bind{Session: reply.Session}, "", wire.NotFound)
	if status, more := step("key\x00"); status != wire.StatusAuthMore || more != "more" {
		t.Errorf("first step: %d %q", status, more)
	}
	c.refused(t, wire.Auth{Type: "key"}, "key\x00wrong", wire.AuthFailed)
	step("key\x00")
	if status, body := step("key\x00sesame"); status != wire.StatusOK {
		t.Errorf("second step: %d %q", status, body)
	}
	c.must(t, wire.Stat{}, "/")

	// The first request of a refused client gets the reason, whatever the request is: stock clients drop the answer of a
	// login.
	for _, first := range []func(c *rawConn) *wire.Error{
		func(c *rawConn) *wire.Error { return c.refused(t, wire.Stat{}, "/", wire.NotAuthorized) },
		func(c *rawConn) *wire.Error {
			return c.refused(t, wire.Bind{Session: reply.Session}, "", wire.NotAuthorized)
		},
		func(c *rawConn) *wire.Error {
			return c.refused(t, wire.Auth{Type: "key"}, "key\x00", wire.NotAuthorized)
		},
		func(c *rawConn) *wire.Error { return c.refused(t, wire.Login{User: "ali"}, "", wire.NotAuthorized) },
	} {
		banned := bare(t, p.managerAddr)
		if err := banned.hello(); err != nil {
			t.Fatal(err)
		}
		reply, err := wire.ParseLoginReply(banned.must(t, wire.Login{User: "banned"}, ""))
		if err != nil || reply.Security != "" {
			t.Errorf("login answer %+v, %v", reply, err)
		}
		if e := first(banned); !strings.Contains(e.Text, "ask the admin") {
			t.Errorf("text %q", e.Text)
		}
		banned.closed(t)
	}
}

func TestLoginTimeout(t *testing.T) {
	p := newPair(t, func(o *Options) { o.Limits.LoginTimeout = time.Millisecond })
	bare(t, p.managerAddr).closed(t)
}

func TestShutdown(t *testing.T) {
	p := newPair(t, nil)
	idle := dial(t, p.nodeAddr)
	busy := dial(t, p.nodeAddr)
	fh := p.openWrite(t, busy, "/f", 0)
	stopped := background(func() error { return p.node.Shutdown(context.Background()) })
	idle.closed(t)
	busy.must(t, wire.Write{Handle: fh}, "data")
	busy.must(t, wire.Close{Handle: fh}, "")
	busy.closed(t)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if e, err := p.Stat(t.Context(), hemera.Identity{}, "/f"); err != nil || e.Size != 4 {
		t.Errorf("what was written during the shutdown: %+v, %v", e, err)
	}
}

// TestBeginningOfARequestIsSilence checks that a client that stops within a request's header counts as silent.
func TestBeginningOfARequestIsSilence(t *testing.T) {
	p := newPair(t, func(o *Options) { o.Limits.IdleTimeout = 50 * time.Millisecond })
	c := dial(t, p.nodeAddr)
	all := wire.AppendRequest(nil, wire.StreamID{0, 1}, wire.Ping{}, 0)
	if _, err := c.Write(append(all, all[:10]...)); err != nil {
		t.Fatal(err)
	}
	if h, _, err := c.frame(); err != nil || h.Status != wire.StatusOK {
		t.Fatalf("ping: %+v, %v", h, err)
	}
	c.closed(t)
}

// TestBoundConnectionsLiveWithTheirSession checks that silent bound connections end with their session, and not before.
func TestBoundConnectionsLiveWithTheirSession(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "content")
	c := dial(t, p.nodeAddr)
	fh := p.openOld(t, c, "/f", hemera.AccessRead)
	bound, id := bind(t, p.nodeAddr, c.id)
	if _, err := c.send(wire.Read{Handle: fh, Length: 7}, wire.AppendReadArgs(nil, id)); err != nil {
		t.Fatal(err)
	}
	bound.expect(t, wire.StatusOK) // the effect of the bind is complete
	p.node.clients.mu.Lock()
	for sc := range p.node.clients.conns {
		if sc.nc.RemoteAddr().String() == bound.LocalAddr().String() && sc.expired(time.Now().Add(24*time.Hour)) {
			t.Error("the bound connection expires")
		}
	}
	p.node.clients.mu.Unlock()
	stopped := background(func() error { return p.node.Shutdown(context.Background()) })
	idle := bare(t, p.nodeAddr)
	idle.closed(t) // the shutdown has begun
	if _, err := c.send(wire.Read{Handle: fh, Length: 7}, wire.AppendReadArgs(nil, id)); err != nil {
		t.Fatal(err)
	}
	if status, body, err := bound.answer(); err != nil || status != wire.StatusOK || string(body) != "content" {
		t.Errorf("read during the shutdown: status %d, %q, %v", status, body, err)
	}
	c.must(t, wire.Close{Handle: fh}, "")
	c.closed(t)
	bound.closed(t)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestSessions(t *testing.T) {
	p := newPair(t, nil)
	c := dial(t, p.nodeAddr)
	p.openWrite(t, c, "/f", 0)
	c.must(t, wire.Set{}, "appid my app")
	list := p.node.Sessions()
	if len(list) != 1 || list[0].Open != 1 || list[0].Who.Name != "tester" || list[0].Who.App != "my_app" || list[0].Addr != c.LocalAddr().String() {
		t.Errorf("sessions %+v", list)
	}
	c.refused(t, wire.Set{}, "nonsense x", wire.ArgInvalid)
}

// openWrite opens a file for writing at the node, with a grant of the manager.
func (p *pair) openWrite(t *testing.T, c *rawConn, path string, options uint16) wire.Handle {
	t.Helper()
	g, err := p.grantOpen(hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Mode: 0o644})
	if err != nil {
		t.Fatal(err)
	}
	return p.openToken(t, c, path, tokenOf(g), options|wire.OpenDelete)
}

// openOld opens an existing file for reading or updating at the node.
func (p *pair) openOld(t *testing.T, c *rawConn, path string, access hemera.Access) wire.Handle {
	t.Helper()
	g, err := p.grantOpen(hemera.OpenRequest{Path: path, Access: access})
	if err != nil {
		t.Fatal(err)
	}
	return p.openToken(t, c, path, tokenOf(g), wire.OpenRead)
}

func (p *pair) openToken(t *testing.T, c *rawConn, path, token string, options uint16) wire.Handle {
	t.Helper()
	body := c.must(t, wire.Open{Options: options}, path+"?x=y&hem.cap="+token)
	r, err := wire.ParseOpenReply(body)
	if err != nil {
		t.Fatal(err)
	}
	return r.Handle
}

// pendingOf returns the current write of a path.
func (p *pair) pendingOf(path string) *memoryFile {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.grants {
		if g.request.Path == path && g.pending != nil {
			return g.pending
		}
	}
	return nil
}

func TestEndsess(t *testing.T) {
	p := newPair(t, nil)
	old := dial(t, p.nodeAddr)
	p.openWrite(t, old, "/f", 0)
	f := p.pendingOf("/f")
	again := dial(t, p.nodeAddr)
	again.must(t, wire.Endsess{Session: old.id}, "")
	f.mu.Lock()
	detached := f.detached
	f.mu.Unlock()
	if detached != 1 {
		t.Error("the old session's file was not let go before the answer")
	}
	old.closed(t)
	again.refused(t, wire.Endsess{Session: old.id}, "", wire.NotFound)
	again.must(t, wire.Endsess{Session: again.id}, "")
	again.closed(t)
}

// TestEndsessOfASessionThatHangs checks that a disk that does not answer one request of a client does not block its other
// requests.
func TestEndsessOfASessionThatHangs(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "content")
	old := dial(t, p.nodeAddr)
	fh := p.openOld(t, old, "/f", hemera.AccessRead)
	begun, again := make(chan struct{}), make(chan struct{})
	p.memory.fail = func(op string) error {
		if op == "read" {
			close(begun)
			<-again
		}
		return nil
	}
	if _, err := old.send(wire.Read{Handle: fh, Length: 7}, nil); err != nil {
		t.Fatal(err)
	}
	<-begun
	p.node.clients.session(old.id).endRequested.Store(time.Now().Add(-2 * endsessTimeout).UnixNano())
	dial(t, p.nodeAddr).refused(t, wire.Endsess{Session: old.id}, "", wire.NotFound)
	close(again)
}

func TestEndsessOfAnotherClient(t *testing.T) {
	p := newPair(t, nil)
	victim := dial(t, p.nodeAddr)
	c := bare(t, p.nodeAddr)
	if err := c.hello(); err != nil {
		t.Fatal(err)
	}
	c.must(t, wire.Login{User: "other"}, "")
	c.refused(t, wire.Endsess{Session: victim.id}, "", wire.NotFound)
	victim.must(t, wire.Ping{}, "")
}

func TestDisconnect(t *testing.T) {
	for _, c := range []struct {
		name    string
		options uint16
		aborted bool
	}{
		{"kept for a client that comes back", 0, false},
		{"given up with posc", wire.OpenPosc, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t, nil)
			conn := dial(t, p.nodeAddr)
			fh := p.openWrite(t, conn, "/f", c.options)
			conn.must(t, wire.Write{Handle: fh}, "part")
			f := p.pendingOf("/f")
			_ = conn.Close()
			next := dial(t, p.nodeAddr)
			status, _, err := next.call(wire.Endsess{Session: conn.id}, nil)
			if err != nil || status != wire.StatusOK && status != wire.StatusError {
				t.Fatal(status, err)
			}
			f.mu.Lock()
			aborted, detached := f.aborted, f.detached
			f.mu.Unlock()
			if aborted != c.aborted || (detached == 1) == c.aborted {
				t.Errorf("aborted %t, detached %d", aborted, detached)
			}
			if _, err := p.Stat(t.Context(), hemera.Identity{}, "/f"); !errors.Is(err, errs.NotFound) {
				t.Errorf("an unfinished file is visible: %v", err)
			}
			if !c.aborted {
				fh := p.openToken(t, next, "/f", tokenOf(hemera.Grant{Permit: f.grant.permit}), wire.OpenUpdate)
				if got := next.must(t, wire.Read{Handle: fh, Length: 10}, ""); string(got) != "part" {
					t.Errorf("after reconnecting the file holds %q", got)
				}
			}
		})
	}
}
