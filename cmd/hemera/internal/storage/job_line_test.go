package storage

import (
	"testing"

	"hemera/words/adminapi"
)

func TestProgressOfAJob(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{JobLine(adminapi.JobStatus{Kind: adminapi.JobRepair, Disk: 3, State: adminapi.JobDone, BytesDone: 10}, 4),
			"repair of disk 3 done  [####] 100.0%  10 B of 10 B  0 files left"},
		{JobLine(adminapi.JobStatus{Kind: adminapi.JobDrain, Disk: 3, State: adminapi.JobWaiting, FilesLeft: 5, Why: "no other disk"}, 4),
			"drain of disk 3 waiting  [....] 0.0%  0 B of 0 B  5 files left  0 B/s  (no other disk)"},
	} {
		if test.got != test.want {
			t.Errorf("%s\nnot\n%s", test.got, test.want)
		}
	}
}
