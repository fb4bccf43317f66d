package adminapi_test

import (
	"testing"

	"hemera/words/adminapi"
)

// Each job has one name, one share that is done and one end, for all outputs.
func TestAJobInWords(t *testing.T) {
	for _, c := range []struct {
		job   adminapi.JobStatus
		title string
		share float64
		over  bool
	}{
		{adminapi.JobStatus{Kind: "drain", Disk: 3, State: "running", BytesDone: 1, BytesLeft: 3}, "drain of disk 3", 25, false},
		{adminapi.JobStatus{Kind: "repair", State: "stalled", FilesDone: 1, FilesLeft: 1}, "repair of incomplete files", 50, false},
		{adminapi.JobStatus{Kind: "heal", State: "waiting", FilesLeft: 1}, "repair of bad pieces", 0, false},
		{adminapi.JobStatus{Kind: "balance", Space: "ssd", State: "done"}, "balance of space ssd", 100, true},
		{adminapi.JobStatus{Kind: "convert", Path: "/d", To: "layout=plain", State: "replaced by 2", FilesLeft: 2}, "convert of /d to layout=plain", 0, true},
		{adminapi.JobStatus{Kind: "lifecycle", Path: "/d", State: "failed"}, "lifecycle of /d", 100, true},
	} {
		if c.job.Title() != c.title || c.job.Progress() != c.share || c.job.Over() != c.over {
			t.Errorf("%+v: %q, %g, %t", c.job, c.job.Title(), c.job.Progress(), c.job.Over())
		}
	}
}
