package hemera_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"hemera/words/hemera"
)

// countingSigner signs with a number, or fails.
type countingSigner struct {
	signed int
	err    error
}

func (s *countingSigner) Mint(c hemera.Capability) (string, error) {
	s.signed++
	return fmt.Sprintf("secret-%d-%s", s.signed, c.Path), s.err
}

func TestLocalPermitSignsOnceAndOnlyWhenAsked(t *testing.T) {
	s := &countingSigner{err: errors.New("no key yet")}
	p := hemera.NewPermit(hemera.Capability{Path: "/f", Access: hemera.AccessCreate}, s)
	never := func(string) (hemera.Capability, error) { return hemera.Capability{}, errors.New("asked to verify") }
	if same, err := p.Verify(never); err != nil || same != p || s.signed != 0 {
		t.Errorf("verify of a local permit: %v, %v, signed %d times", same, err, s.signed)
	}
	if _, err := p.Token(); err == nil {
		t.Error("signed without a key")
	}
	s.err = nil
	for range 2 {
		if token, err := p.Token(); err != nil || token != "secret-2-/f" {
			t.Errorf("%q, %v", token, err)
		}
	}
}

func TestUnverifiedPermitPermitsNothing(t *testing.T) {
	p := hemera.ParsePermit("secret")
	if p.Local() || p.Access != 0 || p.Path != "" {
		t.Errorf("%+v", p.Capability)
	}
	verified, err := p.Verify(func(token string) (hemera.Capability, error) {
		return hemera.Capability{Path: "/" + token, Access: hemera.AccessRead}, nil
	})
	if err != nil || verified.Path != "/secret" || verified.Local() {
		t.Fatalf("%v, %v", verified, err)
	}
	refuse := errors.New("forged")
	for _, p := range []*hemera.Permit{nil, p, verified} { // what was verified elsewhere is not believed
		if _, err := p.Verify(func(string) (hemera.Capability, error) { return hemera.Capability{}, refuse }); !errors.Is(err, refuse) {
			t.Errorf("%v: %v", p, err)
		}
	}
}

func TestPermitsShowNoSecret(t *testing.T) {
	local := hemera.NewPermit(hemera.Capability{Path: "/f", Access: hemera.AccessCreate}, &countingSigner{})
	if _, err := local.Token(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*hemera.Permit{local, hemera.ParsePermit("secret"), hemera.VerifiedPermit(hemera.Capability{Access: hemera.AccessRead}, "secret")} {
		g := hemera.Grant{Addr: "n:1", Permit: p}
		var b bytes.Buffer
		fmt.Fprintf(&b, "%v %+v %s %v %+v %#v", p, p, p, g, g, g)
		slog.New(slog.NewTextHandler(&b, nil)).Info("text", "permit", p, "grant", g)
		slog.New(slog.NewJSONHandler(&b, nil)).Info("json", "permit", p, "grant", g)
		if err := json.NewEncoder(&b).Encode(g); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "secret") {
			t.Errorf("shown: %s", b.String())
		}
	}
}
