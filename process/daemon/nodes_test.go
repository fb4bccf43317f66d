package daemon

import (
	"testing"

	"hemera/words/hemera"
)

// Each start may have another number of nodes: the disks are distributed again, and no data is lost.
func TestAnotherNumberOfNodes(t *testing.T) {
	dir := t.TempDir()
	for _, nodes := range []int{4, 2, 4, 1, 3} {
		u, err := OpenUp(t.Context(), UpOptions{Nodes: nodes, Disks: 4, Manager: ManagerOptions{
			Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 1 << 28, Log: keptLog(t),
		}})
		if err != nil {
			t.Fatal(err)
		}
		stop := running(t, u)
		v, err := u.Manager.Admin.View(t.Context())
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

// A node that an admin removed while the cluster was running rejoins at the next start, which needs the same number of
// nodes.
func TestAClusterStartsAfterOneOfItsNodesWasRemoved(t *testing.T) {
	dir := t.TempDir()
	start := func() *Up {
		u, err := OpenUp(t.Context(), UpOptions{Nodes: 3, Disks: 2, Manager: ManagerOptions{Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 1 << 28, Log: keptLog(t)}})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	u := start()
	stop := running(t, u)
	removed := u.Nodes[2].ID()
	if err := u.Manager.Admin.RemoveNode(t.Context(), removed); err != nil {
		t.Fatal(err)
	}
	stop()
	u = start()
	defer running(t, u)()
	if id := u.Nodes[2].ID(); id == 0 || id == removed {
		t.Errorf("node %v is %v now", removed, id)
	}
}
