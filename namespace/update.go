package namespace

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"hemera"
	"hemera/errs"
	"hemera/kv"
)

// viewTries is how often view looks without the lock before it takes its turn among the changes.
const viewTries = 8

// view runs a reader on one picture of the tree. It takes no lock: a picture during which a change
// became visible is thrown away, and fn runs again. What fn returns is only the answer once view
// returned nil or fn's error: both are given when everything they rest on is durable.
func (n *Namespace) view(ctx context.Context, fn func(t *tx) error) error {
	seq, err := n.look(ctx, fn)
	if waitErr := n.settled(ctx, seq); waitErr != nil {
		return waitErr
	}
	return err
}

// look is view without the wait; it returns the newest batch that fn saw anything of.
func (n *Namespace) look(ctx context.Context, fn func(t *tx) error) (uint64, error) {
	if err := n.alive(); err != nil {
		return 0, err
	}
	for range viewTries {
		was := n.version.Load()
		if was%2 != 0 {
			runtime.Gosched()
			continue
		}
		t := &tx{n: n, ctx: ctx}
		err := fn(t)
		if n.version.Load() == was {
			return t.touched, err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	t := &tx{n: n, ctx: ctx, locked: true}
	err := fn(t)
	return t.touched, err
}

// barrier waits until the change that is being enqueued is visible; it fails when it never will be.
func (n *Namespace) barrier(t *tx) error {
	if !t.locked {
		n.mu.Lock()
		defer n.mu.Unlock()
	}
	return n.alive()
}

// update runs a change: all that fn did in t becomes one batch, or nothing if fn fails. It returns
// when the batch and everything fn saw is durable.
func (n *Namespace) update(ctx context.Context, fn func(t *tx) error) error {
	ticket, seq, err := n.apply(ctx, fn)
	if ticket != nil {
		return n.wait(ctx, ticket)
	}
	if waitErr := n.settled(ctx, seq); waitErr != nil {
		return waitErr
	}
	return err
}

// apply is update up to the wait. Without a ticket nothing was changed.
func (n *Namespace) apply(ctx context.Context, fn func(t *tx) error) (kv.Ticket, uint64, error) {
	t := &tx{n: n, ctx: ctx, locked: true, now: n.clock().UTC()}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.alive(); err != nil {
		return nil, 0, err
	}
	if err := fn(t); err != nil {
		return nil, t.touched, err
	}
	ticket, err := n.enqueue(t)
	return ticket, t.touched, err
}

// enqueue sends t's changes to the store and makes them visible. A nil ticket: there were none.
func (n *Namespace) enqueue(t *tx) (kv.Ticket, error) {
	if len(t.changes) == 0 {
		return nil, nil
	}
	first, next := n.logEvents(t)
	b := t.batch()
	if err := kv.Check(b); err != nil {
		return nil, errs.Wrap(err, "namespace", "")
	}
	t.begin()
	ticket, err := n.writer.Enqueue(b)
	if err != nil {
		return nil, n.fail(err)
	}
	t.publish(ticket.Seq())
	n.first, n.next = first, next
	n.unlinked.Add(t.unlinked)
	n.last.Store(&sent{ticket})
	return ticket, nil
}

// logEvents numbers t's events and drops the oldest beyond the bound, two for each new one, so that
// a lowered bound is reached as well.
func (n *Namespace) logEvents(t *tx) (first, next uint64) {
	first, next = n.first, n.next
	for i := range t.events {
		e := &t.events[i]
		e.Seq, e.Time = next, t.now
		t.set(eventKey(next), e, encodeEvent(e))
		next++
		for range 2 {
			if next-first > n.eventsMax {
				t.remove(eventKey(first))
				first++
			}
		}
	}
	if next != n.next {
		t.set(metaKey(metaEvents), mark{}, encodePair(first, next))
	}
	return first, next
}

// takeID hands out a number that was never used before and will not be again, as an id or a
// generation. The caller does not hold mu.
func (n *Namespace) takeID(ctx context.Context) (uint64, error) {
	n.idMu.Lock()
	defer n.idMu.Unlock()
	if n.nextID.Load() == n.reserved.Load() {
		end := n.reserved.Load() + idRange
		if err := n.update(ctx, func(t *tx) error {
			t.set(metaKey(metaIDs), mark{}, encodePair(end, 0))
			return nil
		}); err != nil {
			return 0, err
		}
		n.reserved.Store(end)
	}
	return n.nextID.Add(1) - 1, nil
}

func (n *Namespace) alive() error {
	if e := n.failure.Load(); e != nil {
		return e
	}
	return nil
}

// fail ends the namespace. The returned error has kind Unavailable or Fenced.
func (n *Namespace) fail(cause error) error {
	kind := errs.Unavailable
	if errors.Is(cause, errs.Fenced) {
		kind = errs.Fenced
	}
	e := errs.As(cause, kind, "namespace", "").(*errs.Error).
		WithRemedy("restart the manager; it opens the store again and finds out what was written")
	if n.failure.CompareAndSwap(nil, e) {
		n.log.Error("namespace stopped: the store failed", "cause", cause)
	}
	return n.failure.Load()
}

func (n *Namespace) lastSeq() uint64 {
	if s := n.last.Load(); s != nil {
		return s.ticket.Seq()
	}
	return n.durable.Load()
}

// settled waits until the batch with the number is durable.
func (n *Namespace) settled(ctx context.Context, seq uint64) error {
	if seq <= n.durable.Load() {
		return nil
	}
	return n.wait(ctx, n.last.Load().ticket)
}

func (n *Namespace) wait(ctx context.Context, ticket kv.Ticket) error {
	err := ticket.Wait(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		// Nobody knows whether it will be durable; it stays visible, and later answers wait for it.
		return errs.As(err, errs.Timeout, "namespace", "")
	default:
		return n.fail(err)
	}
	for {
		was := n.durable.Load()
		if ticket.Seq() <= was || n.durable.CompareAndSwap(was, ticket.Seq()) {
			return nil
		}
	}
}

// outside waits for all that someone may have seen who read the store itself.
func (n *Namespace) outside(ctx context.Context) error { return n.settled(ctx, n.lastSeq()) }

func refuse(kind errs.Kind, op, subject, format string, args ...any) error {
	return errs.New(kind, "namespace."+op, subject, fmt.Sprintf(format, args...))
}

func absent(op string, id hemera.FileID) error {
	return refuse(errs.NotFound, op, "fid:"+id.String(), "no entry has this id")
}
