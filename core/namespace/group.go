package namespace

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
	"hemera/platform/kv"
)

// request is one change on its way into a group. The fields below done are set before it is.
type request struct {
	ctx  context.Context
	fn   func(t *tx) error
	then func() // if not nil: run when the change is visible and none after it is in the store
	done sync.WaitGroup
	lead bool // the changes that wait have no leader: whoever waits for this one is it

	ticket  kv.Ticket // nil: nothing was changed, and touched is what was seen
	touched uint64
	rests   bool  // what fn saw rests on the group before
	err     error // of fn, if there is a ticket
}

const (
	// groupMax is how many changes share a batch: enough that what each batch costs is no matter,
	// few enough that a reader who has to take its turn among them does not wait long.
	groupMax = 512
	// groupOps and groupBytes leave room for what is added when the group is sealed, and for the last
	// change's events: two at most, each with two paths.
	groupOps   = kv.BatchOps - 16 - exhumeMax
	groupBytes = kv.BatchBytes - 48<<10
)

// group is the changes that go into one batch, and who waits for it.
type group struct {
	all      *changes
	tx       tx       // of the change that is running
	before   *changes // of the group before it, while that is not visible
	requests []*request

	first, next uint64 // of the event log, with the group's events
	unlinked    int64
	held        heldSum
	buried      int // how many records of ended writes it makes

	visible atomic.Bool // or failed for good
}

// lead makes one group of the changes that wait, and sends it. It is the leader until the group before
// is visible: from then on the next leader makes the next group while this one sends its own. So two
// groups are under way at most, one being made and one being sent, and each sees all of those before.
//
// Whoever finds nobody leading does it himself, which spares him who is alone all hand-overs; his successor
// is who brought the first of the changes that he leaves.
func (n *Namespace) lead() {
	defer dieOfPanic()
	g := n.newGroup()
	for n.fill(g) {
		// What comes while the group before is being sent has its place in this one.
		if n.mu.TryLock() {
			n.conclude(g)
			return
		}
	}
	n.mu.Lock()
	n.conclude(g)
}

// conclude passes the lead on and sends the group. The caller holds mu; conclude unlocks it.
func (n *Namespace) conclude(g *group) {
	n.seal(g)
	n.tail, n.spare = g, n.tail // this group was the last to look at the one before
	n.queueMu.Lock()
	n.leading = len(n.queue) > 0
	if n.leading {
		n.queue[0].lead = true
		n.queue[0].done.Done()
	} else {
		n.queue = nil
	}
	n.queueMu.Unlock()
	n.send(g)
	done := g.requests
	g.requests = nil // the group stays the last for a while
	n.mu.Unlock()
	for _, r := range done {
		r.done.Done()
	}
}

// dieOfPanic ends the process when a change panicked: it may be half done, so nobody further up, who
// means to save what is not concerned, may recover from it.
func dieOfPanic() {
	if p := recover(); p != nil {
		text := fmt.Sprintf("change of the namespace: %v\n%s", p, debug.Stack())
		go panic(text)
		select {}
	}
}

// newGroup is one that continues where the last one ended, in the memory of the one before that.
func (n *Namespace) newGroup() *group {
	g := n.spare
	g.all.reset()
	*g = group{all: g.all, tx: tx{key: g.tx.key, events: g.tx.events}, first: n.tail.first, next: n.tail.next}
	if !n.tail.visible.Load() {
		g.before = n.tail.all
	}
	return g
}

// fill runs waiting requests in their order; each sees what those before it did. It reports whether
// any came and the group has room for more.
func (n *Namespace) fill(g *group) bool {
	requests := n.take(groupMax - len(g.requests))
	for i, r := range requests {
		if r.err = n.alive(); r.err == nil && !n.run(g, r) {
			n.putBack(requests[i:])
			return false
		}
		g.requests = append(g.requests, r)
		if r.then != nil {
			n.putBack(requests[i+1:])
			return false
		}
	}
	return len(requests) > 0 && len(g.requests) < groupMax
}

// take removes up to count requests from the head of the queue.
func (n *Namespace) take(count int) []*request {
	n.queueMu.Lock()
	defer n.queueMu.Unlock()
	count = min(len(n.queue), count)
	requests := n.queue[:count:count]
	n.queue = n.queue[count:]
	return requests
}

