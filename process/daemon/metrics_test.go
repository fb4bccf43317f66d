package daemon

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestWhoMayScrape(t *testing.T) {
	h := guardMetrics([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		from, path string
		want       int
	}{
		{"127.0.0.1:1", "/metrics", http.StatusOK},
		{"[::1]:1", "/metrics", http.StatusOK},
		{"10.1.2.3:1", "/metrics", http.StatusOK},
		{"[::ffff:10.1.2.3]:1", "/metrics", http.StatusOK},
		{"192.0.2.1:1", "/metrics", http.StatusOK}, // itself, by another of its addresses
		{"10.2.0.1:1", "/metrics", http.StatusForbidden},
		{"nonsense", "/metrics", http.StatusForbidden},
		{"10.2.0.1:1", "/healthz", http.StatusOK},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		r.RemoteAddr = c.from
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.ParseIP("192.0.2.1"), Port: 1094})))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s from %s: %d, want %d: %s", c.path, c.from, w.Code, c.want, w.Body)
		}
	}
}
