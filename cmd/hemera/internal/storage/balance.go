package storage

import (
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
)

// balanceOf is the job that balances a space, or its last one; nil if there is none.
func balanceOf(jobs []adminapi.JobStatus, space string) *adminapi.JobStatus {
	for i := range jobs {
		if jobs[i].Kind == adminapi.JobBalance && jobs[i].Space == space {
			return &jobs[i]
		}
	}
	return nil
}

// balancers is the number of jobs that move pieces of the space: EOS's key for it.
func balancers(jobs []adminapi.JobStatus, space string) int {
	if j := balanceOf(jobs, space); j != nil && j.State == adminapi.JobRunning {
		return 1
	}
	return 0
}

// balanceFields are the keys of the job that balances a space. They are always there, so that a table has its columns.
func balanceFields(jobs []adminapi.JobStatus, space string) output.Record {
	j := adminapi.JobStatus{State: "idle"}
	if last := balanceOf(jobs, space); last != nil {
		j = *last
	}
	return output.Record{
		{Key: "balance.state", Value: string(j.State)}, {Key: "balance.why", Value: j.Why}, {Key: "balance.bytesleft", Value: j.BytesLeft},
		{Key: "balance.bytesdone", Value: j.BytesDone}, {Key: "balance.ratemb", Value: j.Rate / 1e6}, {Key: "balance.timeleft", Value: cli.TimeLeft(j.Remaining)},
	}
}
