package record

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"hemera/platform/kv"
	"hemera/words/errs"
)

const (
	// groupMax is the number of changes that share a batch: enough that the cost of a batch does not matter,
	// few enough that a reader that has to take its turn among them does not wait long.
	groupMax = 512
	// FinishOps is the number of records that [Options.Finish] may change.
	FinishOps = 256
	// groupOps and groupBytes leave room for what is added when the group is complete, and for the last
	// change's log entries: two at most, each with two paths.
	groupOps   = kv.BatchOps - 16 - FinishOps
	groupBytes = kv.BatchBytes - 48<<10
)

// request is one change on its way into a group. The fields below done are set before it is.
type request struct {
	ctx  context.Context
	fn   func(t *Txn) error
	then func() // if not nil: run when the change is visible, while no later one is in the store
	done sync.WaitGroup
	lead bool // the waiting changes have no leader: the goroutine that waits for this one becomes it

	ticket    kv.Ticket // nil: nothing was changed, and sawSeq is what was seen
	sawSeq    uint64
	sawUnsent bool  // fn saw a change of the group before, which was not sent yet
	err       error // of fn, if there is a ticket
}

// queue is the changes that wait for a leader, oldest first.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	led     bool // some goroutine leads, or is about to
}

// push adds requests. It reports whether the caller must lead: nobody else does.
func (q *queue) push(requests ...*request) (lead bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, requests...)
	lead = !q.led
	q.led = true
	return lead
}

// take removes up to count requests from the head.
func (q *queue) take(count int) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	count = min(len(q.waiting), count)
	requests := q.waiting[:count:count]
	q.waiting = q.waiting[count:]
	return requests
}

// putBack returns requests to the head.
func (q *queue) putBack(requests []*request) {
	if len(requests) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(requests, q.waiting...)
}

// handOver ends the caller's lead. The goroutine that brought the oldest waiting request leads next, if there is one.
func (q *queue) handOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.led = len(q.waiting) > 0
	if !q.led {
		q.waiting = nil
		return
	}
	next := q.waiting[0]
	next.lead = true
	next.done.Done()
}

// group is the changes that go into one batch, and the requests that wait for it. One goroutine at a time uses it:
// its leader makes it and sends it. The next leader reads its changes from the moment it is complete.
type group struct {
	own      *changes
	txn      Txn      // of the change that is running
	before   *changes // of the group before it, while that is not visible
	requests []*request

	first, next uint64 // bounds of the log with the group's entries
	counts      Counters

	visible atomic.Bool // or failed for good
}

// lead makes one group of the changes that wait, and sends it. The caller is the leader until the group before
// is visible: from then on the next leader makes the next group, while this one sends its own. So at most two
// groups are under way, one being made and one being sent, and each sees all changes before it.
//
// A caller that finds no leader leads itself: a lone caller hands nothing over to another goroutine. Its successor
// is the caller of the oldest change that it leaves behind.
func (s *Store) lead() {
	defer dieOfPanic()
	g := s.newGroup()
	inTurn := false
	for !inTurn && s.fill(g) {
		// Changes that come while the group before is being sent have their place in this one.
		inTurn = s.turn.TryAcquire()
	}
	if !inTurn {
		s.turn.Wait()
	}
	s.seal(g)
	s.tail, s.spare = g, s.tail // this group was the last that read the one before
	s.queue.handOver()
	s.send(g)
	done := g.requests
	g.requests = nil // the group stays the last for a while
	s.turn.Release()
	for _, r := range done {
		r.done.Done()
	}
}

// dieOfPanic ends the process when a change panicked. The change may be half done, so no caller further up may
// recover and go on. The panic is raised in a goroutine of its own, where nothing can recover it.
func dieOfPanic() {
	if p := recover(); p != nil {
		text := fmt.Sprintf("change of the namespace: %v\n%s", p, debug.Stack())
		go panic(text)
		select {}
	}
}

// newGroup returns a group that continues where the last one ended, in the memory of the one before that.
func (s *Store) newGroup() *group {
	g := s.spare
	g.own.reset()
	*g = group{own: g.own, txn: Txn{Key: g.txn.Key, logged: g.txn.logged}, first: s.tail.first, next: s.tail.next}
	if !s.tail.visible.Load() {
		g.before = s.tail.own
	}
	return g
}

