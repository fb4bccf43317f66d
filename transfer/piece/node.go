package piece

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hemera/disk"
	"hemera/platform/contain"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Limits of one node.
const (
	// repairsMax bounds page repairs running in the background of one node.
	repairsMax = 8
	// CallTimeout bounds one question to the manager or one opening of a peer's piece.
	CallTimeout = 10 * time.Second
)

// Node has what reaches the pieces of files: the disks of this node and its peers. All transfers share it. The exported fields are
// set before the first one and not changed after. Methods may be called concurrently.
type Node struct {
	// Self and Disk are called often, from any goroutine, and must answer from memory.
	// Self is the node's id; a target with this node is local.
	Self func() hemera.NodeID
	// Disk finds a local disk.
	Disk func(hemera.DiskID) (disk.Store, bool)
	// Peers opens pieces at other nodes. It may block, for a bounded time.
	Peers Peers
	Log   *slog.Logger
	// HeadProof returns what this node shows to another one, or to itself, as the head of the write that a token permits. It
	// answers from memory. Nil on a node that is a client: it opens pieces as one.
	HeadProof func(token string, node hemera.NodeID) (string, error)
	// Bad, if not nil, receives pieces that a read found bad, missing or another's, for them to be repaired. It
	// must not wait.
	Bad func(hemera.BadPiece)
	// Panics contains panics of the parallel parts of reads, writes and copies, and of work in the background.
	Panics *contain.Panics
	// Own, if not nil, keeps clients from a piece on a disk of this node that a head here makes, until leave is called.
	Own func(c *hemera.Capability, t hemera.Target) (leave func())

	Counters Counters
	Files    OpenFiles
	Codes    Codes
	Removals Removals

	// repairs counts the page repairs that run, and work all goroutines in the background, for Wait.
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
func (n *Node) Wait() { n.work.Wait() }

// Uses lists at most limit of the files that are open here, those that move most first. Rates are averages since
// they were last asked for, or since the file was opened.
func (n *Node) Uses(limit int) []hemera.OpenFile { return n.Files.List(limit) }

// Background does work for a file in the background: only [Node.Wait] waits for it.
func (n *Node) Background(c *hemera.Capability, work func()) {
	n.InBackground("transfer.Background", Subject(c), work)
}

// InBackground does work in the background. It is counted, and a panic of it is contained, under the names of what it does and to what.
func (n *Node) InBackground(op, subject string, work func()) { n.Panics.Go(&n.work, op, subject, work) }

// Local reports whether a target is a disk of this node.
func (n *Node) Local(t hemera.Target) bool { return t.Node == n.Self() }

// Found reports the piece that an error is about, if it says that the piece is bad.
func (n *Node) Found(t hemera.Target, id hemera.PieceID, err error) {
	switch errs.KindOf(err) {
	case errs.Corrupt, errs.NotFound:
		if n.Bad != nil {
			n.Bad(hemera.BadPiece{Disk: t.Disk, Piece: id})
		}
	}
}

// Store finds the disk of a local target.
func (n *Node) Store(t hemera.Target) (disk.Store, error) {
	s, ok := n.Disk(t.Disk)
	if !ok {
		return nil, errs.New(errs.NotFound, "transfer.Disk", t.Disk.String(), "this node does not have the disk")
	}
	return s, nil
}

// ID names a capability's piece.
func ID(c *hemera.Capability, index uint8) hemera.PieceID {
	return hemera.PieceID{File: c.File, Gen: c.Gen, Index: index}
}

// Subject returns the name that errors have for the file of a capability.
func Subject(c *hemera.Capability) string {
	if c.Path != "" {
		return c.Path
	}
	return "fxid:" + c.File.Hex()
}
