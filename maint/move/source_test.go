package move

import (
	"errors"
	"testing"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestSourcesAreOnIdleNodes: a node with two disks is one link, so its second disk is no idle source while the first is read.
func TestSourcesAreOnIdleNodes(t *testing.T) {
	view := &hemera.View{}
	for i, node := range []hemera.NodeID{1, 1, 2, 2, 3} { // views are in the order of disks
		view.Disks = append(view.Disks, hemera.Disk{ID: hemera.DiskID(i + 1), Node: node, Health: hemera.HealthOK})
	}
	cases := []struct {
		name    string
		traffic traffic
		load    map[hemera.DiskID]int
		want    []hemera.DiskID
	}{
		{"nothing is read: the order given stays", traffic{}, nil, []hemera.DiskID{2, 3, 5}},
		{"node 1 sends", traffic{sends: map[hemera.NodeID]int64{1: 1}}, map[hemera.DiskID]int{1: 1}, []hemera.DiskID{3, 5, 2}},
		{"what nodes receive is no matter", traffic{receives: map[hemera.NodeID]int64{1: 9}, sends: map[hemera.NodeID]int64{3: 1}}, nil, []hemera.DiskID{2, 3, 5}},
		{"nodes that send the same: the idle disk", traffic{sends: map[hemera.NodeID]int64{1: 2, 2: 2}}, map[hemera.DiskID]int{1: 2, 3: 2}, []hemera.DiskID{5, 2, 3}},
	}
	for _, c := range cases {
		sources := []hemera.Target{{Disk: 2, Node: 1}, {Disk: 3, Node: 2}, {Disk: 5, Node: 3}}
		c.traffic.orderSources(view, sources, c.load)
		for i, s := range sources {
			if s.Disk != c.want[i] {
				t.Errorf("%s: place %d is disk %d, want %d", c.name, i, s.Disk, c.want[i])
			}
		}
	}
}

// TestAHeldFileIsNotForgotten: who finds a file held comes again; only a file that changed is nobody's work any more.
func TestAHeldFileIsNotForgotten(t *testing.T) {
	e := New(Options{})
	e.LockFile(7)
	if _, err := e.Relocate(t.Context(), hemera.Entry{ID: 7}, Spec{}); !errors.Is(err, errs.Locked) || errors.Is(err, errs.Conflict) {
		t.Errorf("Relocate: %v", err)
	}
}
