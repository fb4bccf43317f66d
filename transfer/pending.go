package transfer

import (
	"context"
	"sync"
	"time"

	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Limits of [Pending].
const (
	// PendingMax bounds the writes and pieces of writes that one node keeps pending.
	PendingMax = 1 << 16
	// expireParallel is the number of works that end at once when a node stops.
	expireParallel = 64
)

// Pending is a node's writes that are not ended: a client that lost its connection finds its write
// again by the same capability. A write that no handle holds is closed, kept or removed after [hemera.PendingHold]: see leaving.
type Pending struct {
	node   *piece.Node
	reads  *read.Shared
	writes *Writes
	born   func() hemera.Epoch // see [Host]

	mu      sync.Mutex // guards all below and the marked fields of entries
	entries map[pendingKey]*entry
	// What became of writes that are no entries any more: a close whose answer was lost can be repeated. Commits, which
	// are many, must not take the place of aborted ones, with which a client might want to go on.
	commits recentTable[pendingKey, committed]
	aborted recentTable[pendingKey, struct{}]
	lease   hemera.Epoch  // of the last call of Unannounced
	late    chan struct{} // see LateBegin
	// local counts the pieces that heads of this node are making, or have made, on its disks: clients stay away from them.
	local map[pieceAt]int
}

// pieceAt is a piece on a disk of this node.
type pieceAt struct {
	piece hemera.PieceID
	disk  hemera.DiskID
}

// pendingKey names one write, or one piece of it on one disk: the same for a capability and those
// signed to replace it. A piece that moves to another disk of the node is another work: what was
// begun on the first may not be removed yet.
type pendingKey struct {
	piece hemera.PieceID
	disk  hemera.DiskID // of a piece
	whole bool
	nonce uint64
}

// writeKey returns the key of the capability's write.
func writeKey(c *hemera.Capability) pendingKey {
	return pendingKey{piece: hemera.PieceID{File: c.File, Gen: c.Gen}, whole: true, nonce: c.Nonce}
}

// committed has the remembered fields of a content; its client's capability has the others.
type committed struct {
	size, mtime int64 // mtime in nanoseconds since 1970
}

// info describes what was committed with the capability.
func (m committed) info(c *hemera.Capability) hemera.FileInfo {
	return written(c, m.size, time.Unix(0, m.mtime))
}

// work is a pending [Writer] or piece. It exists once for its key, however many handles are on it, and ends by one of the
// handles or by expire.
type work interface {
	// expire aborts the work, or ends it otherwise if it cannot be aborted any more.
	expire(ctx context.Context)
}

// entry is one pending work, with the number of handles on it. An entry without handles has a timer, and is removed
// when that fires. A handle that comes in time stops it.
type entry struct {
	key  pendingKey
	head bool // of a piece: it is the head's, and not a client's; never changed
	once sync.Once
	work work
	err  error

	refs  int // guarded by Pending.mu, as are those below
	gone  bool
	timer *time.Timer
	over  *time.Timer // of a client's piece: when its capability expires
	since time.Time   // when the last handle was released
	due   time.Time   // when timer fires
	kept  bool        // for a person, and not for the client
	until time.Time   // when that ends; zero before
	// announced is the epoch of the lease for which it was announced last.
	announced hemera.Epoch
}

// NewPending makes the empty table of a host, which has one.
func NewPending(h *Host) *Pending {
	t := &Pending{node: &h.Node, reads: &h.Reads, writes: &h.Writes, born: h.Born, entries: map[pendingKey]*entry{}, late: make(chan struct{}, 1), local: map[pieceAt]int{}}
	h.Own = t.ownLocal
	return t
}

// head returns the head of the write that the permit is for.
func (t *Pending) head(permit *hemera.Permit) head {
	return head{node: t.node, reads: t.reads, writes: t.writes, cap: &permit.Capability, granted: permit, permit: permit}
}

// Len returns the number of pending works.
func (t *Pending) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.entries)
}

// holdLocked returns the entry with the key, held, or a new one. Overloaded at [PendingMax]. The caller holds mu.
func (t *Pending) holdLocked(key pendingKey) (*entry, error) {
	e := t.entries[key]
	if e == nil {
		if len(t.entries) >= PendingMax {
			return nil, errs.New(errs.Overloaded, "transfer.Open", key.piece.String(), "too many pending writes on this node")
		}
		e = &entry{key: key}
		t.entries[key] = e
	}
	e.hold()
	return e, nil
}

// hold keeps an entry from ending by itself, until [Pending.release]. The caller holds mu of the table.
func (e *entry) hold() {
	e.refs++
	e.kept = false
	if e.timer != nil {
		e.timer.Stop()
	}
}

