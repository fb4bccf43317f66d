package kvtest

import (
	"context"
	"sync"

	"hemera/platform/kv"
)

// Gate is a store whose batches become durable only when the test says so: Wait of a ticket blocks
// while the gate is shut, and fails with the error it was broken with.
//
// A batch is readable as soon as it is enqueued, also while the gate is shut: that is the contract of [kv.Writer], and
// the window between readable and durable is what tests with a Gate are about.
type Gate struct {
	kv.Store
	mu sync.Mutex
	// open is replaced at each Shut. A ticket takes the channel of the moment at which its Wait begins.
	open chan struct{} // closed while the gate is open
	err  error         // what tickets fail with, nil for success; under mu
}

// NewGate wraps a store with an open gate.
func NewGate(s kv.Store) *Gate {
	g := &Gate{Store: s, open: make(chan struct{})}
	close(g.open)
	return g
}

// Shut holds back every Wait that begins from now on, also of batches enqueued before.
// The gate must be open: of two channels the first would never be closed.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

// Open lets all tickets through; with an error they fail with it.
// It may be called once for each Shut: a channel is closed once.
func (g *Gate) Open(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
	close(g.open)
}

// Acquire implements kv.Store.
// Acquire wraps the engine's writer. A gateWriter around a nil writer is harmless: the caller looks at the error first.
func (g *Gate) Acquire(ctx context.Context, owner string) (kv.Writer, error) {
	w, err := g.Store.Acquire(ctx, owner)
	return gateWriter{w, g}, err
}

// gateWriter is the engine's writer with gated tickets. It does not implement kv.Loader, so a load does not pass the gate.
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
	// The error is that of the latest Open, not of the one that opened this channel: a store that broke stays broken.
	t.g.mu.Lock()
	err := t.g.err
	t.g.mu.Unlock()
	if err != nil {
		return err
	}
	return t.Ticket.Wait(ctx)
}
