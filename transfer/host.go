package transfer

import (
	"hemera/transfer/jobs"
	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/hemera"
)

// Host is the node that transfers run on. All of its transfers share one; its exported fields are set before the first and not
// changed after.
type Host struct {
	piece.Node // its disks and peers
	// Born is the first lease of this process: writes granted under an older one may have content that is lost. Zero
	// before the first lease. It answers from memory.
	Born   func() hemera.Epoch
	Reads  read.Shared
	Writes Writes
}

// OpenReader opens the file that the capability permits to read, as [read.Open] says.
func (h *Host) OpenReader(c *hemera.Permit) (*read.Reader, error) {
	return read.Open(&h.Node, &h.Reads, c)
}

// Jobs returns what does jobs on the disks of this node.
func (h *Host) Jobs() jobs.Worker { return jobs.New(&h.Node, &h.Reads) }
