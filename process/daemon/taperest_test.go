package daemon

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"hemera/doors/taperest"
	"hemera/platform/auth"
	"hemera/test/fixture"
)

// TestStrangersSeeWhereTheTapeAPIIs: they see nothing else of it, because callers from other machines are not identified
// by HTTP.
func TestStrangersSeeWhereTheTapeAPIIs(t *testing.T) {
	policy := auth.NewManagerPolicy(nil)
	admin := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	h := guardWeb(newWebRules(web{}), addTapeAPI(taperest.Options{
		Staging: fixture.NewStaging(fixture.NewTree(), time.Now), Authorize: taperest.Authorizer(socketOwner(policy.Owners, policy.Users)),
	}, admin))
	for path, status := range map[string]int{
		taperest.WellKnown: http.StatusOK, "/api/v1/stage/x": http.StatusUnauthorized, "/api/v1/none": http.StatusNotFound, "/": http.StatusTeapot, "/api": http.StatusTeapot,
	} {
		if w := askedAt(h, "198.51.100.7:1", "127.0.0.1", path); w.Code != status {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := askedAt(h, "127.0.0.1:1", "evil.example.com", taperest.WellKnown); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("a foreign name: %d %s", w.Code, w.Body)
	}
}

// askedAt sends a request to a server that knows its own address, by which the kernel finds the caller.
func askedAt(h http.Handler, from, host, path string) *httptest.ResponseRecorder {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1094}
	return asked(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(at))))
	}), from, host, path)
}
