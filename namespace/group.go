package namespace

import (
	"context"
	"fmt"
	"runtime/debug"

	"hemera/errs"
	"hemera/kv"
)

// request is one change on its way into a group. The fields below done are set before it is closed.
type request struct {
	ctx     context.Context
	fn      func(t *tx) error
	done    chan struct{}
	ticket  kv.Ticket
	touched uint64
	err     error
}

const (
	// groupMax is how many changes share a batch. A reader that has to take its turn among the
	// changes waits for one group at most.
	groupMax = 32
	// groupOps and groupBytes leave room for the variables of the event log and for the last change's
	// events: two at most, each with two paths.
	groupOps   = kv.BatchOps - 8
	groupBytes = kv.BatchBytes - 32<<10
)

// lead serves the queue until it is empty. Changes that wait at the same time become one batch, in
// which a directory's totals, however many changes they have, are written once.
func (n *Namespace) lead() {
	for n.leadOnce() {
	}
}

// leadOnce serves what is at the head of the queue and reports whether the caller leads still.
// Whoever found nobody leading does this in a goroutine of its own: most often it is alone.
func (n *Namespace) leadOnce() bool {
	defer dieOfPanic()
	n.queueMu.Lock()
	count := min(len(n.queue), groupMax)
	requests := n.queue[:count:count]
	n.queue = n.queue[count:]
	n.queueMu.Unlock()
	n.serve(requests)
	for _, r := range requests {
		close(r.done)
	}
	n.queueMu.Lock()
	defer n.queueMu.Unlock()
	if len(n.queue) == 0 {
		n.queue, n.leading = nil, false
	}
	return n.leading
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

// group is the changes that go into the next batch, and who waits for it.
type group struct {
	all         tx
	waiting     []*request
	first, next uint64 // of the event log, with the group's events
}

// serve runs requests in their order; each sees what those before it did.
func (n *Namespace) serve(requests []*request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	g := n.newGroup()
	for _, r := range requests {
		if r.err = n.alive(); r.err != nil {
			continue
		}
		t := n.run(g, r)
		if r.err == nil && (len(g.all.order)+len(t.order) > groupOps || g.all.bytes+t.bytes > groupBytes) {
			n.flush(g)
			g = n.newGroup()
			t = n.run(g, r)
		}
		if r.err == nil && (len(t.order) > groupOps || t.bytes > groupBytes) {
			r.err = refuse(errs.TooLarge, "Update", "", "the change touches too many directories for one batch")
		}
		if r.err == nil {
			g.take(n, t)
		}
		// A refusal may rest on the group's changes as well.
		g.waiting = append(g.waiting, r)
	}
	n.flush(g)
}

func (n *Namespace) newGroup() *group { return &group{first: n.first, next: n.next} }

func (n *Namespace) run(g *group, r *request) *tx {
	t := &tx{n: n, ctx: r.ctx, locked: true, now: n.clock().UTC(), under: g.all.changes}
	r.err = r.fn(t)
	r.touched = t.touched
	return t
}

// take adds what a change did, and its events, to the group. The oldest events beyond the bound
// go, two for each new one, so that a lowered bound is reached as well.
func (g *group) take(n *Namespace, t *tx) {
	for _, k := range t.order {
		c := t.changes[k]
		g.all.set([]byte(k), c.value, c.raw)
	}
	g.all.unlinked += t.unlinked
	for i := range t.events {
		e := &t.events[i]
		e.Seq, e.Time = g.next, t.now
		g.all.set(eventKey(g.next), e, encodeEvent(e))
		g.next++
		for range 2 {
			if g.next-g.first > n.eventsMax {
				g.all.remove(eventKey(g.first))
				g.first++
			}
		}
	}
}

// flush sends the group to the store, makes it visible and tells who waits for it.
func (n *Namespace) flush(g *group) {
	if len(g.all.order) == 0 {
		return
	}
	if g.next != n.next {
		g.all.set(metaKey(metaEvents), mark{}, encodePair(g.first, g.next))
	}
	g.all.n = n
	batch := g.all.batch()
	if err := kv.Check(batch); err != nil { // a defect, and no reason to stop for good
		for _, r := range g.waiting {
			r.err = errs.Wrap(err, "namespace", "")
		}
		return
	}
	g.all.begin()
	n.sending.Store(true)
	defer n.sending.Store(false)
	ticket, err := n.writer.Enqueue(batch)
	if err != nil {
		err = n.fail(err)
		for _, r := range g.waiting {
			r.err = err
		}
		return
	}
	g.all.publish(ticket.Seq())
	n.first, n.next = g.first, g.next
	n.unlinked.Add(g.all.unlinked)
	n.last.Store(&sent{ticket})
	for _, r := range g.waiting {
		r.ticket = ticket
	}
}
