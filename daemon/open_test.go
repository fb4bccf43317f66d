package daemon

import (
	"log/slog"
	"net"
	"testing"
)

// A port that is taken is the commonest of all failures to start; what was opened before is closed.
func TestATakenPortIsAnError(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	log := slog.New(slog.DiscardHandler)
	if m, err := OpenManager(t.Context(), ManagerOptions{Dir: t.TempDir(), Listen: taken.Addr().String(), Log: log}); err == nil || m != nil {
		t.Errorf("manager %v, error %v", m, err)
	}
	if n, err := OpenNode(t.Context(), NodeOptions{Dir: t.TempDir(), Listen: taken.Addr().String(), Log: log}); err == nil || n != nil {
		t.Errorf("node %v, error %v", n, err)
	}
	if n, err := OpenNode(t.Context(), NodeOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", Log: log}); err == nil || n != nil {
		t.Errorf("node without a manager or a token: %v, error %v", n, err)
	}
	u, err := OpenUp(t.Context(), UpOptions{Manager: ManagerOptions{Dir: t.TempDir(), Listen: taken.Addr().String(), Log: log}, Nodes: 1, Disks: 1})
	if err == nil || u != nil {
		t.Errorf("up %v, error %v", u, err)
	}
}
