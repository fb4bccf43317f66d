package transfer

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera"
	"hemera/errs"
)

// Limits of [Pending].
const (
	// PendingMax is how many writes and pieces of writes one node keeps pending.
	PendingMax = 1 << 16
	// endedMax is how many committed writes are remembered, so that a close whose answer was lost can
	// be asked again, and how many that were given up.
	endedMax = 1 << 16
	// settlers is how many works are given up at once when a node stops.
	settlers = 64
)

// Pending is a node's writes that are not ended: a client that lost its connection finds its write
// again by the same capability. A write that no handle holds is given up after
// [hemera.PendingHold].
type Pending struct {
	host *Host

	mu      sync.Mutex // guards all below and the marked fields of entries
	entries map[pendingKey]*entry
	// What became of writes that are no entries any more. Commits, which are many, must not take the place
	// of those given up, which somebody might go on with.
	commits memory[committed]
	givenUp memory[struct{}]
}

// pendingKey names one write, or one piece of it on one disk: the same for a capability and those
// signed to replace it. A piece that moves to another disk of the node is another work: what was
// begun on the first may not be given up yet.
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

// work is what is pending: a [Writer] or a piece.
type work interface {
	// expire gives the work up, or settles it when it can no longer be given up.
	expire(ctx context.Context)
}

// entry is one pending work and who holds it.
type entry struct {
	key  pendingKey
	once sync.Once
	work work
	err  error

	refs  int // guarded by Pending.mu, as are those below
	gone  bool
	timer *time.Timer
}

// NewPending makes an empty table.
func NewPending(h *Host) *Pending {
	return &Pending{host: h, entries: map[pendingKey]*entry{}}
}

// Len is how many works are pending.
func (t *Pending) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.entries)
}

// attach takes the entry with the key, making its work if it is new. Overloaded at [PendingMax].
func (t *Pending) attach(key pendingKey, begin func() (work, error)) (*entry, error) {
	t.mu.Lock()
	e := t.entries[key]
	if e == nil {
		if len(t.entries) >= PendingMax {
			t.mu.Unlock()
			return nil, errs.New(errs.Overloaded, "transfer.Open", key.piece.String(), "too many pending writes on this node")
		}
		e = &entry{key: key}
		t.entries[key] = e
	}
	e.refs++
	if e.timer != nil {
		e.timer.Stop()
	}
	t.mu.Unlock()
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

// detach lets go of an entry; the last to do so starts its hold.
func (t *Pending) detach(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.refs--
	if e.refs == 0 && !e.gone {
		e.timer = time.AfterFunc(hemera.PendingHold, func() { t.expire(e) })
	}
}

// expire gives up what nobody came back for.
func (t *Pending) expire(e *entry) {
	t.mu.Lock()
	if e.refs > 0 || e.gone {
		t.mu.Unlock()
		return
	}
	t.remove(e)
	t.forgo(e)
	t.mu.Unlock()
	t.host.Log.Info("pending write given up", "piece", e.key.piece.String(), "held", hemera.PendingHold)
	e.work.expire(context.Background())
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
	case e.work == nil: // it never began
	case info != nil:
		t.commits.keep(e.key, committed{info.Size, info.Mtime.UnixNano()})
	default:
		t.forgo(e)
	}
}

func (t *Pending) remove(e *entry) {
	e.gone = true
	if t.entries[e.key] == e {
		delete(t.entries, e.key)
	}
}

// forgo remembers that a write was given up. A head never comes back to a piece that it ended.
func (t *Pending) forgo(e *entry) {
	if e.key.whole {
		t.givenUp.keep(e.key, struct{}{})
	}
}

// past is what became of a write that is not pending: how it was committed, if it was, or whether it is
// known to have been given up.
func (t *Pending) past(key pendingKey) (done *committed, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.entries[key] != nil {
		return nil, false
	}
	if m, ok := t.commits.get(key); ok {
		return &m, false
	}
	_, gone = t.givenUp.get(key)
	return nil, gone
}

// Written describes the write of the capability as far as it is, or as it was committed. One that has not begun
// here is what it begins from.
func (t *Pending) Written(c *hemera.Capability) hemera.FileInfo {
	key := writeKey(c)
	if done, _ := t.past(key); done != nil {
		return done.info(c)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entries[key]; e != nil {
		if w, ok := e.work.(*Writer); ok {
			return written(c, w.seen.size.Load(), w.opened.Add(time.Duration(w.seen.at.Load())))
		}
	}
	var size int64
	if c.Access == hemera.AccessUpdate && c.Base != nil {
		size = c.Base.Size
	}
	return written(c, size, time.Now())
}

// States says of each write what is known here.
func (t *Pending) States(refs []hemera.WriteRef) []hemera.WriteState {
	list := make([]hemera.WriteState, len(refs))
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, r := range refs {
		list[i] = hemera.WriteState{Nonce: r.Nonce}
		e := t.entries[pendingKey{piece: hemera.PieceID{File: r.File, Gen: r.Gen}, whole: true, nonce: r.Nonce}]
		if e == nil {
			continue
		}
		list[i].Pending, list[i].Attached = true, e.refs > 0
		if w, ok := e.work.(*Writer); ok {
			list[i].Size = w.seen.size.Load()
			list[i].Idle = time.Since(w.opened) - time.Duration(w.seen.at.Load())
		}
	}
	return list
}

// Attached is how many works a client, or the head of a write, has open.
func (t *Pending) Attached() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.entries {
		if e.refs > 0 {
			n++
		}
	}
	return n
}

// Known reports whether the write of the capability is, or was, under way here: whoever opens it comes back.
func (t *Pending) Known(c *hemera.Capability) bool {
	key := writeKey(c)
	done, gone := t.past(key)
	return done != nil || gone || t.known(key)
}

// known reports whether the write is pending here.
func (t *Pending) known(key pendingKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entries[key] != nil
}

// Settle gives up everything that is pending, as a node does before it stops in good order; works
// whose commit may have happened are asked about once more. It returns when ctx ends at the latest.
func (t *Pending) Settle(ctx context.Context) {
	t.mu.Lock()
	var all []work
	for _, e := range t.entries {
		if e.work != nil {
			all = append(all, e.work)
		}
		t.remove(e)
	}
	t.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var group errgroup.Group
		group.SetLimit(settlers)
		for _, w := range all {
			group.Go(func() error { w.expire(ctx); return nil })
		}
		_ = group.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
