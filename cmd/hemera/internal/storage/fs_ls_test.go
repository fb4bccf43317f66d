package storage

import (
	"context"
	"slices"
	"testing"

	"hemera"
)

// jobsOf is a cluster with jobs.
type jobsOf []hemera.JobStatus

func (jobsOf) View(context.Context) (*hemera.View, error) {
	return &hemera.View{Removed: []hemera.RemovedDisk{{ID: 9, Addr: "n1:1095", Path: "/old"}}, Disks: []hemera.Disk{{ID: 1}}}, nil
}

func (j jobsOf) Jobs(context.Context) ([]hemera.JobStatus, error) { return j, nil }

// The repair of incomplete files, which is of no disk, and that of removed disks are shown among
// the jobs; what is done, or is of a disk that is listed anyhow, is not added.
func TestJobsOfNoDiskAreShown(t *testing.T) {
	got, err := withJobs(t.Context(), jobsOf{
		{Kind: "repair", State: "stalled", Why: "no room", FilesLeft: 3}, {Kind: "repair", Disk: 9, State: "stalled"},
		{Kind: "drain", Disk: 1, State: "running"}, {Kind: "repair", Disk: 8, State: "done"},
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

// A path that no node can use has no row, so the reason is told beside the table.
func TestRefusedPathsAreTold(t *testing.T) {
	n := hemera.NodeInfo{Addr: "n1:1095"}
	n.Stats.Unusable = []hemera.UnusableDisk{{Path: "/a", Why: "everybody may write there", Remedy: "chmod o-w /a"}, {Path: "/b", Why: "no such directory"}}
	got := refusedPaths(&hemera.View{Nodes: []hemera.NodeInfo{{}, n}})
	want := []string{"/a on n1:1095 cannot be used as a disk: everybody may write there (what to do: chmod o-w /a)", "/b on n1:1095 cannot be used as a disk: no such directory"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
