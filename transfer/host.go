package transfer

import (
	"context"
	"time"

	"hemera/transfer/jobs"
	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/hemera"
)

// CommitPatience is how long a close waits for a manager that does not answer: longer than a
// restart takes, shorter than the 60 s of silence after which stock clients drop a connection.
const CommitPatience = 45 * time.Second

// Committer is the part of [hemera.Control] the head of a write needs. Calls block for a round trip to the manager, or
// until its store has synced. All are idempotent for one capability.
type Committer interface {
	// Commit makes the content visible and durable. After an error that is undecided (errs.Undecided) the caller
	// repeats the same request; any other means that nothing was committed by this request.
	Commit(ctx context.Context, r hemera.CommitRequest) error
	// Abort frees the lock of the name. If it is not heard, the lock goes with the capability's expiry.
	Abort(ctx context.Context, p *hemera.Permit) error
	// Keep frees the lock of the name, and keeps what the write claims of quotas, as its size bytes take it. It ends with the
	// commit or Abort. If it is not heard, the lock goes when the manager asks for the write, and the claim with it.
	Keep(ctx context.Context, p *hemera.Permit, size int64) error
	// Replace returns a permit in which other disks stand in the places of the failed ones, or the same one for longer if
	// there are none. NoSpace. failed also names disks that earlier replacements left: they are not chosen again.
	Replace(ctx context.Context, p *hemera.Permit, failed []hemera.DiskID) (hemera.Grant, error)
}

// Host is the node that transfers run on. All of its transfers share one; its exported fields are set before the first and not
// changed after.
type Host struct {
	piece.Node // its disks and peers
	// Born is the first lease of this process: writes granted under an older one may have content
	// that is lost. Zero while there is none. It answers from memory.
	Born   func() uint64
	Reads  read.Shared
	Writes Writes
}

// OpenReader opens the file that the capability permits to read, as [read.Open] says.
func (h *Host) OpenReader(c *hemera.Permit) (*read.Reader, error) {
	return read.Open(&h.Node, &h.Reads, c)
}

// Jobs returns what does jobs on the disks of this node.
func (h *Host) Jobs() jobs.Worker { return jobs.New(&h.Node, &h.Reads) }

// Writes is what all writes of one node share.
type Writes struct {
	// Control is the manager. It may block, for a bounded time.
	Control Committer
	// Kept, if not nil, has the records of writes that are kept, over the end of the process.
	Kept KeptStore
	// Patience replaces [CommitPatience] when above zero.
	Patience time.Duration
	// SmallBytes is how much memory short contents may take in all that are still being written; 64 MiB if
	// 0, none if negative.
	SmallBytes int64

	inline inlineMemory
	parity parityMemory
}

// patience is how long a commit is repeated.
func (w *Writes) patience() time.Duration {
	if w.Patience > 0 {
		return w.Patience
	}
	return CommitPatience
}
