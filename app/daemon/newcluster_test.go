package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestANewClusterIsSaid by a warning with its directory, once: an admin who mistyped it must see that it is empty.
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
