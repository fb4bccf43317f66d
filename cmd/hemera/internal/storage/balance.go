package storage

import (
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// balanceOf returns the job that balances a space, also if it has ended; nil if there is none.
func balanceOf(jobs []adminapi.JobStatus, space hemera.SpaceName) *adminapi.JobStatus {
	for i := range jobs {
		if jobs[i].Kind == adminapi.JobBalance && jobs[i].Space == space {
			return &jobs[i]
		}
	}
	return nil
}

// balancers returns the number of running jobs that balance the space. EOS has this key.
func balancers(jobs []adminapi.JobStatus, space hemera.SpaceName) int {
	if j := balanceOf(jobs, space); j != nil && j.State == adminapi.JobRunning {
		return 1
	}
	return 0
}

// balanceFields returns the fields of the job that balances a space. Without a job they are there too, so that a table
// has its columns.
func balanceFields(jobs []adminapi.JobStatus, space hemera.SpaceName) output.Record {
	j := adminapi.JobStatus{State: "idle"}
	if last := balanceOf(jobs, space); last != nil {
		j = *last
	}
	return output.Record{
		{Key: "balance.state", Value: string(j.State)}, {Key: "balance.why", Value: j.Why}, {Key: "balance.bytesleft", Value: j.BytesLeft},
		{Key: "balance.bytesdone", Value: j.BytesDone}, {Key: "balance.ratemb", Value: j.Rate / 1e6}, {Key: "balance.timeleft", Value: cli.TimeLeft(j.Remaining)},
	}
}
