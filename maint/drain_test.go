package maint

import (
	"testing"
	"time"

	"hemera/words/adminapi"

	"hemera/words/hemera"
)

func TestDue(t *testing.T) {
	now := time.Now()
	v := fleet(7)
	v.Disks[0].Config = hemera.ConfigDrain
	v.Disks[1].Active = false                                      // lost long ago
	v.Disks[2].Active = false                                      // lost just now
	v.Disks[3].Health = hemera.HealthFailing                       // failing, never seen before
	v.Disks[4].Active, v.Disks[4].Config = false, hemera.ConfigOff // by wish
	v.Disks[5].Active, v.Nodes[5].Enabled = false, false           // by wish
	since := map[hemera.DiskID]time.Time{2: now.Add(-time.Hour), 3: now.Add(-10 * time.Second)}
	got := map[hemera.DiskID]task{}
	for _, t := range due(v, []hemera.DiskID{77}, since, now, time.Minute) {
		got[t.disk] = t
	}
	for disk, want := range map[hemera.DiskID]task{
		77: {kind: adminapi.JobRepair}, 1: {kind: adminapi.JobDrain}, 2: {kind: adminapi.JobRepair},
		3: {kind: adminapi.JobRepair, wait: 50 * time.Second}, 4: {kind: adminapi.JobRepair, wait: time.Minute},
	} {
		if got[disk].kind != want.kind || got[disk].wait != want.wait {
			t.Errorf("disk %d: %+v, want %+v", disk, got[disk], want)
		}
	}
	if len(got) != 5 {
		t.Errorf("%+v", got)
	}
}

// fleet returns a view of the given number of nodes with one disk each.
func fleet(n int) *hemera.View {
	v := &hemera.View{}
	for i := range n {
		id := hemera.NodeID(i + 1)
		v.Nodes = append(v.Nodes, hemera.NodeInfo{ID: id, Addr: "n:1", Status: hemera.NodeOnline, Enabled: true})
		v.Disks = append(v.Disks, hemera.Disk{
			ID: hemera.DiskID(i + 1), Node: id, Space: "default", Config: hemera.ConfigRW, Health: hemera.HealthOK, Active: true, DiskStats: hemera.DiskStats{Free: 1000},
		})
	}
	return v
}
