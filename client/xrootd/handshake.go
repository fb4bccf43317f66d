package xrootd

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"hemera/platform/link"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// noContext is for requests without a waiting caller, and for calls whose interface has no context. The session's own
// timeouts end them.
var noContext = context.Background()

// Dial connects and logs in, in one round trip if the server requires no authentication. It fails with Unavailable if the
// server cannot be reached, and with Unauthenticated if it offers no mechanism that works.
func Dial(ctx context.Context, e Endpoint, o Options) (*Conn, error) {
	return dial(ctx, e, o.withDefaults(), wire.ExpectLogin)
}

// dial does the same as Dial with complete options; expect announces the client's next request, see wire.Protocol.
func dial(ctx context.Context, e Endpoint, o Options, expect uint8) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
	defer cancel()
	// A redirect may name a user too: an anonymous client must not follow it with a name.
	if o.Anonymous && e.User != "" {
		return nil, errs.New(errs.Denied, "xrootd.ConnectTo", e.String(), "this client logs in as nobody, and the address names a user")
	}
	options := link.Options{UserTimeout: o.UserTimeout, KeepIdle: o.UserTimeout / 2, KeepInterval: time.Second}
	var refused atomic.Pointer[error] // by Permit, permanently; several addresses of a name are tried in parallel
	if o.Permit != nil {
		options.Permit = func(ctx context.Context, to netip.AddrPort) error {
			err := o.Permit(ctx, e, to)
			if err != nil {
				refused.Store(&err)
			}
			return err
		}
	}
	// Keep-alive probes find a dead machine while nothing is in flight, the user timeout while something is.
	nc, err := link.Dial(ctx, e.Addr(), options)
	if why := refused.Load(); err != nil && why != nil {
		return nil, errs.Wrap(*why, "xrootd.ConnectTo", e.String())
	}
	if err != nil {
		return nil, lost(e, false, err)
	}
	c := newConn(nc, e, o)
	// Both end with the session; the login needs them already, to read the answers and to notice silence.
	c.contained(c.receive)
	c.contained(c.watch)
	// The deadline includes the login: a port that accepts and stays silent is not a server.
	if err := c.login(ctx, expect); err != nil {
		c.fail(err)
		return nil, err
	}
	return c, nil
}

// login sends handshake, protocol and login together and then reads the three answers.
func (c *Conn) login(ctx context.Context, expect uint8) error {
	hello := call{since: time.Now(), silenceMax: c.opts.DialTimeout, done: make(chan struct{})}
	var protocol, login call // answered in this order, each in its own slot
	c.mu.Lock()
	if c.err == nil {
		c.calls[greetingSlot] = &hello
	}
	c.mu.Unlock()
	c.out.queue(wire.AppendHandshake(nil), nil, 0)
	if err := c.send(ctx, &protocol, wire.Protocol{Version: wire.ProtocolVersion, Expect: expect}); err != nil {
		return err
	}
	id := wire.Login{
		PID: uint32(os.Getpid()), User: c.user(),
		// Without the flags of redirects: a copy restarts when a write fails, not when it is redirected.
		Ability: wire.LoginAbilities &^ wire.AbilityRedirFlags, Capabilities: wire.LoginCapVer,
	}
	host, _ := os.Hostname() // for the server's logs only; it may be empty
	if err := c.send(ctx, &login, id, fmt.Appendf(nil, "?xrd.appname=%s&xrd.hostname=%s&xrd.rn=hemera", c.opts.App, host)); err != nil {
		return err
	}
	c.flush()
	for _, k := range []*call{&hello, &protocol, &login} {
		if a := c.wait(ctx, k); a.err != nil {
			return errs.As(a.err, errs.Unavailable, "xrootd.LogInAt", c.endpoint.String())
		}
	}
	if err := protocol.answer.failure("xrootd.AgreeOnProtocolWith", c.endpoint.String()); err != nil {
		return err
	}
	p, err := wire.ParseProtocolReply(protocol.answer.body)
	if err != nil {
		return err
	}
	c.version, c.flags = p.Version, p.Flags // before any request that depends on them
	if err := login.answer.failure("xrootd.LogInAt", c.endpoint.String()); err != nil {
		return err
	}
	l, err := wire.ParseLoginReply(login.answer.body)
	if err != nil {
		return err
	}
	c.session = l.Session
	return c.authenticate(ctx, l.Security)
}

// user returns the login name: the address's, else the client's.
func (c *Conn) user() string {
	if c.endpoint.User != "" {
		return c.endpoint.User
	}
	return c.opts.User
}

// authenticate tries the server's offers in order. A refusal does not end the session, because the next offer may
// succeed.
func (c *Conn) authenticate(ctx context.Context, security string) error {
	if !strings.Contains(security, "&P=") { // the server requires no authentication
		return nil
	}
	var last error // the server's answer to the last offer that was tried
	for _, name := range offers(security) {
		credentials, known := credentials(name, c.user())
		if !known || c.opts.Anonymous && name != "host" { // unix would send a name
			continue
		}
		a := c.roundTrip(ctx, nil, wire.Auth{Type: name}, credentials)
		if a.err == nil && a.status == wire.StatusAuthMore { // for mechanisms with a challenge; unix and host have none
			last = errs.New(errs.Unauthenticated, "xrootd.AuthenticateAt", c.endpoint.String()+" by "+name, "the server wants more steps than the mechanism has")
			continue
		}
		if last = a.failure("xrootd.AuthenticateAt", c.endpoint.String()+" by "+name); last == nil {
			return nil
		}
	}
	if last != nil {
		return last
	}
	// This client has none of the offered mechanisms: name both lists, so that an admin sees what to configure.
	has := "unix and host"
	if c.opts.Anonymous {
		has = "host, as it acts for somebody else"
	}
	return errs.New(errs.Unauthenticated, "xrootd.LogInAt", c.endpoint.String(),
		"the server wants one of "+strings.Join(offers(security), ", ")+", this client has "+has)
}

// offers returns the mechanisms in a login's answer, in the server's order of preference: "&P=gsi,v:10600&P=unix". It
// drops their arguments, as neither unix nor host has any.
func offers(security string) []string {
	var names []string
	for part := range strings.SplitSeq(security, "&P=") {
		name, _, _ := strings.Cut(part, ",")
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// credentials returns the credentials for one mechanism, and whether the client supports it.
func credentials(name, user string) ([]byte, bool) {
	switch name {
	case "unix":
		return []byte("unix\x00" + user + "\x00"), true
	case "host":
		return []byte("host\x00"), true
	}
	return nil, false
}
