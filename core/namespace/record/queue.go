package record

import (
	"context"
	"sync"

	"hemera/platform/kv"
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
