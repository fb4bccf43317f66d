package namespace_test

import (
	"context"
	"sync"
	"testing"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/test/fixture/effort"
	"hemera/words/hemera"
)

// TestPlantedFaultsAreNoticed breaks what the namespace rests on, or the namespace: a check of
// histories that finds nothing then would find nothing ever.
func TestPlantedFaultsAreNoticed(t *testing.T) {
	if effort.Raced {
		t.Skip("whether a fault is found is no matter of races, and takes many histories")
	}
	for name, f := range map[string]fault{
		"acknowledged before it is durable": {store: func(s kv.Store) kv.Store { return liar{s} }},
		"batches in two parts":              {store: func(s kv.Store) kv.Store { return tearer{s} }},
		"stat of two pictures":              {names: func(n *namespace.Namespace) hemera.Names { return glimpser{n.Tree, n} }},
		"stat of what is not durable":       {names: func(n *namespace.Namespace) hemera.Names { return hastener{n.Tree, n} }},
		"stat of the past":                  {names: func(n *namespace.Namespace) hemera.Names { return &rememberer{Names: n.Tree} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const enough = 1000
			for seed := range uint64(enough) {
				if wrong := runRace(t, seed+1, f); wrong != "" {
					t.Logf("noticed with seed %d", seed+1)
					return
				}
			}
			t.Errorf("not noticed in %d histories", enough)
		})
	}
}

// liar is a store whose batches are called durable at once.
type liar struct{ kv.Store }

func (s liar) Acquire(ctx context.Context, owner string) (kv.Writer, error) {
	w, err := s.Store.Acquire(ctx, owner)
	return liarWriter{w}, err
}

type liarWriter struct{ kv.Writer }

func (w liarWriter) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	t, err := w.Writer.Enqueue(b)
	return liarTicket{t}, err
}

type liarTicket struct{ kv.Ticket }

func (liarTicket) Wait(context.Context) error { return nil }

// tearer is a store that does not write a batch at once.
type tearer struct{ kv.Store }

func (s tearer) Acquire(ctx context.Context, owner string) (kv.Writer, error) {
	w, err := s.Store.Acquire(ctx, owner)
	return tearerWriter{w}, err
}

type tearerWriter struct{ kv.Writer }

func (w tearerWriter) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	half := len(b.Ops) / 2
	first, err := w.Writer.Enqueue(&kv.Batch{Ops: b.Ops[:half]})
	if err != nil {
		return nil, err
	}
	yield()
	if err := first.Wait(context.Background()); err != nil { // one write may have both parts
		return nil, err
	}
	return w.Writer.Enqueue(&kv.Batch{Ops: b.Ops[half:]})
}

// glimpser is a namespace whose Stat sees several pictures.
type glimpser struct {
	hemera.Names
	n *namespace.Namespace
}

func (g glimpser) Stat(ctx context.Context, who hemera.Identity, path string) (hemera.Entry, error) {
	return g.n.Glimpse(ctx, who, path)
}

// hastener is a namespace whose Stat does not wait for the disk.
type hastener struct {
	hemera.Names
	n *namespace.Namespace
}

func (g hastener) Stat(ctx context.Context, who hemera.Identity, path string) (hemera.Entry, error) {
	return g.n.Hasten(ctx, who, path)
}

// rememberer is a namespace with a cache that is right nearly always.
type rememberer struct {
	hemera.Names
	mu    sync.Mutex
	calls int
	last  map[string]hemera.Entry
}

func (m *rememberer) Stat(ctx context.Context, who hemera.Identity, path string) (hemera.Entry, error) {
	m.mu.Lock()
	m.calls++
	e, there := m.last[path]
	again := there && m.calls%10 == 0
	m.mu.Unlock()
	if again {
		return e, nil
	}
	e, err := m.Names.Stat(ctx, who, path)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.last == nil {
			m.last = make(map[string]hemera.Entry)
		}
		m.last[path] = e
	}
	return e, err
}
