package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera"
	"hemera/app/copy"
	"hemera/errs"
	"hemera/test/fixture"
)

func TestProgressLines(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{bar(0, 4), "[....] 0.0%"},
		{bar(50, 4), "[##..] 50.0%"},
		{bar(100, 4), "[####] 100.0%"},
		{bar(120, 4), "[####] 120.0%"}, // a file grew meanwhile: odd, but no reason to crash
		{progressForms(copy.Progress{Files: 1, FilesTotal: 4, Bytes: 25e6, BytesTotal: 1e8, Rate: 1e6, Failed: 2})[3],
			"[#...] 25.0%  25.00 MB of 100.00 MB+  1 of 4+ files  1.00 MB/s  2 failed  1m15s to go"},
		{progressForms(copy.Progress{Files: 2, FilesTotal: 2, Done: true})[3], "[####] 100.0%  0 B of 0 B  2 of 2 files  0 B/s"},
		{jobLine(hemera.JobStatus{Kind: "repair", Disk: 3, State: "done", BytesDone: 10}, 4),
			"repair of disk 3 done  [####] 100.0%  10 B of 10 B  0 files left"},
		{jobLine(hemera.JobStatus{Kind: "drain", Disk: 3, State: "waiting", FilesLeft: 5, Why: "no other disk"}, 4),
			"drain of disk 3 waiting  [....] 0.0%  0 B of 0 B  5 files left  0 B/s  (no other disk)"},
		{cut("abc", 2), "ab"}, {cut("äbc", 3), "äbc"},
	} {
		if test.got != test.want {
			t.Errorf("%s\nnot\n%s", test.got, test.want)
		}
	}
}

// Whatever the width, a line ends with what matters and not in the middle of it.
func TestANarrowTerminalHasAShortLine(t *testing.T) {
	p := copy.Progress{Files: 1, FilesTotal: 4, Bytes: 25e6, BytesTotal: 1e8, Rate: 1e6, Listed: true}
	for width, want := range map[int]string{
		200: "[######..................] 25.0%  25.00 MB of 100.00 MB  1 of 4 files  1.00 MB/s  1m15s to go",
		79:  "[##........] 25.0%  25.00 MB of 100.00 MB  1 of 4 files  1.00 MB/s  1m15s to go",
		70:  "25.0%  25.00 MB of 100.00 MB  1 of 4 files  1.00 MB/s  1m15s to go",
		59:  "25.0%  25.00 MB of 100.00 MB  1.00 MB/s  1m15s to go",
		45:  "25.0%  25.00 MB  1.00 MB/s  1m15s to go",
		20:  "25.0%  1m15s to go",
		10:  "25.0%",
		3:   "25.",
	} {
		if got := fitted(width, progressForms(p)); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}

// draining is a cluster whose drain of disk 4 makes progress each time it is asked about.
type draining struct {
	*fixture.Cluster
	asked int
}

func (d *draining) Jobs(ctx context.Context) ([]hemera.JobStatus, error) {
	d.asked++
	done := int64(min(d.asked, 3)) * 10
	j := hemera.JobStatus{Kind: "drain", Disk: 4, State: "running", BytesDone: done, BytesLeft: 30 - done}
	if d.asked >= 3 {
		j.State = "done"
		_ = d.SetDisk(ctx, 4, "configstatus", "empty")
	}
	return []hemera.JobStatus{j}, nil
}

// idle is a cluster in which nothing is drained or repaired.
type idle struct{ *fixture.Cluster }

func (idle) Jobs(context.Context) ([]hemera.JobStatus, error) { return nil, nil }

func TestWatchEndsWithTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		d := &draining{Cluster: fixture.NewCluster()}
		e := &env{Out: &out, Now: time.Now}
		if err := e.watchDisk(t.Context(), d, 4); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); d.asked != 4 || n != 3 || !strings.Contains(out.String(), "[########................] 33.3%") {
			t.Errorf("asked %d times, %d lines:\n%s", d.asked, n, &out)
		}
		// of a disk that is off nothing is to be expected
		var broken hemera.DiskID
		v, _ := d.View(t.Context())
		for _, disk := range v.Disks {
			if n, _ := v.Node(disk.Node); disk.Health == hemera.HealthFailing || n.Status == hemera.NodeOffline {
				broken = disk.ID
			}
		}
		_ = d.SetDisk(t.Context(), broken, "configstatus", "off")
		out.Reset()
		if err := e.watchDisk(t.Context(), idle{d.Cluster}, broken); err != nil || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("a disk that is off: %v\n%s", err, &out)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = d.SetDisk(ctx, 1, "configstatus", "drain")
		if err := e.watchDisk(ctx, d, 1); !errors.Is(err, errs.Cancelled) {
			t.Errorf("a cancelled watch: %v", err)
		}
	})
}

func TestParseBound(t *testing.T) {
	for s, want := range map[string]int64{"+1G": 1e9, "-10k": 10e3, "+0": 0, "-7": 7} {
		more, n, err := parseBound(s)
		if err != nil || n != want || more != (s[0] == '+') {
			t.Errorf("%s: %t %d %v", s, more, n, err)
		}
	}
	for _, s := range []string{"", "+", "5", "+G", "-x", "+99999999P", "--1"} {
		if _, n, err := parseBound(s); err == nil {
			t.Errorf("%q was read as %d", s, n)
		}
	}
}
