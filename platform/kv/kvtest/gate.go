package kvtest

import (
	"context"
	"sync"

	"hemera/platform/kv"
)

// Gate is a store whose batches become durable only when the test says so: Wait of a ticket blocks while the gate is
// shut, and fails with the error passed to Open.
//
// A batch is readable as soon as it is enqueued, also while the gate is shut: that is the contract of [kv.Writer]. Tests
// use a Gate for the time between readable and durable.
type Gate struct {
	kv.Store
	mu sync.Mutex
	// open is replaced at each Shut. A ticket waits for the channel of the moment at which its Wait begins.
	open chan struct{} // closed while the gate is open
	err  error         // the error of tickets, nil for success; under mu
}

// NewGate wraps a store with an open gate.
func NewGate(s kv.Store) *Gate {
	g := &Gate{Store: s, open: make(chan struct{})}
	close(g.open)
	return g
}

// Shut blocks every Wait that begins from now on, also of batches enqueued before. The gate must be open: otherwise the
// old channel would never be closed.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

// Open lets all tickets through; with an error they fail with it. It must follow a Shut, once.
func (g *Gate) Open(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
	close(g.open)
}

// Acquire implements kv.Store. It wraps the engine's writer; callers check the error before they use it.
func (g *Gate) Acquire(ctx context.Context, owner string) (kv.Writer, error) {
	w, err := g.Store.Acquire(ctx, owner)
	return gateWriter{w, g}, err
}

// gateWriter is the engine's writer with gated tickets. It does not implement kv.Loader, so a load does not wait for the
// gate.
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

// gateTicket is a ticket of the engine behind the gate.
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
	// The error is that of the latest Open, not of the one that opened this channel: a broken store stays broken.
	t.g.mu.Lock()
	err := t.g.err
	t.g.mu.Unlock()
	if err != nil {
		return err
	}
	return t.Ticket.Wait(ctx)
}
