package xrd

import (
	"bytes"
	"net"
	"strconv"
	"strings"
	"time"

	"hemera/doors/xrd/transport"
	"hemera/errs"
	"hemera/platform/auth"
	"hemera/rules/wire"
)

// handshake reads the client's first 20 bytes, which may come in any pieces (§2.1).
func (c *conn) handshake() error {
	b, err := c.in.Peek(wire.HandshakeSize)
	if err != nil {
		return err
	}
	if !wire.IsHandshake(b) {
		return refuse(wire.InvalidRequest, "not an XRootD client")
	}
	c.in.Skip(wire.HandshakeSize)
	c.greeted = true
	kind := wire.HandshakeServer
	if c.srv.o.Role == RoleManager {
		kind = wire.HandshakeManager
	}
	return c.out.Collect(wire.HandshakeReply{Version: wire.ProtocolVersion, Type: kind}.Append(nil))
}

// protocol answers kXR_protocol, which may come at any time (§2.2).
func (c *conn) protocol(r *request) error {
	p := wire.DecodeProtocol(r.Body)
	c.version = max(c.version, p.Version)
	flags := wire.FlagIsServer | wire.FlagSupPosc | wire.FlagSupPgrw
	if c.srv.o.Role == RoleManager {
		flags = wire.FlagIsManager | wire.FlagSupPosc | wire.FlagSupPgrw
	}
	if p.Version == 0 {
		// The oldest clients know only 1 for a data server and 0 for a balancer.
		flags &= wire.FlagIsServer
	}
	return c.ok(r, wire.ProtocolReply{Version: wire.ProtocolVersion, Flags: flags}.Append(nil))
}

// doLogin makes the session (§2.3).
func (c *conn) doLogin(r *request) error {
	switch {
	case c.refusal != nil:
		return closing{c.refusal}
	case c.session != nil || c.bound != nil:
		return refuse(wire.InvalidRequest, "already logged in")
	}
	login := wire.DecodeLogin(r.Body)
	c.peer.Login = printable(login.User)
	_, env := wire.SplitPath(append([]byte("?"), r.payload...))
	c.peer.App = printable(env.Value("xrd.appname"))
	offers, err := c.srv.o.Policy.Offer(c.peer)
	if err != nil {
		// Stock clients print no text that answers a login, but that of their first request: it is refused.
		c.refusedLogin(err)
		c.refusal = err
		ss := newSession(c, login) // nobody finds it: it was not added
		return c.ok(r, wire.LoginReply{Session: ss.id}.Append(nil))
	}
	ss := newSession(c, login)
	ss.host, ss.stock = printable(env.Value("xrd.hostname")), env.Has("xrd.rn")
	var security strings.Builder
	for _, m := range offers {
		security.WriteString("&P=" + m.Offer())
	}
	c.session = ss
	c.shared.Store(ss)
	if len(offers) == 0 {
		ss.setIdentity(c.srv.o.Policy.Anonymous(c.peer))
		c.becameReady()
	}
	c.srv.addSession(ss)
	return c.ok(r, wire.LoginReply{Session: ss.id, Security: security.String()}.Append(nil))
}

// printable makes a client's claim safe for logs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f || r == 0xfffd {
			return '_'
		}
		return r
	}, s[:min(len(s), 64)])
}

// exchange is one attempt to authenticate.
type exchange struct {
	name string
	auth.Exchange
}

// doAuth runs one step. A failure leaves the connection open: the client tries its next mechanism.
func (c *conn) doAuth(r *request) error {
	if c.session == nil {
		return closing{refuse(wire.InvalidRequest, "authentication before login")}
	}
	if c.ready() {
		return c.ok(r, nil)
	}
	end := bytes.IndexByte(r.payload, 0)
	if end < 0 {
		end = len(r.payload)
	}
	name := string(r.payload[:end])
	if c.exchange == nil || c.exchange.name != name {
		mechanism, err := c.mechanism(name)
		if err != nil {
			return err
		}
		c.exchange = &exchange{name, mechanism.Begin(c.peer)}
	}
	who, more, err := c.exchange.Step(r.payload)
	switch {
	case err != nil:
		c.exchange = nil
		c.refusedLogin(err)
		return err
	case who == nil:
		return c.out.Answer(r.Stream, wire.StatusAuthMore, more)
	}
	c.exchange = nil
	c.session.setIdentity(*who)
	c.becameReady()
	return c.ok(r, nil)
}

