package hemera

import (
	"math"
	"testing"
	"time"
)

// TestViewLookups holds the lookups of an ordered view against a look at every element.
func TestViewLookups(t *testing.T) {
	v := &View{
		Disks:  []Disk{{ID: 2}, {ID: 3}, {ID: 7}},
		Nodes:  []NodeInfo{{ID: 1}, {ID: 5}, {ID: 6}},
		Spaces: []Space{{Name: "a"}, {Name: "default"}, {Name: "tape"}},
	}
	for id := range uint32(9) {
		disk, node := false, false
		for i := range v.Disks {
			disk = disk || v.Disks[i].ID == DiskID(id)
			node = node || v.Nodes[i].ID == NodeID(id)
		}
		if d, ok := v.Disk(DiskID(id)); ok != disk || ok && d.ID != DiskID(id) {
			t.Errorf("disk %d: %v, %t", id, d.ID, ok)
		}
		if n, ok := v.Node(NodeID(id)); ok != node || ok && n.ID != NodeID(id) {
			t.Errorf("node %d: %v, %t", id, n.ID, ok)
		}
	}
	for name, want := range map[SpaceName]bool{"": false, "a": true, "b": false, "default": true, "tape": true, "z": false} {
		if s, ok := v.Space(name); ok != want || ok && s.Name != name {
			t.Errorf("space %q: %v, %t", name, s.Name, ok)
		}
	}
}

// Folders of one filesystem share its room; on another host the same number is another filesystem.
func TestRoom(t *testing.T) {
	v := &View{Nodes: []NodeInfo{{ID: 1, Addr: "a:1"}, {ID: 2, Addr: "b:1"}, {ID: 3, Addr: "a:2"}}}
	got := v.Room([]Disk{
		{Node: 1, DiskStats: DiskStats{Filesystem: 7, Capacity: 100, Used: 60, Free: 40, Inodes: 30, InodesFree: 18}},
		{Node: 1, DiskStats: DiskStats{Filesystem: 7, Capacity: 100, Used: 60, Free: 40}},
		{Node: 3, DiskStats: DiskStats{Filesystem: 7, Capacity: 100, Used: 60, Free: 40}},
		{Node: 2, DiskStats: DiskStats{Filesystem: 7, Capacity: 10, Used: 4, Free: 6, Inodes: 3, InodesFree: 2}},
		{Node: 2, DiskStats: DiskStats{Capacity: 1, Free: 1}}, {Node: 2, DiskStats: DiskStats{Capacity: 1, Free: 1}},
	})
	if want := (Room{Capacity: 112, Used: 64, Free: 48, Inodes: 33, InodesFree: 20}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestHostOfANode(t *testing.T) {
	for addr, want := range map[string]string{"node1:1095": "node1", "[fd00::1]:1095": "fd00::1", "": ""} {
		if got := (NodeInfo{Addr: addr}).Host(); got != want {
			t.Errorf("%q: %q, want %q", addr, got, want)
		}
	}
}

// TestFilling: what is kept free is no part of the whole, and nothing known is not full.
func TestFilling(t *testing.T) {
	for r, want := range map[Room]float64{
		{}: 0, {Capacity: 9}: 0, {Capacity: 110, Used: 96, Free: 4}: 0.96, {Capacity: 110, Used: 105}: 1, {Capacity: 110, Used: 105, Free: -5}: 1,
		{Used: math.MaxInt64, Free: math.MaxInt64}: 0.5,
	} {
		if got := r.Filling(); got != want || (DiskStats{Capacity: r.Capacity, Used: r.Used, Free: r.Free}).Filling() != want {
			t.Errorf("%+v: %v, want %v", r, got, want)
		}
	}
}

func TestLargest(t *testing.T) {
	free := []int64{5, 9, 7}
	for n, want := range map[int]int64{-1: 0, 0: 0, 1: 9, 2: 7, 3: 5, 4: 0} {
		if got := Largest(free, n); got != want {
			t.Errorf("on %d disks: %d, want %d", n, got, want)
		}
	}
	if free[0] != 5 || FormatSize(999) != "999 B" || FormatSize(4e12) != "4.00 TB" {
		t.Error("the list was changed, or a size is wrong")
	}
}

// Why a disk cannot be read has one wording: the widest cause first, and since when.
func TestUnreadable(t *testing.T) {
	on := NodeInfo{Status: NodeOnline, Enabled: true}
	gone := Disk{Config: ConfigRW, Health: HealthGone, Why: "not mounted"}
	off := gone
	off.Config = ConfigOff
	heard := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	for _, c := range []struct {
		disk Disk
		node NodeInfo
		want string
	}{
		{Disk{Active: true, Config: ConfigDrain, Health: HealthFailing}, on, ""},
		{gone, NodeInfo{Status: NodeOffline, Enabled: true, Heartbeat: heard}, "is on an offline node (last heard of at 2026-03-14 15:09:26 UTC)"},
		{gone, NodeInfo{Status: NodeOffline}, "is on an offline node"},
		{gone, NodeInfo{Status: NodeOnline}, "is on a node that is switched off"},
		{off, on, "is switched off, and is gone: not mounted"},
		{Disk{Active: true, Config: ConfigOff, Health: HealthOK}, on, "is switched off"},
		{gone, on, "is gone: not mounted"},
	} {
		if got := c.disk.Unreadable(c.node); got != c.want {
			t.Errorf("%+v: %q, want %q", c.disk, got, c.want)
		}
	}
}
