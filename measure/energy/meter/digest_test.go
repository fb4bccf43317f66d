package meter

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hemera/words/errs"
)

// shelly2 is a plug of the second generation that wants its password, as "Authentication" of Shelly's Gen2 Device API says: a digest
// with SHA-256 and qop=auth (RFC 7616). The realm is the device.
type shelly2 struct {
	t        *testing.T
	password string
	page     string
	nonce    int // of the last challenge; an earlier one is stale
	used     map[string]bool
	refused  int
}

func (s *shelly2) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := r.Header.Get("Authorization")
	switch {
	case r.URL.Path == "/shelly": // is for everybody
		fmt.Fprint(w, `{"id": "shellyplus1pm-a8032ab1fe78", "gen": 2, "auth_en": true, "auth_domain": "shellyplus1pm-a8032ab1fe78"}`)
	case r.URL.Path != "/rpc/Shelly.GetStatus":
		w.WriteHeader(http.StatusNotFound)
	case s.proves(header, r.Method, r.URL.RequestURI()):
		fmt.Fprint(w, s.page)
	default:
		if strings.HasPrefix(header, "Basic") || strings.Contains(header, "cret") {
			s.t.Errorf("the password itself was sent: %s", header)
		}
		s.refused++
		s.nonce++
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Digest qop="auth", realm="shellyplus1pm-a8032ab1fe78", nonce="%x", algorithm=SHA-256`, s.nonce))
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// proves computes the response of RFC 7616, 3.4.1. A request that was seen before proves nothing.
func (s *shelly2) proves(header, method, uri string) bool {
	list, ok := strings.CutPrefix(header, "Digest ")
	if !ok || s.used[header] {
		return false
	}
	s.used[header] = true
	field := map[string]string{}
	for part := range strings.SplitSeq(list, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		field[key] = strings.Trim(value, `"`)
	}
	hash := func(parts ...string) string {
		return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(parts, ":"))))
	}
	secret := hash("admin", "shellyplus1pm-a8032ab1fe78", s.password)
	want := hash(secret, field["nonce"], field["nc"], field["cnonce"], "auth", hash(method, uri))
	return field["username"] == "admin" && field["nonce"] == fmt.Sprintf("%x", s.nonce) && field["uri"] == uri && field["cnonce"] != "" && field["response"] == want
}

func TestAShellyWithAPassword(t *testing.T) {
	plug := &shelly2{t: t, password: "se:cret &?", page: recorded(t, "shelly2.json"), used: map[string]bool{}}
	s := httptest.NewServer(plug)
	t.Cleanup(s.Close)
	admin := login(t)
	admin.User = "admin"
	gives(t, "shelly:"+s.URL, Options{Login: admin}, 58.9)
	// Two readings, and one challenge for both. A plug that restarted has another nonce, and is asked again.
	if plug.refused != 1 {
		t.Errorf("%d requests were refused", plug.refused)
	}
	m, err := Open("shelly:"+s.URL, Options{Login: admin})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		plug.nonce += 7
		if p, err := m.Read(t.Context()); err != nil || !near(p.Value, 58.9) {
			t.Errorf("after a restart: %v, %v", p, err)
		}
	}
	for name, l := range map[string]Login{"no login": {}, "another user": login(t), "a wrong password": {User: "admin", password: "secret"}} {
		m, err := Open("shelly:"+s.URL, Options{Login: l})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Read(t.Context())
		if !errors.Is(err, errs.Unauthenticated) || !strings.Contains(errs.RemedyOf(err), "admin") || strings.Contains(fmt.Sprintf("%v %+v", err, err), "cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
