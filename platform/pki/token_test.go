package pki

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

func testAuthority(t testing.TB, dir string) *Authority {
	t.Helper()
	next := hemera.NodeID(0)
	a, err := OpenAuthority(t.Context(), dir, AuthorityOptions{
		Tokens:  new(MemoryTokens),
		NewNode: func(context.Context) (hemera.NodeID, error) { next++; return next, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func testToken(t testing.TB, a *Authority) Token {
	t.Helper()
	text, err := a.CreateToken(context.Background(), TokenOptions{Addrs: []string{"m1:1094", "[::1]:1094"}, Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	token, err := ParseToken(text)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestTokenSurvivesCopying(t *testing.T) {
	a := testAuthority(t, t.TempDir())
	token := testToken(t, a)
	again, err := ParseToken(" " + token.Text() + "\n")
	if err != nil || again.Text() != token.Text() || again.Fingerprint != a.Fingerprint() || !slices.Equal(again.Addrs, []string{"m1:1094", "[::1]:1094"}) {
		t.Errorf("got %v, %v", again, err)
	}
}

func TestTokenIsNotPrinted(t *testing.T) {
	token := testToken(t, testAuthority(t, t.TempDir()))
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("joining", "token", token)
	damaged := token.Text()[:len(token.Text())-3] + "!!!"
	_, err := ParseToken(damaged)
	for _, text := range []string{fmt.Sprint(token), fmt.Sprintf("%v %+v %#v %s", token, token, token, token), log.String(), fmt.Sprint(err)} {
		if strings.Contains(text, token.Secret()) || strings.Contains(text, token.Text()[20:60]) {
			t.Errorf("the secret is in %q", text)
		}
	}
}

func TestBadTokensSayWhatIsWrong(t *testing.T) {
	good := testToken(t, testAuthority(t, t.TempDir())).Text()
	for text, want := range map[string]string{
		"":                                       "does not begin",
		"hemera-join":                            "does not begin",
		"hemera-join:":                           "cut short",
		good[:60]:                                "cut short",
		good + "*":                               "damaged",
		"hemera-join:Ag" + good[14:]:             "version 2",
		good + strings.Repeat("A", 5000):         "longer",
		strings.Replace(good, "join", "jion", 1): "does not begin",
	} {
		_, err := ParseToken(text)
		if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), want) || errs.RemedyOf(err) == "" {
			t.Errorf("%.30q…: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(testToken(f, testAuthority(f, f.TempDir())).Text())
	f.Add("hemera-join:")
	f.Add("hemera-join:AQ")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err != nil {
			if !errors.Is(err, errs.Invalid) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if token.Text() != strings.TrimSpace(text) {
			t.Errorf("%q is read and written as %q", text, token.Text())
		}
	})
}

func TestTokenOptionsAreChecked(t *testing.T) {
	a := testAuthority(t, t.TempDir())
	for _, o := range []TokenOptions{
		{Addrs: []string{"m:1"}}, {Addrs: []string{"m:1"}, Lifetime: -1}, {Lifetime: time.Hour},
		{Addrs: []string{"no port"}, Lifetime: time.Hour}, {Addrs: []string{"m:1"}, Lifetime: time.Hour, Uses: -1}, {Addrs: []string{"m:1"}, Lifetime: time.Hour, Uses: UsesMax + 1}, {Addrs: make([]string, 17), Lifetime: time.Hour},
	} {
		if _, err := a.CreateToken(context.Background(), o); !errors.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v, want Invalid", o, err)
		}
	}
}

func TestAuthorityOutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	first := testAuthority(t, dir)
	if testAuthority(t, dir).Fingerprint() != first.Fingerprint() {
		t.Error("a restart made another authority")
	}
	path := filepath.Join(dir, "authority.pem")
	if err := os.Chmod(path, 0o644); err != nil { // like a copy of the file
		t.Fatal(err)
	}
	testAuthority(t, dir)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v, want mode 0600", info.Mode(), err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range [][]byte{nil, data[:len(data)/2], bytes.ReplaceAll(data, []byte("PRIVATE"), []byte("PIRVATE"))} {
		if err := os.WriteFile(path, damage, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenAuthority(t.Context(), dir, AuthorityOptions{}); !errors.Is(err, errs.Corrupt) {
			t.Errorf("a damaged authority: %v, want Corrupt", err)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, damage) {
			t.Error("the damaged file was replaced")
		}
	}
}

// direct joins without a network, from an address.
type direct struct {
	*Authority
	from string
}

func (d direct) Join(ctx context.Context, secret string, request []byte) ([]byte, error) {
	return d.Authority.Join(ctx, secret, request, netip.MustParseAddr(d.from))
}

// inProcess joins and renews without a network.
type inProcess struct {
	*Authority
	node   hemera.NodeID
	failed error
	asked  chan struct{}
}

func (p *inProcess) Reconnect() {}

func (p *inProcess) Renew(ctx context.Context, request []byte) ([]byte, error) {
	if p.asked != nil {
		p.asked <- struct{}{}
	}
	if p.failed != nil {
		return nil, p.failed
	}
	return p.Authority.Renew(ctx, p.node, request)
}

func TestCredentialsOutliveTheProcess(t *testing.T) {
	a, dir := testAuthority(t, t.TempDir()), filepath.Join(t.TempDir(), "state")
	if _, err := LoadCredentials(dir); !errors.Is(err, errs.NotFound) || !strings.Contains(errs.RemedyOf(err), "--join") {
		t.Errorf("before joining: %v (%s)", err, errs.RemedyOf(err))
	}
	creds, err := Enrol(context.Background(), dir, testToken(t, a), direct{a, "10.1.0.9"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadCredentials(dir)
	if err != nil || again.Node() != creds.Node() || again.Node() != 1 || !slices.Equal(again.Addrs(), []string{"m1:1094", "[::1]:1094"}) {
		t.Errorf("after a restart: node %d at %v, %v", again.Node(), again.Addrs(), err)
	}
	path := filepath.Join(dir, "node.pem")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v, want mode 0600", info, err)
	}
	if err := os.WriteFile(path, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadCredentials(dir); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" {
		t.Errorf("damaged: %v, want Corrupt with a remedy", err)
	}
}

type answers []byte

func (a answers) Join(context.Context, string, []byte) ([]byte, error) { return a, nil }

// TestEnrolChecksTheAnswer: if a manager answers with another key's certificate, or nonsense, nothing is stored.
func TestEnrolChecksTheAnswer(t *testing.T) {
	a, other := testAuthority(t, t.TempDir()), testAuthority(t, t.TempDir())
	token := testToken(t, a)
	_, request, err := newRequest()
	if err != nil {
		t.Fatal(err)
	}
	notOurKey, err := a.Renew(context.Background(), 7, request)
	if err != nil {
		t.Fatal(err)
	}
	for name, manager := range map[string]Joiner{
		"nothing": answers(nil), "nonsense": answers("x"), "another key's": answers(notOurKey),
		"another authority's": lenient{other},
	} {
		dir := t.TempDir()
		if _, err := Enrol(context.Background(), dir, token, manager); !errors.Is(err, errs.Unauthenticated) {
			t.Errorf("%s: %v, want Unauthenticated", name, err)
		}
		if files, _ := os.ReadDir(dir); len(files) != 0 {
			t.Errorf("%s: left %v behind", name, files)
		}
	}
}

// lenient signs any request.
type lenient struct{ a *Authority }

func (l lenient) Join(ctx context.Context, _ string, request []byte) ([]byte, error) {
	return l.a.Renew(ctx, 9, request)
}

func TestKeepRenewsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := testAuthority(t, t.TempDir())
		dir := t.TempDir()
		creds, err := Enrol(context.Background(), dir, testToken(t, a), direct{a, "10.1.0.9"})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		expires := creds.current.Load().chain[0].NotAfter
		manager := &inProcess{Authority: a, node: creds.Node(), failed: errs.New(errs.Unavailable, "test", "", "manager is down"), asked: make(chan struct{})}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			creds.Keep(ctx, manager, slog.New(slog.DiscardHandler))
		}()
		<-manager.asked
		if age := time.Since(start); age < nodeLifetime/2 || age > nodeLifetime*3/4 {
			t.Errorf("asked after %v of %v", age, nodeLifetime)
		}
		synctest.Wait()
		manager.failed = nil
		first := time.Now()
		<-manager.asked
		if again := time.Since(first); again > 2*time.Hour {
			t.Errorf("asked again only after %v", again)
		}
		synctest.Wait()
		if !creds.current.Load().chain[0].NotAfter.After(expires) {
			t.Error("the certificate was not replaced")
		}
		if stored, err := LoadCredentials(dir); err != nil || !stored.current.Load().chain[0].Equal(creds.current.Load().chain[0]) {
			t.Errorf("the file has another certificate: %v", err)
		}
		cancel()
		<-done
	})
}
