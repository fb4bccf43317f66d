package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"hemera/platform/auth"
)

// TestANewClusterIsSaid: a new manager warns once, with its directory, so that an admin who mistyped it sees that it is
// empty.
func TestANewClusterIsSaid(t *testing.T) {
	var said bytes.Buffer
	o := ManagerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 64 << 20, Role: "manager", Log: slog.New(slog.NewTextHandler(&said, nil))}
	for _, first := range []bool{true, false} {
		said.Reset()
		m, err := OpenManager(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		m.close()
		if is := strings.Contains(said.String(), "level=WARN msg=\"new, empty cluster\" dir="+o.Dir); is != first {
			t.Errorf("first %t: %s", first, &said)
		}
	}
}

// TestAManagerWithoutTrustedNetworksWarns: it warns if other machines could reach it and would all be refused.
func TestAManagerWithoutTrustedNetworksWarns(t *testing.T) {
	trusted, err := auth.ParseNetwork("10.1.0.0/24")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		listen, role string
		trusted      []auth.Network
		warns        bool
	}{
		{"0.0.0.0:0", "manager", nil, true},
		{"0.0.0.0:0", "manager", []auth.Network{trusted}, false},
		{"127.0.0.1:0", "manager", nil, false},
	} {
		var said bytes.Buffer
		m, err := OpenManager(t.Context(), ManagerOptions{Dir: t.TempDir(), Listen: c.listen, CacheBytes: 64 << 20, Role: c.role, Trusted: c.trusted, Log: slog.New(slog.NewTextHandler(&said, nil))})
		if err != nil {
			t.Fatal(err)
		}
		m.close()
		if warns := strings.Contains(said.String(), "no trusted networks"); warns != c.warns {
			t.Errorf("%+v: %s", c, &said)
		}
	}
}
