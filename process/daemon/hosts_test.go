package daemon

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"hemera/doors/admin"
	"hemera/words/adminapi"
)

func asked(h http.Handler, from, host, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr, r.Host = from, host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestForeignNamesAreRefused: the name of a web page may resolve to this machine (DNS rebinding).
func TestForeignNamesAreRefused(t *testing.T) {
	h := guardWeb(newWebRules(web{hosts: namesOf("Store.example.org:1094", []string{"alias.example.org"})}),
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, good := range map[string]bool{
		"localhost:1094": true, "LOCALHOST": true, "127.0.0.1:1094": true, "[::1]:1094": true, "::1": true, "192.0.2.1": true, "": true,
		"store.example.org:1094": true, "store.example.org.": true, "alias.example.org": true,
		"evil.example.com:1094": false, "evil.example.com": false, "localhost.evil.example.com": false, "127.0.0.1.evil.example.com:1094": false,
	} {
		w := asked(h, "127.0.0.1:1", host, "/debug/pprof/heap")
		if (w.Code == http.StatusOK) != good {
			t.Errorf("%q: %d %s", host, w.Code, w.Body)
		}
		if !good && !strings.Contains(w.Body.String(), "http.hosts") {
			t.Errorf("%q: no remedy: %s", host, w.Body)
		}
	}
	if w := asked(h, "127.0.0.1:1", "evil.example.com", "/healthz"); w.Code != http.StatusOK {
		t.Errorf("/healthz: %d", w.Code)
	}
}

func TestStrangersLearnNoVersion(t *testing.T) {
	h := guardWeb(newWebRules(web{metrics: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}),
		admin.NewHandler(admin.Services{Version: adminapi.VersionInfo{Version: "v9.8.7", Role: "manager"}}, nil))
	for _, path := range []string{"/", "/healthz"} {
		for from, told := range map[string]bool{"127.0.0.1:1": true, "10.1.0.9:1": true, "198.51.100.7:1": false} {
			w := asked(h, from, "127.0.0.1", path)
			if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "v9.8.7") != told {
				t.Errorf("%s to %s: %d %s", path, from, w.Code, w.Body)
			}
			if path == "/healthz" && !strings.HasPrefix(w.Body.String(), "ok\n") {
				t.Errorf("%s to %s: %s", path, from, w.Body)
			}
		}
	}
}
