// Package orders gives nodes background work and brings back the results. The manager never dials a node: each node fetches
// its orders by a long poll, [Dispatcher.Exchange], and delivers the results of earlier ones with the same call.
//
// A caller of [Dispatcher.Do] waits for one order's result. Orders are in memory only: what is lost with the process is
// decided again from the namespace.
//
// An order is waiting, then sent, then answered. It is sent once in a lease: a node that loses an Exchange's answer registers
// again, and [Dispatcher.Redeliver] puts its unanswered orders back in front, in their order, but for conversions, which fail. [Dispatcher.Fail] ends all
// orders of a node that went offline. One mutex guards everything; no call holds it while it waits.
package orders

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// ordersMax bounds the orders waiting or under way for one node.
	ordersMax = 65536
	// handout bounds the orders that one Exchange returns.
	handout = 256
	// ExchangeWait bounds the wait of an Exchange for orders; then it returns an empty list.
	ExchangeWait = 5 * time.Second
)

// Dispatcher is the work waiting for nodes. It is all in memory and nothing in it is precious: what is
// lost is decided again from the namespace. Methods may be called concurrently.
type Dispatcher struct {
	limit int // orders waiting or under way for one node

	mu     sync.Mutex
	lastID uint64                   // ids are of this process only: a node forgets its orders with its lease
	nodes  map[hemera.NodeID]*queue // kept for good: there are few
}

// queue is the orders of one node.
type queue struct {
	waiting []*order          // oldest first
	sent    map[uint64]*order // handed to the node, not answered
	wake    chan struct{}     // closed when there is news for an Exchange that waits
	// call counts Exchanges: an older one that still waits belongs to a connection that is gone, and
	// must not take orders with it.
	call uint64
}

// order is an order and the caller that waits for it.
type order struct {
	hemera.Order
	done  chan outcome      // buffered: one outcome
	watch func(bytes int64) // told how far a copy is; may be nil
}

// outcome is the answer to a waiting caller.
type outcome struct {
	result hemera.OrderResult // zero if the node went offline
	err    error              // also when the node says that the order failed
}

// New returns a dispatcher without orders.
func New() *Dispatcher { return &Dispatcher{limit: ordersMax, nodes: map[hemera.NodeID]*queue{}} }

// node returns the queue of a node, and makes it at the first call. mu is held.
func (q *Dispatcher) node(id hemera.NodeID) *queue {
	n := q.nodes[id]
	if n == nil {
		n = &queue{sent: map[uint64]*order{}, wake: make(chan struct{})}
		q.nodes[id] = n
	}
	return n
}

// Do gives a node one order and waits for its answer. The order's own failure is an error of the
// kind the node reported, beside the result. Unavailable when the node goes offline, Overloaded when
// its queue is full. When the context ends, the node is told, but may still execute the order.
//
// An order is handed out once in a lease. A node that loses an Exchange's answer registers again, which
// ends what it was doing: so no removal can come late, after a copy of the same piece.
func (q *Dispatcher) Do(ctx context.Context, id hemera.NodeID, o hemera.Order) (hemera.OrderResult, error) {
	return q.Follow(ctx, id, o, nil)
}

// Follow does what Do does, and calls a function now and then with the progress of the copy, perhaps once more after the
// end.
func (q *Dispatcher) Follow(ctx context.Context, id hemera.NodeID, o hemera.Order, watch func(bytes int64)) (hemera.OrderResult, error) {
	q.mu.Lock()
	n := q.node(id)
	if len(n.waiting)+len(n.sent) >= q.limit {
		q.mu.Unlock()
		return hemera.OrderResult{}, errs.New(errs.Overloaded, "orders.Do", "node "+id.String(), "the node has too many orders")
	}
	q.lastID++
	o.ID = q.lastID
	ord := &order{Order: o, done: make(chan outcome, 1), watch: watch}
	n.waiting = append(n.waiting, ord)
	n.signal()
	q.mu.Unlock()
	select {
	case out := <-ord.done:
		return out.result, out.err
	case <-ctx.Done():
		q.withdraw(id, ord)
		return hemera.OrderResult{}, errs.Wrap(context.Cause(ctx), "orders.Do", "node "+id.String())
	}
}

// signal ends the wait of the node's Exchange, if one waits. mu is held.
func (n *queue) signal() {
	close(n.wake)
	n.wake = make(chan struct{})
}

// withdraw drops an order when its caller has stopped waiting. If the node has it already, it gets an order to stop.
func (q *Dispatcher) withdraw(id hemera.NodeID, ord *order) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.node(id)
	if n.sent[ord.ID] != nil {
		// The node has it. A node that cannot stop an order answers so, and the answer is dropped.
		delete(n.sent, ord.ID)
		q.lastID++
		n.waiting = append(n.waiting, &order{Order: hemera.Order{ID: q.lastID, Kind: hemera.OrderCancel, Disk: ord.Disk, Cancels: ord.ID}})
		n.signal()
		return
	}
	for i, w := range n.waiting {
		if w == ord {
			n.waiting = append(n.waiting[:i], n.waiting[i+1:]...)
			return
		}
	}
}

