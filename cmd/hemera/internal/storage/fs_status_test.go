package storage

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/cmd/hemera/internal/cli"
	"hemera/test/fixture"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// draining is a cluster whose drain of disk 4 advances with each request.
type draining struct {
	*fixture.Cluster
	asked int
}

func (d *draining) Jobs(ctx context.Context) ([]adminapi.JobStatus, error) {
	d.asked++
	done := int64(min(d.asked, 3)) * 10
	j := adminapi.JobStatus{Kind: adminapi.JobDrain, Disk: 4, State: adminapi.JobRunning, BytesDone: done, BytesLeft: 30 - done}
	if d.asked >= 3 {
		j.State = adminapi.JobDone
		_ = d.SetDisk(ctx, 4, "configstatus", "empty")
	}
	return []adminapi.JobStatus{j}, nil
}

// idle is a cluster in which nothing is drained or repaired.
type idle struct{ *fixture.Cluster }

func (idle) Jobs(context.Context) ([]adminapi.JobStatus, error) { return nil, nil }

func TestWatchEndsWithTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		d := &draining{Cluster: fixture.NewCluster()}
		e := &cli.Env{Console: cli.Console{Out: &out}, Now: time.Now}
		if err := watchDisk(t.Context(), e, d, 4); err != nil {
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
		if err := watchDisk(t.Context(), e, idle{d.Cluster}, broken); err != nil || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("a disk that is off: %v\n%s", err, &out)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = d.SetDisk(ctx, 1, "configstatus", "drain")
		if err := watchDisk(ctx, e, d, 1); !errors.Is(err, errs.Cancelled) {
			t.Errorf("a cancelled watch: %v", err)
		}
	})
}