// fill runs waiting requests in their order; each sees what those before it did. It reports whether
// any came and the group has room for more.
func (s *Store) fill(g *group) bool {
	requests := s.queue.take(groupMax - len(g.requests))
	for i, r := range requests {
		r.err = s.alive()
		if r.err == nil && !s.run(g, r) {
			s.queue.putBack(requests[i:])
			return false
		}
		g.requests = append(g.requests, r)
		if r.then != nil {
			s.queue.putBack(requests[i+1:])
			return false
		}
	}
	return len(requests) > 0 && len(g.requests) < groupMax
}

// run makes the change. It returns false, and nothing was done, when the group has no room for it but
// another one may have.
func (s *Store) run(g *group, r *request) bool {
	t := &g.txn
	*t = Txn{s: s, ctx: r.ctx, now: s.options.Clock().UTC(), own: g.own, before: g.before, Key: t.Key, logged: t.logged[:0]}
	r.err = r.fn(t)
	if r.err == nil && (len(g.own.list) > groupOps || g.own.bytes > groupBytes) {
		if g.own.kept.count > 0 {
			g.own.rollBack()
			return false
		}
		r.err = errs.New(errs.TooLarge, "namespace.Update", "", "the change touches too many directories for one batch")
	}
	r.sawSeq, r.sawUnsent = t.sawSeq, t.sawUnsent
	if r.err != nil {
		g.own.rollBack()
		return true
	}
	s.log(g, t)
	g.counts.add(&t.counts)
	g.own.keep()
	return true
}

// log adds the log entries of a change. The oldest entries beyond the bound go, two for each new one, so
// that a lowered bound is reached as well.
func (s *Store) log(g *group, t *Txn) {
	log := &s.options.Schema.Log
	for _, raw := range t.logged {
		t.Key = log.Key(t.Key[:0], g.next)
		g.own.set(t.Key, Opaque{}, raw, len(raw))
		g.next++
		for range 2 {
			if g.next-g.first > log.Max {
				t.Key = log.Key(t.Key[:0], g.first)
				g.own.set(t.Key, nil, nil, 0)
				g.first++
			}
		}
	}
}

// seal adds what follows from the group as a whole. From then on the group's changes are only read.
func (s *Store) seal(g *group) {
	if s.options.Finish != nil && g.counts != (Counters{}) {
		t := &g.txn
		*t = Txn{s: s, now: s.options.Clock().UTC(), own: g.own, before: g.before, Key: t.Key, logged: t.logged[:0]}
		s.options.Finish(t, g.counts)
	}
	if log := &s.options.Schema.Log; g.next != s.tail.next {
		raw := g.own.record(log.Encode(g.own.room(logBoundsRoom), g.first, g.next))
		g.own.set(log.Bounds, Opaque{}, raw, len(raw))
	}
	g.own.keep()
}

// logBoundsRoom is about the number of bytes that the record of the log's bounds needs.
const logBoundsRoom = 16

// send gives the group to the engine, makes it visible and decides what its requests have to wait for.
// The caller has the turn.
func (s *Store) send(g *group) {
	ticket, err := s.enqueue(g)
	for _, r := range g.requests {
		switch {
		case err != nil:
			r.err = err
		case ticket != nil: // a refusal may rest on the group's changes as well
			r.ticket = ticket
		case r.sawUnsent:
			r.ticket = s.last.Load().ticket
		}
		if r.then != nil && r.err == nil {
			r.then()
		}
	}
	g.visible.Store(true)
	g.before = nil
}

// enqueue returns no ticket for a group that changes nothing.
func (s *Store) enqueue(g *group) (kv.Ticket, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	if len(g.own.list) == 0 {
		return nil, nil
	}
	batch := g.own.batch()
	s.sending.begin()
	defer s.sending.end()
	s.cache.begin(g.own, s.options.Schema.Cached)
	ticket, err := s.writer.Enqueue(batch)
	if err != nil {
		return nil, s.fail(err)
	}
	s.last.Store(&sent{ticket}) // a reader that sees any of it waits for this ticket, or a later one
	s.show(g, ticket.Seq())
	s.first, s.next = g.first, g.next
	for i := range s.counters {
		if g.counts[i] != 0 {
			s.counters[i].Add(g.counts[i])
		}
	}
	return ticket, nil
}

// show makes the group visible to readers.
func (s *Store) show(g *group, seq uint64) {
	s.showing.Lock()
	defer s.showing.Unlock()
	s.version.Add(1)
	s.cache.publish(g.own, seq, s.options.Schema.Cached)
	s.version.Add(1)
}

// awaitVisible waits until the group that is being sent is visible. It fails when it never will be.
func (s *Store) awaitVisible() error {
	s.sending.wait()
	return s.alive()
}
