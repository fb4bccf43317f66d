package transfer

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/words/hemera"
)

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

// endIn has an entry without a holder end after a time, and not before. The caller holds mu.
func (t *Pending) endIn(e *entry, after time.Duration) {
	if e.timer != nil {
		e.timer.Stop()
	}
	e.due = time.Now().Add(after)
	e.timer = time.AfterFunc(after, func() { t.node.Panics.Run("transfer.Expire", e.key.piece.String(), func() { t.expire(e) }) })
}

// expire ends a work whose client did not come back.
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

// conclude closes a write whose client did not come back, and ends its hold. While the manager does not answer, the write
// stays and is closed again after the next [hemera.PendingHold]; after askedAgain that fails.
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

// Settle ends everything that is pending, as a node does before it stops in good order. A write that no client has open
// is kept for the next process, if there is something to keep. A write whose commit may have happened asks the manager
// once more. Settle returns when ctx ends at the latest.
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
	// A work that is not settled when ctx ends continues until the process ends; restarts and audits find what it leaves.
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

// keep marks an entry as kept, and takes off the table what has to make way, which may be the entry itself. The caller holds mu.
func (t *Pending) keep(e *entry) (victims []*entry) {
	e.kept = true
	if e.until.IsZero() {
		e.until = time.Now().Add(hemera.KeptLifetime)
	}
	t.endIn(e, time.Until(e.until))
	var kept []*entry
	for _, o := range t.entries {
		if o.kept {
			kept = append(kept, o)
		}
	}
	slices.SortFunc(kept, func(a, b *entry) int { return a.due.Compare(b.due) })
	rooms := make([]keptRoom, len(kept))
	for i, o := range kept {
		w := o.work.(*Writer)
		rooms[i] = keptRoom{user: w.head.cap.Who.Account(), bytes: w.snapshot().size, stays: w.found != nil}
	}
	for _, i := range overKept(rooms) {
		o := kept[i]
		o.timer.Stop()
		t.remove(o)
		t.recordAbort(o)
		victims = append(victims, o)
	}
	return victims
}

// keepAgain keeps a write that was held, as its commit was refused. The caller holds mu.
func (t *Pending) keepAgain(e *entry) {
	if victims := t.keep(e); len(victims) > 0 {
		t.node.InBackground("transfer.MakeWay", "", func() { t.madeWay(victims) })
	}
}

// makeWay removes a write that is kept, for its client, which writes it again from its beginning.
func (t *Pending) makeWay(key pendingKey) {
	t.mu.Lock()
	e := t.entries[key]
	if e == nil || !e.kept {
		t.mu.Unlock()
		return
	}
	e.hold() // others do not find it gone before its pieces are, as the next ones have their names
	t.mu.Unlock()
	e.work.expire(context.Background())
	t.finish(e, nil)
	t.release(e)
}

// madeWay removes kept writes that are off the table.
func (t *Pending) madeWay(victims []*entry) {
	for _, e := range victims {
		e.work.expire(context.Background())
	}
}

// stillKept reports whether no client and no admin has come for an entry since it was kept.
func (t *Pending) stillKept(e *entry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return e.kept
}
