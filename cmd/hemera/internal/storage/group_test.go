package storage

import (
	"testing"

	"hemera"
)

// A disk that is gone has no known capacity; it is not an empty one.
func TestAGroupIsAsFullAsTheDisksThatAreThere(t *testing.T) {
	v := &hemera.View{Disks: []hemera.Disk{
		{ID: 1, Group: "default.0", DiskStats: hemera.DiskStats{Used: 50, Capacity: 100}, Active: true},
		{ID: 2, Group: "default.0", DiskStats: hemera.DiskStats{Used: 70, Capacity: 100}, Active: true},
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
