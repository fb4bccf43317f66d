package xrd

import (
	"bytes"
	"net"
	"strconv"
	"strings"
	"time"

	"hemera/doors/xrd/reconnect"
	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/platform/auth"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// loginHandlers serve requests about a connection and its session: login, authentication, binding.
type loginHandlers struct {
	policy     auth.Policy
	clients    *registry
	lostWrites *writeMemory
	manager    bool // the role announced
	binds      bool // connections can be bound to sessions
}

// loginState is the progress of one connection's login.
type loginState struct {
	refusal  error     // the reason why the login was refused; it answers the client's first request
	exchange *exchange // authentication under way
}

// protocol answers kXR_protocol, which may come at any time (§2.2).
func (l *loginHandlers) protocol(r *request) error {
	p := wire.DecodeProtocol(r.Body)
	flags := wire.FlagIsServer | wire.FlagSupPosc | wire.FlagSupPgrw
	if l.manager { // clients expect redirects only from a manager
		flags = wire.FlagIsManager | wire.FlagSupPosc | wire.FlagSupPgrw
	}
	if p.Version == 0 {
		// The oldest clients know only the values 1, a data server, and 0, a balancer.
		flags &= wire.FlagIsServer
	}
	return r.ok(wire.ProtocolReply{Version: wire.ProtocolVersion, Flags: flags}.Append(nil))
}

// login makes the session (§2.3).
func (l *loginHandlers) login(r *request) error {
	c := r.conn
	switch {
	case c.login.refusal != nil:
		return closeAfter{c.login.refusal}
	case c.session != nil || c.bound != nil:
		return translate.Refuse(wire.InvalidRequest, "already logged in")
	}
	login := wire.DecodeLogin(r.Body)
	c.peer.Login = printable(login.User)
	_, env := wire.SplitPath(append([]byte("?"), r.payload...)) // the payload is like a query without a path
	c.peer.App = printable(env.Value("xrd.appname"))
	offers, err := l.policy.Offer(c.peer)
	if err != nil {
		// Stock clients do not print the error text of a login, but that of their first request. So the login succeeds
		// and the first request fails.
		logRefusal(c, err)
		c.login.refusal = err
		ss := newSession(c, login) // not registered, so no other session finds it
		return r.ok(wire.LoginReply{Session: ss.id}.Append(nil))
	}
	ss := newSession(c, login)
	ss.host, ss.stock = printable(env.Value("xrd.hostname")), env.Has("xrd.rn")
	var security strings.Builder
	for _, m := range offers { // the client uses the first that it supports
		security.WriteString("&P=" + m.Offer())
	}
	c.session = ss
	c.shared.Store(ss)
	if len(offers) == 0 { // no authentication: the session is usable at once
		ss.setIdentity(l.policy.Anonymous(c.peer))
		c.deadline.enter(ownsSession)
	}
	l.clients.addSession(ss) // other sessions may find it from now on
	return r.ok(wire.LoginReply{Session: ss.id, Security: security.String()}.Append(nil))
}

// exchange is one attempt of authentication.
type exchange struct {
	name string
	auth.Exchange
}

// auth runs one step of an authentication. After a failure the connection stays open, because the client tries its next
// mechanism.
func (l *loginHandlers) auth(r *request) error {
	c := r.conn
	if c.session == nil {
		return closeAfter{translate.Refuse(wire.InvalidRequest, "authentication before login")}
	}
	if c.deadline.loggedIn() {
		return r.ok(nil)
	}
	end := bytes.IndexByte(r.payload, 0)
	if end < 0 {
		end = len(r.payload)
	}
	name := string(r.payload[:end])
	if c.login.exchange == nil || c.login.exchange.name != name { // a client may change the mechanism between two steps
		mechanism, err := l.mechanism(c.peer, name)
		if err != nil {
			return err
		}
		c.login.exchange = &exchange{name, mechanism.Begin(c.peer)}
	}
	who, more, err := c.login.exchange.Step(r.payload)
	switch {
	case err != nil:
		c.login.exchange = nil
		logRefusal(c, err)
		return err
	case who == nil:
		return c.out.Answer(r.Stream, wire.StatusAuthMore, more)
	}
	c.login.exchange = nil
	c.session.setIdentity(*who)
	c.deadline.enter(ownsSession)
	return r.ok(nil)
}

// logRefusal logs a refused login. The log drops some of many lines about one remote address.
func logRefusal(c *conn, why error) {
	c.srv.o.Log.Warn("login refused", "remote", c.peer.Remote.String(), "claims", c.peer.Login, "app", c.peer.App, "error", why)
}

// mechanism returns the client's mechanism if the policy still offers it to this peer. It fails with Unauthenticated
// otherwise.
func (l *loginHandlers) mechanism(peer auth.Peer, name string) (auth.Mechanism, error) {
	offers, err := l.policy.Offer(peer)
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

// ping answers once the client has logged in, also before authentication, like the reference.
func (l *loginHandlers) ping(r *request) error {
	if r.session == nil {
		return closeAfter{translate.Refuse(wire.InvalidRequest, "ping before login")}
	}
	return r.ok(nil)
}

// bind makes this connection carry data of another connection's session.
func (l *loginHandlers) bind(r *request) error {
	c := r.conn
	if c.session != nil || c.bound != nil {
		return translate.Refuse(wire.InvalidRequest, "the connection is in use")
	}
	ss := l.clients.session(wire.DecodeBind(r.Body).Session)
	switch {
	case !l.binds:
		return translate.Refuse(wire.Unsupported, "a manager has one stream")
	case ss == nil || ss.identity() == nil:
		return errNoSession
	// A session id travels unencrypted, so a session accepts only connections from the same host.
	case ss.conn.peer.Remote.Addr() != c.peer.Remote.Addr():
		return translate.Refuse(wire.NotAuthorized, "the session belongs to another host")
	}
	bound := &substream{session: ss, conn: c, quit: make(chan struct{}), queue: make(chan queuedWork, substreamQueue)}
	if err := ss.streams.add(bound); err != nil {
		return err
	}
	c.bound = bound // the connection serves the queue from now on
	c.shared.Store(ss)
	c.deadline.enter(carriesSubstreams)
	return r.ok([]byte{bound.id})
}

const (
	// endsessWait bounds the time that an old session may take to close its files before the client has to ask again.
	endsessWait = 5 * time.Second
	// endsessTimeout bounds the time for which the client is asked again: longer than any operation on a disk that is not
	// stalled.
	endsessTimeout = time.Minute
)

// endsess ends an earlier session of the same client, which has reconnected. When it answers, the session's files are
// closed, unless a disk is stalled: the client must still be able to use other files. Stock clients regard any error but
// NotFound as fatal.
func (l *loginHandlers) endsess(r *request) error {
	id, ss := wire.DecodeEndsess(r.Body).Session, r.session
	if id == ss.id { // a client may end its own session in place of closing the connection
		if err := r.ok(nil); err != nil {
			return err
		}
		_ = r.conn.out.Flush()
		return transport.Broken{Err: net.ErrClosed}
	}
	ss.reconnect.replace(id)
	old := l.clients.session(id)
	if old == nil {
		if l.lostWrites.claim(id, ss) {
			return r.ok(nil)
		}
		ss.reconnect.earlier = reconnect.BeganAt(id, ss.since)
		return errNoSession
	}
	if !old.samePrincipal(ss) {
		return errNoSession
	}
	_ = old.conn.nc.Close() // its goroutine ends the session
	if old.endingFor() > endsessTimeout {
		return errNoSession
	}
	t := time.NewTimer(endsessWait)
	defer t.Stop()
	select {
	case <-old.ended:
		l.lostWrites.claim(id, ss)
		return r.ok(nil)
	case <-t.C:
		return &waitFor{Seconds: 2, Text: "the old session is closing its files"}
	}
}

// set records information of clients about themselves.
func (l *loginHandlers) set(r *request) error {
	text := wire.Text(r.payload)
	verb, rest, _ := strings.Cut(text, " ") // other settings are accepted and ignored
	switch verb {
	case "appid":
		who := r.who()
		who.App = printable(strings.TrimSpace(rest))
		r.session.setIdentity(who)
		return r.ok(nil)
	case "monitor":
		return setMonitor(r, rest)
	case "cache":
		return r.ok(nil)
	}
	return translate.Refuse(wire.ArgInvalid, "cannot set "+strconv.Quote(verb))
}

// setMonitor answers requests about monitoring. Monitoring is not supported: the id in the answer to info is 0, which
// means that nothing was recorded.
func setMonitor(r *request, rest string) error {
	verb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	switch verb {
	case "info":
		return r.ok(make([]byte, 4))
	case "on", "off":
		return r.ok(nil)
	case "":
		return translate.Refuse(wire.ArgMissing, "set monitor needs on, off or info")
	}
	return translate.Refuse(wire.ArgInvalid, "cannot set monitor "+strconv.Quote(verb))
}
