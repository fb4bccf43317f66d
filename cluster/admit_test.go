package cluster

import (
	"testing"

	"hemera/platform/kv/memkv"
)

func TestNodeAdmittedAnewSucceedsItself(t *testing.T) {
	store := memkv.New()
	c := open(t, store, nil)
	// Ids of admitted nodes are reserved before they register.
	var ch change
	ch.put(nodeRecord{ID: 1})
	ch.put(nodeRecord{ID: 2})
	ch.put(nextRecord{Node: 3, Disk: 1})
	if err := c.journal.commit(t.Context(), &ch); err != nil {
		t.Fatal(err)
	}
	c = open(t, store, nil)
	if n := c.View().Nodes; len(n) != 0 {
		t.Errorf("nodes that never came are in the view: %+v", n)
	}
	h := hello(1, 2)
	h.ID = 1
	first := register(t, c, h)
	c = open(t, store, nil) // it is offline, has lost its state, and was admitted again
	h.ID = 2
	second := register(t, c, h)
	if v := c.View(); len(v.Nodes) != 1 || v.Nodes[0].ID != 2 || second.DiskIDs["u1.0"] != first.DiskIDs["u1.0"] {
		t.Errorf("%+v, disks %v, were %v", v.Nodes, second.DiskIDs, first.DiskIDs)
	}
}
