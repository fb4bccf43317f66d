package client_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"hemera/app/client"
	"hemera/errs"
	"hemera/rules/wire"
)

func anonymous(t *testing.T, o client.Options) *client.Client {
	o.Anonymous, o.RetryFor = true, time.Second
	c := client.New(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestAnonymousClientsClaimNothing: who acts for somebody else must not lend him its own name.
func TestAnonymousClientsClaimNothing(t *testing.T) {
	s := newSecureScript(t, "&P=unix&P=host", func(r asked) []byte {
		if r.ID == wire.ReqOpen {
			return opened(r, 5)
		}
		return good(r, nil)
	})
	if _, err := anonymous(t, client.Options{User: "root"}).Open(t.Context(), s.url("/f"), client.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	login := wire.DecodeLogin(s.got(wire.ReqLogin)[0].Body)
	claims := s.got(wire.ReqAuth)
	if login.User != "nobody" || len(claims) != 1 || claims[0].payload != "host\x00" {
		t.Errorf("it logged in as %q and claimed %+v", login.User, claims)
	}

	strict := newSecureScript(t, "&P=unix", func(r asked) []byte { return good(r, nil) })
	_, err := anonymous(t, client.Options{}).Open(t.Context(), strict.url("/f"), client.OpenOptions{})
	if !errors.Is(err, errs.Unauthenticated) || len(strict.got(wire.ReqAuth)) != 0 {
		t.Errorf("a server that wants a name: %v, claims %+v", err, strict.got(wire.ReqAuth))
	}
}

func TestAnonymousClientsTakeNoNames(t *testing.T) {
	victim := newSecureScript(t, "&P=unix&P=host", func(r asked) []byte { return opened(r, 5) })
	evil := newScript(t, dataServer, func(r asked) []byte {
		url := strings.Replace(victim.url("/f").String(), "root://", "root://games@", 1)
		return wire.AppendResponse(nil, r.Stream, wire.StatusRedirect, wire.Redirect{Port: -1, Host: url}.Append(nil))
	})
	c := anonymous(t, client.Options{})
	if _, err := c.Open(t.Context(), evil.url("/f"), client.OpenOptions{}); !errors.Is(err, errs.Denied) {
		t.Errorf("a redirect to a user: %v", err)
	}
	named := victim.url("/f")
	named.User = "games"
	if _, err := c.Open(t.Context(), named, client.OpenOptions{}); !errors.Is(err, errs.Denied) {
		t.Errorf("an address with a user: %v", err)
	}
	if n := len(victim.got(wire.ReqLogin)); n != 0 {
		t.Errorf("%d logins at the victim", n)
	}
}

// TestConnectionsArePermittedByAddress: a redirect, or a name that means another address, must not get round it.
func TestConnectionsArePermittedByAddress(t *testing.T) {
	victim := newScript(t, dataServer, func(r asked) []byte { return opened(r, 5) })
	evil := newScript(t, manager, func(r asked) []byte { return redirect(r, victim, "") })
	refused := errs.New(errs.Denied, "test", "", "not there")
	var seen []string
	c := anonymous(t, client.Options{Permit: func(_ context.Context, e client.Endpoint, to netip.AddrPort) error {
		seen = append(seen, e.Addr()+" "+to.String())
		if int(to.Port()) == victim.port() {
			return refused
		}
		return nil
	}})
	_, err := c.Open(t.Context(), evil.url("/f"), client.OpenOptions{})
	if !errors.Is(err, refused) || errs.KindOf(err) != errs.Denied || victim.conns != 0 || len(seen) != 2 {
		t.Errorf("got %v after asking for %q; %d connections", err, seen, victim.conns)
	}
	u := victim.url("/f")
	u.Host = "localhost"
	if _, err := c.Open(t.Context(), u, client.OpenOptions{}); !errors.Is(err, refused) || !strings.Contains(seen[2], "localhost:") {
		t.Errorf("by name: %v after %q", err, seen)
	}
}
