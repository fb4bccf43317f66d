package daemon

import (
	"log/slog"
	"testing"

	"hemera"
)

// Each start may have another number of nodes: the disks are distributed again, and none is lost.
func TestAnotherNumberOfNodes(t *testing.T) {
	dir := t.TempDir()
	for _, nodes := range []int{4, 2, 4, 1, 3} {
		u, err := OpenUp(t.Context(), UpOptions{Nodes: nodes, Disks: 4, Manager: ManagerOptions{
			Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 1 << 28, Log: slog.New(slog.DiscardHandler),
		}})
		if err != nil {
			t.Fatal(err)
		}
		stop := running(t, u)
		v, err := u.Manager.View(t.Context())
		stop()
		if err != nil || len(v.Disks) != 4 {
			t.Fatalf("%d nodes: %d disks, %v", nodes, len(v.Disks), err)
		}
		count := map[hemera.NodeID]int{}
		for _, d := range v.Disks {
			if count[d.Node]++; !d.Active || int(d.ID) > 4 {
				t.Errorf("%d nodes: %+v", nodes, d)
			}
		}
		if len(count) != nodes {
			t.Errorf("%d nodes: the disks are dealt %v", nodes, count)
		}
	}
}
