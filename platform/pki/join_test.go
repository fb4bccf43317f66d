package pki

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// asks returns a request with a new key, as from the holder of a token.
func asks(t *testing.T) []byte {
	t.Helper()
	_, request, err := newRequest()
	if err != nil {
		t.Fatal(err)
	}
	return request
}

func made(t *testing.T, a *Authority, o TokenOptions) Token {
	t.Helper()
	o.Addrs, o.Lifetime = []string{"m:1"}, time.Hour
	text, err := a.CreateToken(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	token, err := ParseToken(text)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

var somewhere = netip.MustParseAddr("10.1.0.9")

func TestATokenIsForOneNodeUnlessSaid(t *testing.T) {
	for _, uses := range []int{0, 1, 3} {
		a := testAuthority(t, t.TempDir())
		secret := made(t, a, TokenOptions{Uses: uses}).Secret()
		var first []byte
		for i := range max(uses, 1) {
			request := asks(t)
			if first == nil {
				first = request
			}
			if _, err := a.Join(t.Context(), secret, request, somewhere); err != nil {
				t.Fatalf("%d uses, node %d: %v", uses, i, err)
			}
		}
		if _, err := a.Join(t.Context(), secret, asks(t), somewhere); !errors.Is(err, errs.Unauthenticated) || errs.RemedyOf(err) == "" {
			t.Errorf("%d uses: one more: %v", uses, err)
		}
		// A node that lost the answer gets it again, with the same id.
		chain, err := a.Join(t.Context(), secret, first, somewhere)
		if err != nil {
			t.Fatal(err)
		}
		b, err := parseBundle(chain)
		if err != nil {
			t.Fatal(err)
		}
		if id, err := nodeIn(b.chain[0]); err != nil || id != 1 {
			t.Errorf("asked again: node %d, %v", id, err)
		}
	}
}

func TestATokenForAnAddress(t *testing.T) {
	a := testAuthority(t, t.TempDir())
	from := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/24"), netip.MustParsePrefix("2001:db8::7/128")}
	for addr, want := range map[string]bool{
		"10.1.0.9": true, "::ffff:10.1.0.9": true, "2001:db8::7": true, "10.1.1.9": false, "2001:db8::8": false, "127.0.0.1": false,
	} {
		secret := made(t, a, TokenOptions{From: from}).Secret()
		_, err := a.Join(t.Context(), secret, asks(t), netip.MustParseAddr(addr))
		if (err == nil) != want || err != nil && !errors.Is(err, errs.Unauthenticated) {
			t.Errorf("from %s: %v", addr, err)
		}
	}
	secret := made(t, a, TokenOptions{From: from}).Secret()
	if _, err := a.Join(t.Context(), secret, asks(t), netip.Addr{}); !errors.Is(err, errs.Unauthenticated) {
		t.Errorf("from nowhere: %v", err)
	}
}

func TestTokensAreListedAndRevoked(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var last hemera.NodeID
	a, err := OpenAuthority(t.Context(), t.TempDir(), AuthorityOptions{
		Tokens: &MemoryTokens{}, Now: func() time.Time { return now },
		NewNode: func(context.Context) (hemera.NodeID, error) { last++; return last, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	token := made(t, a, TokenOptions{Uses: 2, From: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	now = now.Add(time.Minute)
	other := made(t, a, TokenOptions{})
	if _, err := a.Join(t.Context(), token.Secret(), asks(t), somewhere); err != nil {
		t.Fatal(err)
	}
	list, err := a.Tokens(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if got := list[1]; got.Left != 1 || !slices.Equal(got.From, []string{"10.1.0.0/16"}) || len(got.Used) != 1 || got.Used[0] != (adminapi.TokenUse{Node: 1, From: "10.1.0.9", At: now}) {
		t.Errorf("%+v", got)
	}
	if strings.Contains(token.Secret(), list[1].ID) || list[0].Left != 1 {
		t.Errorf("%+v", list)
	}
	if err := a.RemoveToken(t.Context(), list[1].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Join(t.Context(), token.Secret(), asks(t), somewhere); !errors.Is(err, errs.Unauthenticated) {
		t.Errorf("a revoked token: %v", err)
	}
	if err := a.RemoveToken(t.Context(), list[1].ID); !errors.Is(err, errs.NotFound) {
		t.Errorf("revoked again: %v", err)
	}
	now = now.Add(2 * time.Hour)
	if list, err := a.Tokens(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("expired: %+v, %v", list, err)
	}
	if _, err := a.Join(t.Context(), other.Secret(), asks(t), somewhere); !errors.Is(err, errs.Unauthenticated) {
		t.Errorf("expired: %v", err)
	}
}

// lossy loses the first answers.
type lossy struct {
	direct
	lost int
}

func (l *lossy) Join(ctx context.Context, secret string, request []byte) ([]byte, error) {
	answer, err := l.direct.Join(ctx, secret, request)
	if l.lost--; l.lost >= 0 {
		return nil, errs.New(errs.Unavailable, "rpc.Join", "", "the connection was lost")
	}
	return answer, err
}

// A lost answer uses up a token for one node; the node is still admitted.
func TestALostAnswerCostsNoToken(t *testing.T) {
	a := testAuthority(t, t.TempDir())
	creds, err := Enrol(t.Context(), t.TempDir(), made(t, a, TokenOptions{}), &lossy{direct{a, "10.1.0.9"}, joinTries - 1})
	if err != nil || creds.Node() != 1 {
		t.Errorf("%v", err)
	}
}
