package transfer

import (
	"context"
	"time"

	"hemera/rules/erasure"
	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/hemera"
)

// head has the state that the parts of one write share at the node that the client writes to. Fields that change belong
// to the holder of the write's turn.
type head struct {
	node   *piece.Node
	reads  *read.Shared
	writes *Writes
	cap    *hemera.Capability // of the first permit; not to be changed
	// granted is the first permit; never changed.
	granted *hemera.Permit
	ctx     context.Context // ends with Abort
	permit  *hemera.Permit  // as granted last: a replacement renews it
	code    *erasure.Code   // of a coded layout with parity; else nil
	broken  error           // why the write cannot succeed any more
	// earlier: the permit was granted to an earlier process.
	earlier bool
}

// fail ends the write for good and returns err.
func (h *head) fail(err error) error {
	h.broken = err
	return err
}

// giveBack frees the lock of the write at the manager, and what it claims of quotas.
func (h *head) giveBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, piece.CallTimeout)
	defer cancel()
	if err := h.writes.Control.Abort(ctx, h.permit); err != nil {
		h.node.Log.Info("the manager was not told of an abort", "path", h.cap.Path, "trace", h.cap.Trace, "error", err)
	}
}

// keep frees the lock of the write at the manager; what it claims of quotas stays claimed, as its size takes it.
func (h *head) keep(ctx context.Context, size int64) {
	ctx, cancel := context.WithTimeout(ctx, piece.CallTimeout)
	defer cancel()
	if err := h.writes.Control.Keep(ctx, h.permit, size); err != nil {
		h.node.Log.Info("the manager was not told of a write that is kept", "path", h.cap.Path, "trace", h.cap.Trace, "error", err)
	}
}

// renew gets a permit that other nodes take now, if the one that is there ends soon, or is of an earlier process: nodes may have other
// addresses since. Without one those nodes refuse, and say so.
func (h *head) renew(ctx context.Context) {
	if !h.earlier && (h.permit.Expires.IsZero() || time.Until(h.permit.Expires) > hemera.CapabilityLifetime/4) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, piece.CallTimeout)
	defer cancel()
	grant, err := h.writes.Control.Replace(ctx, h.permit, nil)
	if err != nil {
		h.node.Log.Info("a capability was not renewed", "path", h.cap.Path, "trace", h.cap.Trace, "error", err)
		return
	}
	h.permit, h.earlier = grant.Permit, false
}

// Committer is the part of [hemera.Control] the head of a write needs. Calls block for a round trip to the manager, or
// until its store has synced. All are idempotent for one capability. Timeout and Unavailable when the manager does not answer; Denied for a permit
// that is not good any more. Locks and claims are in the manager's memory: only a commit is durable.
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

// Writes has the state that all writes of one node share.
type Writes struct {
	// Control is the manager. It may block, for a bounded time.
	Control Committer
	// Kept, if not nil, has the records of writes that are kept, over the end of the process.
	Kept KeptStore
	// Patience replaces [CommitPatience] when above zero.
	Patience time.Duration
	// SmallBytes bounds the memory of all short contents that are still being written; 64 MiB if 0, nothing if negative.
	SmallBytes int64

	inline inlineMemory
	parity parityMemory
}

// patience returns the time for which a commit is repeated.
func (w *Writes) patience() time.Duration {
	if w.Patience > 0 {
		return w.Patience
	}
	return CommitPatience
}

// CommitPatience bounds the wait of a close for a manager that does not answer: longer than a restart takes, shorter than
// the 60 s of silence after which stock clients drop a connection.
const CommitPatience = 45 * time.Second

// KeptStore holds the records of the writes that a node keeps, over the end of its process. Calls block for the device. IO and
// NoSpace when that fails.
type KeptStore interface {
	// Save makes a record durable, in the place of an earlier one of the name.
	Save(name string, record []byte) error
	// Remove removes a record. That need not be durable.
	Remove(name string) error
	// Load returns all records by their names.
	Load() (map[string][]byte, error)
}
