package xrootd_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
	"hemera/rules/wire"
	"hemera/words/errs"
)

func anonymous(t *testing.T, o xrootd.Options) *xrootd.Client {
	o.Anonymous, o.RetryFor = true, time.Second
	c := xrootd.New(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestAnonymousClientsClaimNothing checks that a client that acts for another user does not claim its own name.
func TestAnonymousClientsClaimNothing(t *testing.T) {
	s := xrootdtest.NewSecure(t, "&P=unix&P=host", func(r xrootdtest.Request) []byte {
		if r.ID == wire.ReqOpen {
			return xrootdtest.Opened(r, 5)
		}
		return xrootdtest.Good(r, nil)
	})
	if _, err := anonymous(t, xrootd.Options{User: "root"}).Open(t.Context(), s.URL("/f"), xrootd.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	login := wire.DecodeLogin(s.Got(wire.ReqLogin)[0].Body)
	claims := s.Got(wire.ReqAuth)
	if login.User != "nobody" || len(claims) != 1 || claims[0].Payload != "host\x00" {
		t.Errorf("it logged in as %q and claimed %+v", login.User, claims)
	}

	strict := xrootdtest.NewSecure(t, "&P=unix", func(r xrootdtest.Request) []byte { return xrootdtest.Good(r, nil) })
	_, err := anonymous(t, xrootd.Options{}).Open(t.Context(), strict.URL("/f"), xrootd.OpenOptions{})
	if !errors.Is(err, errs.Unauthenticated) || len(strict.Got(wire.ReqAuth)) != 0 {
		t.Errorf("a server that wants a name: %v, claims %+v", err, strict.Got(wire.ReqAuth))
	}
}

func TestAnonymousClientsTakeNoNames(t *testing.T) {
	victim := xrootdtest.NewSecure(t, "&P=unix&P=host", func(r xrootdtest.Request) []byte { return xrootdtest.Opened(r, 5) })
	evil := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		url := strings.Replace(victim.URL("/f").String(), "root://", "root://games@", 1)
		return wire.AppendResponse(nil, r.Stream, wire.StatusRedirect, wire.Redirect{Port: -1, Host: url}.Append(nil))
	})
	c := anonymous(t, xrootd.Options{})
	if _, err := c.Open(t.Context(), evil.URL("/f"), xrootd.OpenOptions{}); !errors.Is(err, errs.Denied) {
		t.Errorf("a redirect to a user: %v", err)
	}
	named := victim.URL("/f")
	named.User = "games"
	if _, err := c.Open(t.Context(), named, xrootd.OpenOptions{}); !errors.Is(err, errs.Denied) {
		t.Errorf("an address with a user: %v", err)
	}
	if n := len(victim.Got(wire.ReqLogin)); n != 0 {
		t.Errorf("%d logins at the victim", n)
	}
}

// TestConnectionsArePermittedByAddress checks that neither a redirect nor a name with another address avoids the check.
func TestConnectionsArePermittedByAddress(t *testing.T) {
	victim := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte { return xrootdtest.Opened(r, 5) })
	evil := xrootdtest.New(t, xrootdtest.Manager, func(r xrootdtest.Request) []byte { return xrootdtest.Redirect(r, victim, "") })
	refused := errs.New(errs.Denied, "test", "", "not there")
	var seen []string
	c := anonymous(t, xrootd.Options{Permit: func(_ context.Context, e xrootd.Endpoint, to netip.AddrPort) error {
		seen = append(seen, e.Addr()+" "+to.String())
		if int(to.Port()) == victim.Port() {
			return refused
		}
		return nil
	}})
	_, err := c.Open(t.Context(), evil.URL("/f"), xrootd.OpenOptions{})
	if !errors.Is(err, refused) || errs.KindOf(err) != errs.Denied || victim.Conns() != 0 || len(seen) != 2 {
		t.Errorf("got %v after asking for %q; %d connections", err, seen, victim.Conns())
	}
	u := victim.URL("/f")
	u.Host = "localhost"
	if _, err := c.Open(t.Context(), u, xrootd.OpenOptions{}); !errors.Is(err, refused) || !strings.Contains(seen[2], "localhost:") {
		t.Errorf("by name: %v after %q", err, seen)
	}
}