func (n *Namespace) putBack(requests []*request) {
	n.queueMu.Lock()
	defer n.queueMu.Unlock()
	n.queue = append(requests, n.queue...)
}

// run makes the change. It is false, and nothing was done, when the group has no room for it but
// another one may have.
func (n *Namespace) run(g *group, r *request) bool {
	t := &g.tx
	*t = tx{n: n, ctx: r.ctx, locked: true, now: n.clock().UTC(), all: g.all, before: g.before, key: t.key, events: t.events[:0]}
	r.err = r.fn(t)
	if r.err == nil && (len(g.all.list) > groupOps || g.all.bytes > groupBytes) {
		if g.all.kept.count > 0 {
			g.all.takeBack()
			return false
		}
		r.err = refuse(errs.TooLarge, "Update", "", "the change touches too many directories for one batch")
	}
	r.touched, r.rests = t.touched, t.rests
	if r.err != nil {
		g.all.takeBack()
		return true
	}
	g.log(n, t)
	g.unlinked += t.unlinked
	g.held.pieces += t.held.pieces
	g.held.bytes += t.held.bytes
	g.buried += t.buried
	g.all.keep()
	return true
}

// log adds the events of a change. The oldest events beyond the bound go, two for each new one, so
// that a lowered bound is reached as well.
func (g *group) log(n *Namespace, t *tx) {
	for i := range t.events {
		e := &t.events[i]
		e.Seq, e.Time = g.next, t.now
		raw := g.all.record(schema.AppendEvent(g.all.room(schema.EventRoom(e)), e))
		t.key = schema.AppendIDKey(t.key[:0], schema.TableEvent, hemera.FileID(g.next))
		g.all.set(t.key, schema.Mark{}, raw, len(raw))
		g.next++
		for range 2 {
			if g.next-g.first > n.eventsMax {
				g.all.set(schema.EventKey(g.first), nil, nil, 0)
				g.first++
			}
		}
	}
}

// seal adds what follows from the group as a whole. From then on it is only read.
func (n *Namespace) seal(g *group) {
	if g.buried > 0 {
		n.exhume(g)
	}
	if g.next != n.tail.next {
		g.all.set(schema.MetaKey(schema.MetaEvents), schema.Mark{}, g.all.record(schema.AppendPair(g.all.room(16), g.first, g.next)), 16)
	}
	g.all.keep()
}

// send gives the group to the store, makes it visible and says for what its requests have to wait.
// The caller holds mu.
func (n *Namespace) send(g *group) {
	ticket, err := n.enqueue(g)
	for _, r := range g.requests {
		switch {
		case err != nil:
			r.err = err
		case ticket != nil: // a refusal may rest on the group's changes as well
			r.ticket = ticket
		case r.rests:
			r.ticket = n.last.Load().ticket
		}
		if r.then != nil && r.err == nil {
			r.then()
		}
	}
	g.visible.Store(true)
	g.before = nil
}

// enqueue returns no ticket for a group that changes nothing.
func (n *Namespace) enqueue(g *group) (kv.Ticket, error) {
	if err := n.alive(); err != nil {
		return nil, err
	}
	if len(g.all.list) == 0 {
		return nil, nil
	}
	batch := g.all.batch()
	n.cache.begin(g.all)
	n.sending.Store(true)
	defer n.sending.Store(false)
	ticket, err := n.writer.Enqueue(batch)
	if err != nil {
		return nil, n.fail(err)
	}
	n.last.Store(&sent{ticket}) // who sees any of it waits for this ticket, or a later one
	n.show(g, ticket.Seq())
	n.first, n.next = g.first, g.next
	n.unlinked.Add(g.unlinked)
	n.held.pieces.Add(g.held.pieces)
	n.held.bytes.Add(g.held.bytes)
	return ticket, nil
}

// show makes the group visible to readers.
func (n *Namespace) show(g *group, seq uint64) {
	n.showing.Lock()
	defer n.showing.Unlock()
	n.version.Add(1)
	n.cache.publish(g.all, seq)
	n.version.Add(1)
}
