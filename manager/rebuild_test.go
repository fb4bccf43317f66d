package manager

import (
	"slices"
	"testing"

	"hemera/words/hemera"
)

// TestDisksOfSilentNodesAreNotRead: what a node keeps that does not say so is not made a file, and counts as not read.
func TestDisksOfSilentNodesAreNotRead(t *testing.T) {
	disk := func(id hemera.DiskID, node hemera.NodeID, online bool) hemera.Disk {
		d := hemera.Disk{ID: id, Node: node}
		if online {
			d.Active, d.Health = true, hemera.HealthOK
		}
		return d
	}
	disks := []hemera.Disk{disk(1, 1, true), disk(2, 2, true), disk(3, 2, true), disk(4, 3, false), disk(5, 4, true)}
	read, unread := toRead(disks, []hemera.NodeID{2, 3})
	var ids []hemera.DiskID
	for _, d := range read {
		ids = append(ids, d.ID)
	}
	if !slices.Equal(ids, []hemera.DiskID{1, 5}) || !slices.Equal(unread, []hemera.DiskID{2, 3, 4}) {
		t.Errorf("%v are read, and %v are not", ids, unread)
	}
}
