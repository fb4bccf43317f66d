package transfer

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hemera/disk"
	"hemera/platform/contain"
	"hemera/rules/checksum"
	"hemera/transfer/ahead"
	"hemera/transfer/buffers"
	"hemera/transfer/codes"
	"hemera/transfer/inlinemem"
	"hemera/transfer/pace"
	"hemera/transfer/removals"
	"hemera/transfer/rowcache"
	"hemera/transfer/slow"
	"hemera/transfer/uses"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Limits of one node's transfers.
const (
	// CommitPatience is how long a close waits for a manager that does not answer: longer than a
	// restart takes, shorter than the 60 s of silence after which stock clients drop a connection.
	CommitPatience = 45 * time.Second
	// copyWindow is the unit in which content is copied and read back, in bytes; copyWindows are
	// in flight at once.
	copyWindow  = 1 << 20
	copyWindows = 4
	// repairsMax bounds page repairs running in the background of one node.
	repairsMax = 8
	// callTimeout bounds one question to the manager or one opening of a peer's piece.
	callTimeout = 10 * time.Second
)

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

// Host is the node that transfers run on. All of its transfers share one; its fields are set before
// the first and not changed after.
type Host struct {
	// Self, Born and Disk are called often, from any goroutine, and must answer from memory.
	// Self is the node's id; a target with this node is local.
	Self func() hemera.NodeID
	// Born is the first lease of this process: writes granted under an older one may have content
	// that is lost. Zero while there is none.
	Born func() uint64
	// Disk finds a local disk.
	Disk func(hemera.DiskID) (disk.Store, bool)
	// Peers opens pieces at other nodes, and Control is the manager. Both may block, for a bounded time.
	Peers   Peers
	Control Committer
	Log     *slog.Logger
	// HeadProof returns what this node shows to another one, or to itself, as the head of the write that a token permits. It
	// answers from memory. Nil on a host that is a client: it opens pieces as one.
	HeadProof func(token string, node hemera.NodeID) (string, error)
	// Kept, if not nil, has the records of writes that are kept, over the end of the process.
	Kept KeptStore
	// Bad, if not nil, receives pieces that a read found bad, missing or another's, for them to be repaired. It
	// must not wait.
	Bad func(hemera.BadPiece)
	// Patience replaces [CommitPatience] when above zero.
	Patience time.Duration
	// SmallBytes is how much memory short contents may take in all that are still being written; 64 MiB if
	// 0, none if negative.
	SmallBytes int64

	// Panics contains panics of the parallel parts of reads, writes and copies, and of work in the background.
	Panics *contain.Panics

	// Ahead bounds what is read ahead of callers that read coded files in order. Without it nothing is.
	Ahead ahead.Budget

	Counters Counters

	// table keeps clients from the pieces that heads of this node have on its disks; set by [NewPending], nil without one.
	table *Pending

	// What all transfers share; each part has its own lock, or is atomic.
	inline    inlinemem.Memory
	uses      uses.Table
	removals  removals.Set
	codes     codes.Cache
	parity    buffers.Parity
	pace      pace.Pace
	copyReads pace.Gate    // of coded files
	hedges    atomic.Int32 // reads that were hedged and have not returned
	slow      slow.Disks   // where they went
	spare     buffers.Pool // for what is read to be decoded
	rows      rowcache.Room
	// repairs is how many page repairs run, and work counts all goroutines in the background, for Wait.
	repairs atomic.Int32
	work    sync.WaitGroup
}

// Counters count what a node's transfers met since it started.
type Counters struct {
	// ReadBytes counts what was sent to clients and heads, WriteBytes what was accepted from them: for a file of two
	// pieces that is written once at the head and once at the other node.
	ReadBytes, WriteBytes atomic.Int64
	// ChecksumErrors counts pages and pieces that did not check; Repairs the pages made good and
	// RepairsFailed those that could not be.
	ChecksumErrors, Repairs, RepairsFailed atomic.Int64
	// Switches counts reads that went on at another piece, Replaced the pieces of writes that moved
	// to another disk, Short the commits with fewer pieces than the layout's.
	Switches, Replaced, Short atomic.Int64
	// Rebuilt counts bytes of coded files that were computed from other pieces.
	Rebuilt atomic.Int64
	// Hedged counts reads of pieces that took so long that their bytes were computed from others.
	Hedged atomic.Int64
	// Commits counts files that became visible, Aborts writes that ended otherwise.
	Commits, Aborts atomic.Int64
}

// Wait blocks until no background work (repairs of pages, removals of lost pieces) is left.
func (h *Host) Wait() { h.work.Wait() }

// Uses lists at most limit of the files that are open here, those that move most first. Rates are averages since
// they were last asked for, or since the file was opened.
func (h *Host) Uses(limit int) []hemera.OpenFile { return h.uses.List(limit) }

// background does work for a file that nobody waits for but [Host.Wait].
func (h *Host) background(c *hemera.Capability, work func()) {
	h.Panics.Go(&h.work, "transfer.Background", subject(c), work)
}

// local reports whether a target is a disk of this node.
func (h *Host) local(t hemera.Target) bool { return t.Node == h.Self() }

// found reports the piece that an error is about, if it says that the piece is bad.
func (h *Host) found(t hemera.Target, id hemera.PieceID, err error) {
	switch errs.KindOf(err) {
	case errs.Corrupt, errs.NotFound:
		if h.Bad != nil {
			h.Bad(hemera.BadPiece{Disk: t.Disk, Piece: id})
		}
	}
}

// store finds the disk of a local target.
func (h *Host) store(t hemera.Target) (disk.Store, error) {
	s, ok := h.Disk(t.Disk)
	if !ok {
		return nil, errs.New(errs.NotFound, "transfer.Disk", t.Disk.String(), "this node does not have the disk")
	}
	return s, nil
}

// patience is how long a commit is repeated.
func (h *Host) patience() time.Duration {
	if h.Patience > 0 {
		return h.Patience
	}
	return CommitPatience
}

// pieceID names a capability's piece.
func pieceID(c *hemera.Capability, index uint8) hemera.PieceID {
	return hemera.PieceID{File: c.File, Gen: c.Gen, Index: index}
}

// subject is how errors name the file of a capability.
func subject(c *hemera.Capability) string {
	if c.Path != "" {
		return c.Path
	}
	return "fxid:" + c.File.Hex()
}

// after is the part of sums that belongs to what follows the first n bytes at off, which must end
// at a page boundary unless nothing follows. It keeps nil nil.
func after(sums []uint32, off int64, n int) []uint32 {
	if sums == nil {
		return nil
	}
	return sums[checksum.Fragments(off, n):]
}