// Exchange takes a node's results and returns orders for it, waiting up to [ExchangeWait] for one.
// Results of unknown orders are ignored.
func (q *Dispatcher) Exchange(ctx context.Context, id hemera.NodeID, results []hemera.OrderResult) ([]hemera.Order, error) {
	call := q.settle(id, results)
	timer := time.NewTimer(ExchangeWait)
	defer timer.Stop()
	for {
		q.mu.Lock()
		n := q.node(id)
		if n.call != call {
			q.mu.Unlock()
			return nil, nil
		}
		if ctx.Err() == nil {
			if list := n.take(); len(list) > 0 {
				q.mu.Unlock()
				return list, nil
			}
		}
		wake := n.wake
		q.mu.Unlock()
		select {
		case <-wake:
		case <-timer.C:
			return nil, nil
		case <-ctx.Done():
			return nil, errs.Wrap(ctx.Err(), "orders.Exchange", "node "+id.String())
		}
	}
}

// take hands out the next orders. They stay in sent until the node answers. mu is held.
func (n *queue) take() (list []hemera.Order) {
	batch := n.waiting[:min(len(n.waiting), handout)]
	n.waiting = n.waiting[len(batch):]
	for _, o := range batch {
		if o.Kind != hemera.OrderCancel {
			n.sent[o.ID] = o
		}
		list = append(list, o.Order)
	}
	return list
}

// requeue moves the orders that were handed out back to the front, oldest first. Conversions fail: an earlier process of the node may have
// committed one, and the next, which does not know that, would take its pieces for those of a write of its own, and remove them. They are
// decided again by what the file is now.
func (n *queue) requeue() {
	for id, o := range n.sent {
		if o.Kind == hemera.OrderConvert {
			o.done <- outcome{err: errs.New(errs.Unavailable, "orders.Do", o.Piece.String(), "the node began again before it answered")}
			delete(n.sent, id)
		}
	}
	again := slices.Collect(maps.Values(n.sent))
	clear(n.sent)
	slices.SortFunc(again, func(a, b *order) int { return cmp.Compare(a.ID, b.ID) })
	n.waiting = append(again, n.waiting...)
}

// settle hands results to those who wait for them, and begins a new Exchange.
func (q *Dispatcher) settle(id hemera.NodeID, results []hemera.OrderResult) (call uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.node(id)
	n.call++
	n.signal()
	for _, r := range results {
		o := n.sent[r.ID]
		if o == nil {
			continue
		}
		delete(n.sent, r.ID)
		out := outcome{result: r}
		if r.Failed {
			out.err = errs.New(errs.Kind(r.ErrKind), "node "+id.String(), o.Piece.String(), r.ErrText).WithRemedy(r.Remedy)
		}
		o.done <- out
	}
	return n.call
}

// Redeliver queues all unanswered orders of a node again. The caller says so when a node registered again, since its
// process has none of the orders that it got before. Conversions end with Unavailable.
func (q *Dispatcher) Redeliver(id hemera.NodeID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.node(id)
	n.requeue()
	n.call++
	n.signal()
}

// Progress takes a node's report of how far its copies are. Orders that it does not have are ignored.
func (q *Dispatcher) Progress(id hemera.NodeID, copies []hemera.CopyState) {
	type news struct {
		watch func(int64)
		bytes int64
	}
	var tell []news
	q.mu.Lock()
	if n := q.nodes[id]; n != nil {
		for _, c := range copies[:min(len(copies), hemera.CopiesMax)] {
			if o := n.sent[c.Order]; o != nil && o.watch != nil {
				tell = append(tell, news{o.watch, c.Bytes})
			}
		}
	}
	q.mu.Unlock()
	for _, t := range tell {
		t.watch(t.bytes)
	}
}

// Busy lists the nodes with orders.
func (q *Dispatcher) Busy() (ids []hemera.NodeID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, n := range q.nodes {
		if len(n.waiting)+len(n.sent) > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// Fail ends all orders of a node that is offline with Unavailable.
func (q *Dispatcher) Fail(id hemera.NodeID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.nodes[id]
	if n == nil {
		return
	}
	for _, o := range n.waiting {
		if o.Kind != hemera.OrderCancel {
			n.sent[o.ID] = o
		}
	}
	for _, o := range n.sent {
		o.done <- outcome{err: errs.New(errs.Unavailable, "orders.Do", "node "+id.String(), "the node is offline")}
	}
	n.waiting = nil
	clear(n.sent)
}
