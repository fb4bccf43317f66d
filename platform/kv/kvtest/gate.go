package kvtest

import (
	"context"
	"sync"

	"hemera/platform/kv"
)

// Gate is a store whose batches become durable only when the test says so: Wait of a ticket blocks
// while the gate is shut, and fails with the error it was broken with.
type Gate struct {
	kv.Store
	mu   sync.Mutex
	open chan struct{} // closed while the gate is open
	err  error
}

// NewGate wraps a store with an open gate.
func NewGate(s kv.Store) *Gate {
	g := &Gate{Store: s, open: make(chan struct{})}
	close(g.open)
	return g
}

// Shut holds back every ticket from now on.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

// Open lets all tickets through; with an error they fail with it.
func (g *Gate) Open(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
	close(g.open)
}

// Acquire implements kv.Store.
func (g *Gate) Acquire(ctx context.Context, owner string) (kv.Writer, error) {
	w, err := g.Store.Acquire(ctx, owner)
	return gateWriter{w, g}, err
}

type gateWriter struct {
	kv.Writer
	g *Gate
}

// Enqueue implements kv.Writer. The batch is readable at once; only its ticket waits for the gate.
func (w gateWriter) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	t, err := w.Writer.Enqueue(b)
	if err != nil {
		return nil, err
	}
	return gateTicket{t, w.g}, nil
}

type gateTicket struct {
	kv.Ticket
	g *Gate
}

// Wait implements kv.Ticket. It blocks while the gate is shut, or until ctx ends.
func (t gateTicket) Wait(ctx context.Context) error {
	t.g.mu.Lock()
	open := t.g.open
	t.g.mu.Unlock()
	select {
	case <-open:
	case <-ctx.Done():
		return ctx.Err()
	}
	t.g.mu.Lock()
	err := t.g.err
	t.g.mu.Unlock()
	if err != nil {
		return err
	}
	return t.Ticket.Wait(ctx)
}