// begun makes the work of a held entry, once. If that fails the entry is gone.
func (t *Pending) begun(e *entry, begin func() (work, error)) (*entry, error) {
	// The first caller begins the work, which may create a piece on a disk; others wait for it, without the lock.
	e.once.Do(func() {
		made, err := begin()
		t.mu.Lock()
		defer t.mu.Unlock()
		e.work, e.err = made, err
		if w, ok := made.(*Writer); ok && err == nil {
			t.noteLate(w)
		}
	})
	if e.err != nil {
		t.finish(e, nil)
		return nil, e.err
	}
	return e, nil
}

// shared reports whether several handles hold an entry. One whose connection is dead counts until the door has noticed.
func (t *Pending) shared(e *entry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return e.refs > 1
}

// finish takes an entry off the table; info, if not nil, is what was committed.
func (t *Pending) finish(e *entry, info *hemera.FileInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.gone {
		return
	}
	t.remove(e)
	switch {
	// Only client writes are remembered: pieces have no clients, and heads know what they did.
	case e.work == nil: // it never began
	case info != nil:
		t.commits.Add(e.key, committed{info.Size, info.Mtime.UnixNano()})
	default:
		t.recordAbort(e)
	}
}

// remove takes an entry off the table. Its key may belong to a newer entry by now. The caller holds mu.
func (t *Pending) remove(e *entry) {
	e.gone = true
	if e.over != nil {
		e.over.Stop()
	}
	if t.entries[e.key] == e {
		delete(t.entries, e.key)
	}
}

// recordAbort remembers that a write was aborted. A head never comes back to a piece that it ended.
func (t *Pending) recordAbort(e *entry) {
	if e.key.whole {
		t.aborted.Add(e.key, struct{}{})
	}
}

// Written describes the write of the capability as far as it is, or as it was committed. One that has not begun
// here is what it begins from.
func (t *Pending) Written(c *hemera.Capability) hemera.FileInfo {
	key := writeKey(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entries[key]; e == nil {
		if done, ok := t.commits.Get(key); ok {
			return done.info(c)
		}
	} else if w, ok := e.work.(*Writer); ok {
		s := w.snapshot()
		return written(c, s.size, s.at)
	}
	var size int64
	if c.Access == hemera.AccessUpdate && c.Base != nil {
		size = c.Base.Size
	}
	return written(c, size, time.Now())
}

// States says of each write what is known here.
func (t *Pending) States(refs []hemera.WriteRef) []hemera.WriteState {
	// States are read from memory, under the writes' own locks, so a stalled disk does not delay a heartbeat.
	list := make([]hemera.WriteState, len(refs))
	t.mu.Lock()
	defer t.mu.Unlock()
	// The manager asks in heartbeats, for all writes of a client at a time.
	for i, r := range refs {
		list[i] = hemera.WriteState{Nonce: r.Nonce}
		e := t.entries[pendingKey{piece: hemera.PieceID{File: r.File, Gen: r.Gen}, whole: true, nonce: r.Nonce}]
		if e == nil {
			continue
		}
		// A kept write does not hold its name any more.
		list[i].Pending, list[i].Attached = !e.kept, e.refs > 0
		if w, ok := e.work.(*Writer); ok {
			s := w.snapshot()
			list[i].Size, list[i].Idle = s.size, time.Since(s.at)
		}
	}
	return list
}

// Attached counts the works that a client, or the head of a write, has open and needs this node for.
func (t *Pending) Attached() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.entries {
		if p, ok := e.work.(*pendingPiece); e.refs > 0 && (!ok || p.busy()) {
			n++
		}
	}
	return n
}

// Known reports whether the write of the capability is, or was, under way here, so that a client that opens it comes
// back.
func (t *Pending) Known(c *hemera.Capability) bool {
	key := writeKey(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	_, done := t.commits.Get(key)
	_, aborted := t.aborted.Get(key)
	return done || aborted || t.entries[key] != nil
}

// dismiss ends a client's piece that has left the table. It waits for the call that begins it.
func (e *entry) dismiss() {
	e.once.Do(func() {
		e.err = errs.New(errs.Denied, "transfer.OpenPiece", e.key.piece.String(), "the head of the write has the piece")
	})
	if p, ok := e.work.(*pendingPiece); ok {
		p.take()
	}
}

// ownLocal makes a piece on a disk of this node that of a head here, and takes away what a client has there. The head calls
// the result once the piece is no concern of its any more.
func (t *Pending) ownLocal(c *hemera.Capability, at hemera.Target) (leave func()) {
	place := pieceAt{piece.ID(c, at.Index), at.Disk}
	t.mu.Lock()
	t.local[place]++
	left := t.entries[pendingKey{piece: place.piece, disk: place.disk, nonce: c.Nonce}]
	if left != nil {
		t.remove(left)
	}
	t.mu.Unlock()
	if left != nil {
		left.dismiss()
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.local[place]--; t.local[place] == 0 {
			delete(t.local, place)
		}
	}
}
