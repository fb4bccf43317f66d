package storage

import (
	"fmt"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
)

// JobLine returns a drain, repair or conversion as one line for people: its state, a bar of width characters, the data
// moved and left, the rate, the remaining time, and the reason if it does not proceed. fs status and status print it.
// Programs read the keys of jobFields.
func JobLine(j adminapi.JobStatus, width int) string {
	// A heal repairs pieces of many disks, so it has no disk, and counts pieces only.
	if j.Kind == adminapi.JobHeal {
		return j.Title() + " " + string(j.State) + "  " + output.Count(j.FilesLeft, "piece") + " left"
	}
	b := fmt.Sprintf("%s %s  %s  %s of %s  %s left", j.Title(), j.State, cli.Bar(j.Progress(), width),
		output.Bytes(j.BytesDone), output.Bytes(j.BytesDone+j.BytesLeft), output.Count(j.FilesLeft, "file"))
	if !j.Over() {
		b += fmt.Sprintf("  %s/s", output.Bytes(j.Rate))
	}
	if j.Remaining > 0 {
		b += "  " + output.Seconds(j.Remaining.Seconds()) + " to go"
	}
	if j.Failed > 0 {
		b += fmt.Sprintf("  %d failed", j.Failed)
	}
	if j.Why != "" && j.State != adminapi.JobDone {
		b += "  (" + j.Why + ")"
	}
	return b
}
