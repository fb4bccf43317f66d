package daemon

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"hemera/platform/auth"
)

// TestAManagerTakesSettingsWhileItRuns: the trusted networks, those that may read metrics, the names of the server, and
// the grace.
func TestAManagerTakesSettingsWhileItRuns(t *testing.T) {
	m, err := OpenManager(t.Context(), ManagerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 64 << 20, RepairGrace: time.Minute, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	network := netip.MustParsePrefix("10.1.0.0/16")
	scrape := func() int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://alias.example.org/metrics", nil)
		r.RemoteAddr = "10.1.2.3:4567"
		w := httptest.NewRecorder()
		m.port.web.ServeHTTP(w, r)
		return w.Code
	}
	offer := func() error {
		_, err := m.policy.Offer(auth.Peer{Remote: netip.MustParseAddrPort("10.1.2.3:4567"), Local: netip.MustParseAddrPort("10.1.0.1:1094")})
		return err
	}
	if code, err := scrape(), offer(); code == http.StatusOK || err == nil {
		t.Fatalf("a stranger: metrics %d, login %v", code, err)
	}
	live := m.options.Live()
	live.Trusted, live.Metrics, live.Hosts, live.RepairGrace = []auth.Network{{Prefix: network, Map: auth.MapSquash}}, []netip.Prefix{network}, []string{"alias.example.org"}, time.Hour
	m.Change(live)
	if code, err := scrape(), offer(); code != http.StatusOK || err != nil {
		t.Errorf("after the change: metrics %d, login %v", code, err)
	}
	if grace := m.Cluster.View().Grace; grace != time.Hour {
		t.Errorf("the grace is %v", grace)
	}
	m.Change(m.options.Live())
	if code, err := scrape(), offer(); code == http.StatusOK || err == nil {
		t.Errorf("a stranger again: metrics %d, login %v", code, err)
	}
}