// refusedLogin leaves in the log who was not let in. Lines that name a remote address are thinned out there.
func (c *conn) refusedLogin(why error) {
	c.srv.o.Log.Warn("login refused", "remote", c.peer.Remote.String(), "claims", c.peer.Login, "app", c.peer.App, "err", why)
}

func (c *conn) mechanism(name string) (auth.Mechanism, error) {
	offers, err := c.srv.o.Policy.Offer(c.peer)
	if err != nil {
		return nil, err
	}
	for _, m := range offers {
		if m.Name() == name {
			return m, nil
		}
	}
	return nil, errs.New(errs.Unauthenticated, "xrd.Auth", "", "mechanism "+strconv.Quote(name)+" is not offered")
}

// ping answers who has logged in, before authentication too, as the reference does.
func (c *conn) ping(r *request) error {
	if c.session == nil {
		return closing{refuse(wire.InvalidRequest, "ping before login")}
	}
	return c.ok(r, nil)
}

// sigver is dropped: nothing is announced that needs signing, and it has no answer (§2.6).
func (c *conn) sigver(*request) error { return nil }

const (
	// endsessWait is how long an old session may take to let its files go before the client is asked
	// to come back.
	endsessWait = 5 * time.Second
	// endsessPatience is how long it is asked so: longer than anything takes that a disk which does not
	// hang has to do.
	endsessPatience = time.Minute
)

// endsess ends an earlier session of the same client, which has reconnected. Its files are free
// when the answer goes out, unless they are on a disk that hangs: then the client must not be kept from
// all others. Any error but NotFound would be fatal to stock clients.
func (c *conn) endsess(r *request) error {
	id := wire.DecodeEndsess(r.Body).Session
	if id == c.session.id {
		if err := c.ok(r, nil); err != nil {
			return err
		}
		_ = c.out.Flush()
		return transport.Broken{Err: net.ErrClosed}
	}
	c.session.replaces = true
	c.session.follows(id)
	old := c.srv.session(id)
	if old == nil && c.srv.unfinished.take(id, c.session) {
		return c.ok(r, nil)
	}
	if old == nil {
		c.session.earlier = sessionBegan(id, c.session.since)
	}
	if old == nil || !old.samePrincipal(c.session) {
		return errNoSession
	}
	_ = old.conn.nc.Close()
	if old.endingFor() > endsessPatience {
		return errNoSession
	}
	t := time.NewTimer(endsessWait)
	defer t.Stop()
	select {
	case <-old.ended:
		c.srv.unfinished.take(id, c.session)
		return c.ok(r, nil)
	case <-t.C:
		return &waitFor{Seconds: 2, Text: "the old session is closing its files"}
	}
}

// set takes what clients tell about themselves.
func (c *conn) set(r *request) error {
	text := wire.Text(r.payload)
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "appid":
		who := c.who()
		who.App = printable(strings.TrimSpace(rest))
		c.session.setIdentity(who)
		return c.ok(r, nil)
	case "monitor":
		return c.setMonitor(r, rest)
	case "cache":
		return c.ok(r, nil)
	}
	return refuse(wire.ArgInvalid, "cannot set "+strconv.Quote(verb))
}

// setMonitor answers requests about monitoring, of which there is none: the id of an info is 0, which means that
// it was not recorded.
func (c *conn) setMonitor(r *request, rest string) error {
	verb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	switch verb {
	case "info":
		return c.ok(r, make([]byte, 4))
	case "on", "off":
		return c.ok(r, nil)
	case "":
		return refuse(wire.ArgMissing, "set monitor needs on, off or info")
	}
	return refuse(wire.ArgInvalid, "cannot set monitor "+strconv.Quote(verb))
}

// splitAddr takes host:port apart; brackets of IPv6 addresses stay.
func splitAddr(addr string) (host string, port int32, err error) {
	h, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, errs.New(errs.Internal, "xrd.Redirect", addr, "not host:port")
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil || n == 0 {
		return "", 0, errs.New(errs.Internal, "xrd.Redirect", addr, "not host:port")
	}
	if strings.Contains(h, ":") {
		h = "[" + h + "]"
	}
	return h, int32(n), nil
}
