package maint

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"hemera/rules/layout"
	"hemera/words/hemera"
)

// links is the network of a miniature: one link for each node, which carries rate bytes a second in each direction. A copy receives
// from all its sources at the same pace, as a piece is computed from the same part of each. Copies share the links max-min
// fairly, as connections do that are never idle. Time is the test's.
type links struct {
	m    *miniature
	rate float64

	mu             sync.Mutex
	flows          []*flow
	at             time.Time
	moved          *sync.Cond // flows or their paces have changed
	sent, received map[hemera.NodeID]float64
	last           time.Time // when the last copy ended
}

// flow is a copy under way.
type flow struct {
	to          hemera.NodeID
	from        []hemera.NodeID
	order       uint64
	bytes, left float64 // of the piece
	pace        float64 // bytes a second, set by share
	done        chan struct{}
}

func newLinks(m *miniature, rate float64) *links {
	l := &links{m: m, rate: rate, sent: map[hemera.NodeID]float64{}, received: map[hemera.NodeID]float64{}}
	l.moved = sync.NewCond(&l.mu)
	return l
}

// serve runs a node until the context ends. All its copies are under way at once, as many as the engine orders.
func (l *links) serve(ctx context.Context, e *Engine, id hemera.NodeID) {
	results := make(chan hemera.OrderResult, 1000)
	var group sync.WaitGroup
	defer group.Wait()
	var ready []hemera.OrderResult
	for ctx.Err() == nil {
		// A result ends the wait for orders, as a second exchange does.
		wait, heard := context.WithCancel(ctx)
		group.Go(func() {
			select {
			case r := <-results:
				results <- r
				heard()
			case <-wait.Done():
			}
		})
		list, _ := e.Orders.Exchange(wait, id, ready)
		heard()
		ready = nil
		for _, o := range list {
			group.Go(func() {
				n, err := l.m.execute(o)
				if err == nil && n > 0 {
					l.carry(ctx, o, id, n)
				}
				results <- hemera.OrderResult{ID: o.ID, Bytes: n, Failed: err != nil}
			})
		}
		for len(results) > 0 {
			ready = append(ready, <-results)
		}
	}
}

// carry has the network carry what a copy needs, and returns when that is there.
func (l *links) carry(ctx context.Context, o hemera.Order, to hemera.NodeID, bytes int64) {
	e, _, _ := l.m.Resolve(ctx, o.Piece.File)
	f := &flow{to: to, order: o.ID, bytes: float64(bytes), left: float64(bytes), done: make(chan struct{})}
	for _, t := range o.Sources[:layout.Needed(e.Layout, e.Size)] {
		if t.Node != to {
			f.from = append(f.from, t.Node)
		}
	}
	l.mu.Lock()
	l.advance()
	l.flows = append(l.flows, f)
	l.share()
	l.mu.Unlock()
	l.moved.Broadcast()
	select {
	case <-f.done:
	case <-ctx.Done():
	}
}

// run moves the bytes until the context ends.
func (l *links) run(ctx context.Context) {
	defer context.AfterFunc(ctx, l.moved.Broadcast)()
	l.mu.Lock()
	defer l.mu.Unlock()
	for ctx.Err() == nil {
		next := time.Duration(math.MaxInt64)
		for _, f := range l.flows {
			next = min(next, time.Duration(math.Ceil(f.left/f.pace*1e9)))
		}
		if len(l.flows) > 0 {
			// A copy that begins meanwhile wakes it as well.
			wake := time.AfterFunc(next, l.moved.Broadcast)
			l.moved.Wait()
			wake.Stop()
		} else {
			l.moved.Wait()
		}
		l.advance()
		l.flows = slices.DeleteFunc(l.flows, func(f *flow) bool {
			if f.left > 0.5 {
				return false
			}
			close(f.done)
			l.last = l.at
			return true
		})
		l.share()
	}
}

// advance counts what has moved since the last change. mu is held.
func (l *links) advance() {
	now := time.Now()
	dt := now.Sub(l.at).Seconds()
	l.at = now
	for _, f := range l.flows {
		n := f.pace * dt
		f.left -= n
		for _, id := range f.from {
			l.sent[id] += n
			l.received[f.to] += n
		}
	}
}

// share gives each copy its pace: all grow alike until a link is full, whose copies then stay as they are. mu is held.
func (l *links) share() {
	type direction struct {
		node hemera.NodeID
		up   bool
	}
	free, users := map[direction]float64{}, map[direction]float64{}
	each := func(f *flow, visit func(direction)) {
		for _, id := range f.from {
			visit(direction{id, true})
			visit(direction{f.to, false})
		}
	}
	growing := slices.Clone(l.flows)
	for _, f := range growing {
		f.pace = 0
		each(f, func(d direction) { free[d] = l.rate; users[d]++ })
	}
	for len(growing) > 0 {
		more := math.Inf(1)
		for d, n := range users {
			if n > 0 {
				more = min(more, free[d]/n)
			}
		}
		for _, f := range growing {
			f.pace += more
			each(f, func(d direction) { free[d] -= more })
		}
		growing = slices.DeleteFunc(growing, func(f *flow) (full bool) {
			each(f, func(d direction) { full = full || free[d] < l.rate*1e-9 })
			if full {
				each(f, func(d direction) { users[d]-- })
			}
			return full
		})
	}
}

// report has the engine know how far the copies are, as heartbeats do.
func (l *links) report(ctx context.Context, e *Engine) {
	for ctx.Err() == nil {
		time.Sleep(hemera.HeartbeatInterval)
		states := map[hemera.NodeID][]hemera.CopyState{}
		l.mu.Lock()
		l.advance()
		for _, f := range l.flows {
			states[f.to] = append(states[f.to], hemera.CopyState{Order: f.order, Bytes: int64(f.bytes - f.left)})
		}
		l.mu.Unlock()
		for id, s := range states {
			e.Orders.Progress(id, s)
		}
	}
}

// busiest returns the bytes of the node that moved most, as a multiple of the mean.
func busiest(moved map[hemera.NodeID]float64, nodes int) float64 {
	sum, most := 0.0, 0.0
	for _, n := range moved {
		sum, most = sum+n, max(most, n)
	}
	return most * float64(nodes) / sum
}
