package maint

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hemera"
	"hemera/rules/layout"
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
	total          float64
	hist           [][2]float64
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
	e := l.m.files[o.Piece.File]
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
	defer func() { l.hist = append(l.hist, [2]float64{float64(now.UnixNano()) / 1e9, l.total}) }()
	for _, f := range l.flows {
		n := f.pace * dt
		f.left -= n
		for _, id := range f.from {
			l.sent[id] += n
			l.received[f.to] += n
			l.total += n
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

// busiest is how many times the mean the node moved that moved most.
func busiest(moved map[hemera.NodeID]float64, nodes int) float64 {
	sum, most := 0.0, 0.0
	for _, n := range moved {
		sum, most = sum+n, max(most, n)
	}
	return most * float64(nodes) / sum
}

// rebuilt loses the last of so many nodes and makes its pieces again. It returns the share of the links that was used, of
// all nodes from the loss to the last byte, and how uneven it was.
func rebuilt(t *testing.T, nodes, disks, files int, form string, seed uint64) (share, sent, received float64) {
	const rate, size = 100e6, 800 << 20
	synctest.Test(t, func(t *testing.T) {
		m := newMiniature(t)
		for range nodes {
			m.node("", slices.Repeat([]int64{1 << 50}, disks)...)
		}
		form, err := hemera.ParseLayout(form, 0)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 0))
		for range files {
			var on []hemera.DiskID
			for _, n := range r.Perm(nodes)[:form.Pieces] {
				on = append(on, hemera.DiskID(n*disks+r.IntN(disks)+1))
			}
			m.file(form, size, on...)
		}
		m.view.Nodes[nodes-1].Status = hemera.NodeOffline
		lost := 0.0
		for i := (nodes - 1) * disks; i < nodes*disks; i++ {
			m.view.Disks[i].Active = false
			lost += float64(m.used[hemera.DiskID(i+1)])
		}
		e := m.engine()
		e.LostAfter, e.BalanceDelay = time.Nanosecond, 1000*time.Hour
		l := newLinks(m, rate)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { l.run(ctx) })
		for i := range nodes - 1 {
			all.Go(func() { l.serve(ctx, e, hemera.NodeID(i+1)) })
		}
		began := time.Now()
		all.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(time.Second)
				l.mu.Lock()
				l.advance()
				states := map[hemera.NodeID][]hemera.CopyState{}
				for _, f := range l.flows {
					states[f.to] = append(states[f.to], hemera.CopyState{Order: f.order, Bytes: int64(f.bytes - f.left)})
				}
				l.mu.Unlock()
				for id, s := range states {
					e.Orders.Progress(id, s)
				}
			}
		})
		all.Go(func() { _ = e.Run(ctx) })
		left := func() (pieces int64) {
			for i := (nodes - 1) * disks; i < nodes*disks; i++ {
				n, _, _ := m.DiskUsage(ctx, hemera.DiskID(i+1))
				pieces += n
			}
			return pieces
		}
		for left() > 0 && time.Since(began) < 24*time.Hour {
			time.Sleep(10 * time.Second)
		}
		cancel()
		all.Wait()
		if n := left(); n > 0 {
			t.Errorf("%d pieces were not made again", n)
		}
		share = lost * float64(form.Data) / (float64(nodes-1) * rate * l.last.Sub(began).Seconds())
		h := l.hist
		at := func(part float64) float64 {
			for _, x := range h {
				if x[1] >= part*l.total {
					return x[0]
				}
			}
			return 0
		}
		busy := func(a, b float64) float64 { return l.total * (b - a) / (at(b) - at(a)) / rate / float64(nodes-1) }
		t.Logf("start %.1f s, busy 0-10 %.3f 10-50 %.3f 50-80 %.3f 80-90 %.3f 90-100 %.3f; took %.1f", at(1e-9)-float64(began.UnixNano())/1e9, busy(1e-9, 0.1), busy(.1, .5), busy(.5, .8), busy(.8, .9), busy(.9, .9999), l.last.Sub(began).Seconds())
		sent, received = busiest(l.sent, nodes-1), busiest(l.received, nodes-1)
	})
	return share, sent, received
}

func TestARebuildUsesTheLinks(t *testing.T) {
	for _, c := range []struct {
		nodes, disks, files int
		form                string
	}{
		{10, 6, 300, "rs:4+2"}, {10, 6, 500, "rs:4+2"}, {10, 2, 500, "rs:4+2"}, {20, 6, 300, "rs:10+4"}, {9, 6, 500, "rs:4+2"}, {6, 6, 500, "rs:2+1"},
	} {
		share, sent, received := rebuilt(t, c.nodes, c.disks, c.files, c.form, 1)
		t.Logf("%+v: %.3f of the links; busiest node / mean: sent %.3f, received %.3f", c, share, sent, received)
	}
}
