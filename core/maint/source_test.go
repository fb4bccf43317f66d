package maint

import (
	"errors"
	"testing"

	"hemera"
	"hemera/errs"
)

// TestSourcesAreOnIdleNodes: a node with two disks is one link, so its second disk is no idle source while the first is read.
func TestSourcesAreOnIdleNodes(t *testing.T) {
	view := &hemera.View{}
	for i, node := range []hemera.NodeID{1, 1, 2, 2, 3} { // views are in the order of disks
		view.Disks = append(view.Disks, hemera.Disk{ID: hemera.DiskID(i + 1), Node: node, Health: hemera.HealthOK})
	}
	cases := []struct {
		name string
		load map[hemera.DiskID]int
		want []hemera.DiskID
	}{
		{"nothing is read: the order given stays", nil, []hemera.DiskID{2, 3, 5}},
		{"the other disk of node 1 is read", map[hemera.DiskID]int{1: 1}, []hemera.DiskID{3, 5, 2}},
		{"nodes with the same load: the idle disk", map[hemera.DiskID]int{1: 2, 3: 2}, []hemera.DiskID{5, 2, 3}},
	}
	for _, c := range cases {
		sources := []hemera.Target{{Disk: 2, Node: 1}, {Disk: 3, Node: 2}, {Disk: 5, Node: 3}}
		newTraffic().orderSources(view, sources, c.load)
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
	e.copies.lockFile(7)
	if _, err := e.relocate(t.Context(), hemera.Entry{ID: 7}, moveSpec{}); !errors.Is(err, errs.Locked) || errors.Is(err, errs.Conflict) {
		t.Errorf("relocate: %v", err)
	}
}
