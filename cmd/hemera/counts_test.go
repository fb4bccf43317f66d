package main

import (
	"context"
	"math"
	"testing"

	"hemera"
)

func TestParseCount(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "10k": 10_000, "9.5M": 9_500_000, "1.5T": 1_500_000_000_000, "0.1k": 100, "8P": 8e15, "1.001k": 1001,
	} {
		if n, ok := parseCount(text, math.MaxInt64); !ok || n != want {
			t.Errorf("%s: %d, %t; want %d", text, n, ok, want)
		}
	}
	for _, text := range []string{"", "k", "-1", "1.5", "1.0001k", "1K", "1e3", "NaN", "Inf", "0x10", "1_000", "99999999999P", ".", "1.2.3M", "10000P"} {
		if n, ok := parseCount(text, 1<<60); ok {
			t.Errorf("%q is taken for %d", text, n)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "10T": 1e13, "1.5k": 1500, "10TB": 1e13, "10TiB": 10 << 40, "1.5GiB": 3 << 29, "7B": 7} {
		if n, ok := parseSize(text, 1<<60); !ok || n != want {
			t.Errorf("%s: %d, %t; want %d", text, n, ok, want)
		}
	}
	for _, text := range []string{"", "10Ti", "-1GiB", "1.0001kB", "9000PB", "8000PiB", "TiB"} {
		if n, ok := parseSize(text, 1<<60); ok {
			t.Errorf("%q is taken for %d", text, n)
		}
	}
}

// jobsOf is a cluster with jobs.
type jobsOf []hemera.JobStatus

func (jobsOf) View(context.Context) (*hemera.View, error) {
	return &hemera.View{Removed: []hemera.RemovedDisk{{ID: 9, Addr: "n1:1095", Path: "/old"}}, Disks: []hemera.Disk{{ID: 1}}}, nil
}
func (j jobsOf) Jobs(context.Context) ([]hemera.JobStatus, error) { return j, nil }

// The repair of files that lack pieces, which is of no disk, and that of removed disks are shown among
// the jobs; what is done, or is of a disk that is listed anyhow, is not added.
func TestJobsOfNoDiskAreShown(t *testing.T) {
	got, err := withJobs(t.Context(), jobsOf{
		{Kind: "repair", State: "stalled", Why: "no room", FilesLeft: 3}, {Kind: "repair", Disk: 9, State: "stalled"},
		{Kind: "drain", Disk: 1, State: "running"}, {Kind: "repair", Disk: 8, State: "done"},
	}, nil)
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if got[0].Get("id") != nil || got[0].Get("path") != "files that lack pieces" || got[0].Get("stat.drain.why") != "no room" || got[0].Get("stat.drain.files") != int64(3) {
		t.Errorf("%v", got[0])
	}
	if got[1].Get("id") != uint32(9) || got[1].Get("path") != "/old" || got[1].Get("host") != "n1" || got[1].Get("stat.drain.state") != "stalled" {
		t.Errorf("%v", got[1])
	}
}
