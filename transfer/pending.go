package transfer

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Limits of [Pending].
const (
	// PendingMax is how many writes and pieces of writes one node keeps pending.
	PendingMax = 1 << 16
	// expireParallel is how many works are ended at once when a node stops.
	expireParallel = 64
)

// Pending is a node's writes that are not ended: a client that lost its connection finds its write
// again by the same capability. A write that no handle holds is closed, kept or removed after [hemera.PendingHold]: see leaving.
type Pending struct {
	node   *piece.Node
	reads  *read.Shared
	writes *Writes
	born   func() uint64 // see [Host]

	mu      sync.Mutex // guards all below and the marked fields of entries
	entries map[pendingKey]*entry
	// What became of writes that are no entries any more: a close whose answer was lost can be repeated. Commits, which
	// are many, must not take the place of aborted ones, with which a client might want to go on.
	commits recentTable[pendingKey, committed]
	aborted recentTable[pendingKey, struct{}]
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

// writeKey is the key of the capability's write.
func writeKey(c *hemera.Capability) pendingKey {
	return pendingKey{piece: hemera.PieceID{File: c.File, Gen: c.Gen}, whole: true, nonce: c.Nonce}
}

// committed is what is remembered of a content; the rest its client's capability says again.
type committed struct {
	size, mtime int64 // mtime in nanoseconds since 1970
}

// info describes what was committed with the capability.
func (m committed) info(c *hemera.Capability) hemera.FileInfo {
	return written(c, m.size, time.Unix(0, m.mtime))
}

// work is what is pending: a [Writer] or a piece. It exists once for its key, however many handles are on it, and ends
// by one of the handles or by expire.
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
}

// NewPending makes the empty table of a host, which has one.
func NewPending(h *Host) *Pending {
	t := &Pending{node: &h.Node, reads: &h.Reads, writes: &h.Writes, born: h.Born, entries: map[pendingKey]*entry{}, local: map[pieceAt]int{}}
	h.Own = t.ownLocal
	return t
}

// head returns the head of the write that the permit is for.
func (t *Pending) head(permit *hemera.Permit) head {
	return head{node: t.node, reads: t.reads, writes: t.writes, cap: &permit.Capability, permit: permit}
}

// Len is how many works are pending.
func (t *Pending) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.entries)
}

// acquireWrite is acquire for a client's write, which the client empties if startsOver is set. What is decided is
// decided at one moment: acquireWrite returns what was committed if the write has ended so, and fails with Conflict
// if the client would continue a write that is not here.
func (t *Pending) acquireWrite(c *hemera.Capability, startsOver bool, begin func() (work, error)) (*entry, *committed, error) {
	key, continues := writeKey(c), t.continues(c)
	if startsOver {
		t.makeWay(key)
	}
	t.mu.Lock()
	// An entry that is there goes on, whatever was remembered of an earlier one.
	if t.entries[key] == nil {
		if done, ok := t.commits.Get(key); ok {
			t.mu.Unlock()
			return nil, &done, nil
		}
		_, aborted := t.aborted.Get(key)
		if !startsOver && (aborted || continues) {
			t.mu.Unlock()
			return nil, nil, lostWrite("transfer.Open", c, "the pending write is not here any more")
		}
	} else if t.entries[key].kept {
		t.mu.Unlock()
		return nil, nil, keptWrite(c)
	}
	e, err := t.holdLocked(key)
	t.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	e, err = t.begun(e, begin)
	return e, nil, err
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
	})
	if e.err != nil {
		t.finish(e, nil)
		return nil, e.err
	}
	return e, nil
}

// release ends one hold of an entry. After the last one the work is kept for [hemera.PendingHold].
func (t *Pending) release(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.refs--
	// A write that has ended is not in the table any more, and needs no timer.
	if e.refs > 0 || e.gone {
		return
	}
	if w, ok := e.work.(*Writer); ok && w.awaits() {
		t.keepAgain(e)
	} else {
		t.endIn(e, hemera.PendingHold)
		e.since = e.due.Add(-hemera.PendingHold)
	}
}

