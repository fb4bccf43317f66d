package storage

import (
	"testing"
	"time"

	"hemera/cmd/hemera/internal/cli"
	"hemera/words/hemera"
)

// A disk that is gone has no known capacity; it is not an empty one.
func TestAGroupIsAsFullAsTheDisksThatAreThere(t *testing.T) {
	v := &hemera.View{Disks: []hemera.Disk{
		{ID: 1, Group: "default.0", DiskStats: hemera.DiskStats{Used: 50, Free: 50, Capacity: 110}, Active: true},
		{ID: 2, Group: "default.0", DiskStats: hemera.DiskStats{Used: 70, Free: 30, Capacity: 110}, Active: true},
		{ID: 3, Group: "default.0"},
		{ID: 4, Group: "default.1"},
	}}
	want := [][4]any{{3, 60.0, 10.0, 10.0}, {1, 0.0, 0.0, 0.0}}
	records := groupRecords(v, nil)
	if len(records) != len(want) {
		t.Fatal(records)
	}
	for i, r := range records {
		if got := [4]any{r.Get("nofs"), r.Get("avg.stat.statfs.filled"), r.Get("dev.stat.statfs.filled"), r.Get("sig.stat.statfs.filled")}; got != want[i] {
			t.Errorf("group %d: %v, want %v", i, got, want[i])
		}
	}
}

// TestOneScale: what is kept free is no room, and each table says the same of a disk and of what has this disk alone.
func TestOneScale(t *testing.T) {
	d := hemera.Disk{ID: 1, Node: 1, Space: "default", Group: "default.0", Active: true, DiskStats: hemera.DiskStats{Used: 96, Free: 4, Capacity: 110}}
	v := &hemera.View{Nodes: []hemera.NodeInfo{{ID: 1, Addr: "n1:1"}}, Disks: []hemera.Disk{d}, Spaces: []hemera.Space{{Name: "default"}}}
	for name, got := range map[string]any{
		"fs ls": diskRecord(v, d, nil).Get("stat.usage"), "node ls": nodeRecord(&cli.Env{Now: time.Now}, v, v.Nodes[0], nil).Get("usage"),
		"space ls": spaceRecord(v, v.Spaces[0], nil).Get("usage"), "group ls": groupRecords(v, nil)[0].Get("avg.stat.statfs.filled"),
		"status": 100 * v.Room(v.Disks).Filling(),
	} {
		if got != 96.0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}
