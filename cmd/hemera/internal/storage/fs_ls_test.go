package storage

import (
	"context"
	"slices"
	"testing"

	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// jobsOf is a cluster with jobs.
type jobsOf []adminapi.JobStatus

func (jobsOf) View(context.Context) (*hemera.View, error) {
	return &hemera.View{Removed: []hemera.RemovedDisk{{ID: 9, Addr: "n1:1095", Path: "/old"}}, Disks: []hemera.Disk{{ID: 1}}}, nil
}

func (j jobsOf) Jobs(context.Context) ([]adminapi.JobStatus, error) { return j, nil }

// The list of jobs also has the repair of incomplete files, which belongs to no disk, and those of removed disks. Jobs
// that are done, or belong to a listed disk, are not added.
func TestJobsOfNoDiskAreShown(t *testing.T) {
	got, err := withJobs(t.Context(), jobsOf{
		{Kind: "repair", State: adminapi.JobStalled, Why: "no room", FilesLeft: 3}, {Kind: "repair", Disk: 9, State: adminapi.JobStalled},
		{Kind: "drain", Disk: 1, State: adminapi.JobRunning}, {Kind: "repair", Disk: 8, State: adminapi.JobDone},
	}, nil)
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if got[0].Get("id") != nil || got[0].Get("path") != "incomplete files" || got[0].Get("stat.drain.why") != "no room" || got[0].Get("stat.drain.files") != int64(3) {
		t.Errorf("%v", got[0])
	}
	if got[1].Get("id") != uint32(9) || got[1].Get("path") != "/old" || got[1].Get("host") != "n1" || got[1].Get("stat.drain.state") != "stalled" {
		t.Errorf("%v", got[1])
	}
}

// A path that a node cannot use has no row, so the reason is printed beside the table.
func TestRefusedPathsAreTold(t *testing.T) {
	n := hemera.NodeInfo{Addr: "n1:1095"}
	n.Stats.Unusable = []hemera.UnusableDisk{{Path: "/a", Why: "everybody may write there", Remedy: "chmod o-w /a"}, {Path: "/b", Why: "no such directory"}}
	got := refusedPaths(&hemera.View{Nodes: []hemera.NodeInfo{{}, n}})
	want := []string{"/a on n1:1095 cannot be used as a disk: everybody may write there (what to do: chmod o-w /a)", "/b on n1:1095 cannot be used as a disk: no such directory"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// The list of disks with errors agrees with the status: it also has a working disk that has had errors, and a disk of an
// offline node, each with a remedy.
func TestIllDisksAreThoseOfTheStatus(t *testing.T) {
	v := &hemera.View{Nodes: []hemera.NodeInfo{{ID: 1, Status: hemera.NodeOnline, Enabled: true}, {ID: 2, Status: hemera.NodeOffline, Enabled: true}}}
	var records []output.Record
	for id, node := range []hemera.NodeID{1, 1, 2} {
		d := hemera.Disk{ID: hemera.DiskID(id + 1), Node: node, Health: hemera.HealthOK, Active: node == 1, Config: hemera.ConfigRW}
		v.Disks = append(v.Disks, d)
		records = append(records, diskRecord(v, d, nil))
	}
	s := adminapi.ClusterStatus{Conditions: []adminapi.Condition{
		{Code: "disk_errors", Severity: adminapi.SeverityWarning, Subject: "disk 1", Text: "1 checksum error", Remedy: "look at the device"},
		{Code: "node_offline", Severity: adminapi.SeverityWarning, Subject: "node 2", Text: "has not answered", Remedy: "start it"},
		{Code: "node_kept", Severity: adminapi.SeverityInfo, Subject: "node 1"}, {Code: "node_clock", Severity: adminapi.SeverityWarning, Subject: "node 1"},
	}}
	got := unwell(v, s, records)
	if len(got) != 2 || got[0].Get("id") != uint32(1) || got[0].Get("condition.text") != "1 checksum error" || got[0].Get("condition.remedy") != "look at the device" ||
		got[1].Get("id") != uint32(3) || got[1].Get("condition") != "node_offline" || got[1].Get("stat.health") != "unknown" || got[0].Get("stat.health") != "OK" {
		t.Errorf("%v", got)
	}
}