// endIn has an entry that nobody holds end after a time, and not before. The caller holds mu.
func (t *Pending) endIn(e *entry, after time.Duration) {
	if e.timer != nil {
		e.timer.Stop()
	}
	e.due = time.Now().Add(after)
	e.timer = time.AfterFunc(after, func() { t.node.Panics.Run("transfer.Expire", e.key.piece.String(), func() { t.expire(e) }) })
}

// shared reports whether several handles hold an entry. One whose connection is dead counts until the door has noticed.
func (t *Pending) shared(e *entry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return e.refs > 1
}

// expire ends a work that nobody came back for.
func (t *Pending) expire(e *entry) {
	t.mu.Lock()
	if e.refs > 0 || e.gone {
		t.mu.Unlock()
		return
	}
	w, whole := e.work.(*Writer)
	switch {
	case whole && w.lasting():
		// A client that comes back now waits, and finds the end.
		e.hold()
		t.mu.Unlock()
		t.conclude(e, w)
		return
	case whole && !e.kept && w.worthKeeping():
		victims := t.keep(e)
		t.mu.Unlock()
		t.madeWay(victims)
		if slices.Contains(victims, e) {
			return
		}
		w.keep(context.Background(), func() bool { return t.stillKept(e) })
		if w.snapshot().phase == ended {
			t.finish(e, nil)
		}
		return
	}
	t.remove(e)
	t.recordAbort(e)
	t.mu.Unlock()
	e.work.expire(context.Background())
}

// conclude closes a write that nobody came back for, and ends its hold. While the manager does not answer, the write stays
// and is closed again after the next [hemera.PendingHold]; after askedAgain that fails.
func (t *Pending) conclude(e *entry, w *Writer) {
	defer t.release(e)
	err := w.closeLeft(context.Background())
	if err == nil {
		info := w.Info()
		t.finish(e, &info)
	} else if !w.undecided() && !w.awaits() {
		t.finish(e, nil)
	}
}

// Conclude decides about the writes that no client has open, as a node does that is about to stop: those that last are closed, as the
// nodes of their pieces are more likely to be there now than at its end, and the others are kept or removed. So no write without a client
// holds pieces at other nodes that stop, too, and wait for it. It returns when that is done, or cannot be.
func (t *Pending) Conclude() {
	t.mu.Lock()
	var left []*entry
	for _, e := range t.entries {
		if _, whole := e.work.(*Writer); whole && e.refs == 0 && !e.kept {
			left = append(left, e)
		}
	}
	t.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(expireParallel)
	for _, e := range left {
		group.Go(t.node.Panics.Func("transfer.Conclude", e.key.piece.String(), func() error { t.expire(e); return nil }))
	}
	_ = group.Wait()
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
		// What is kept holds no name any more.
		list[i].Pending, list[i].Attached = !e.kept, e.refs > 0
		if w, ok := e.work.(*Writer); ok {
			s := w.snapshot()
			list[i].Size, list[i].Idle = s.size, time.Since(s.at)
		}
	}
	return list
}

// Attached is how many works a client, or the head of a write, has open and needs this node for.
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

// Settle ends everything that is pending, as a node does before it stops in good order. What no client has open is kept for the
// next process, if there is something to keep. A write whose commit may have happened asks the manager once more.
// Settle returns when ctx ends at the latest.
func (t *Pending) Settle(ctx context.Context) {
	t.mu.Lock()
	var all []func()
	for _, e := range t.entries {
		left := e.refs == 0
		switch w := e.work.(type) {
		case nil:
		case *Writer:
			all = append(all, func() { w.stopLeft(ctx, left) })
		default:
			all = append(all, func() { w.expire(ctx) })
		}
		t.remove(e)
	}
	t.mu.Unlock()
	// What is not settled when ctx ends goes on until the process ends; restarts and audits find what it leaves.
	done := make(chan struct{})
	t.node.Panics.Go(nil, "transfer.Settle", "", func() {
		defer close(done)
		var group errgroup.Group
		group.SetLimit(expireParallel)
		for _, end := range all {
			group.Go(t.node.Panics.Func("transfer.Settle", "", func() error { end(); return nil }))
		}
		_ = group.Wait()
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}
