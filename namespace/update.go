package namespace

import (
	"context"
	"errors"
	"fmt"

	"hemera"
	"hemera/errs"
	"hemera/kv"
)

// view runs a reader. What fn returns is only the answer once view returned nil or fn's error:
// both are given when everything they rest on is durable.
func (n *Namespace) view(ctx context.Context, fn func(t *tx) error) error {
	t := &tx{n: n, ctx: ctx}
	n.mu.RLock()
	err := n.alive()
	if err == nil {
		err = fn(t)
	}
	n.mu.RUnlock()
	if waitErr := n.settled(ctx, t.touched); waitErr != nil {
		return waitErr
	}
	return err
}

// update runs a change: all that fn did in t becomes one batch, or nothing if fn fails. It returns
// when the batch and everything fn saw is durable.
func (n *Namespace) update(ctx context.Context, fn func(t *tx) error) error {
	t := &tx{n: n, ctx: ctx, now: n.clock().UTC()}
	n.mu.Lock()
	err := n.alive()
	if err == nil {
		err = fn(t)
	}
	if err != nil {
		n.mu.Unlock()
		if waitErr := n.settled(ctx, t.touched); waitErr != nil {
			return waitErr
		}
		return err
	}
	ticket, err := n.enqueue(t)
	n.mu.Unlock()
	if err != nil || ticket == nil {
		return errors.Join(err, n.settled(ctx, t.touched))
	}
	return n.wait(ctx, ticket)
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
	ticket, err := n.writer.Enqueue(b)
	if err != nil {
		return nil, n.fail(err)
	}
	t.publish(ticket.Seq())
	n.first, n.next = first, next
	n.unlinked.Add(t.unlinked)
	n.last.Store(&sent{ticket})
	if _, ok := t.changes[string(metaKey(metaIDs))]; ok {
		n.reserved += idRange
		n.reservedSeq = ticket.Seq()
	}
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
// generation. The caller holds mu exclusively; the number may be told once t's touched is durable.
func (n *Namespace) takeID(t *tx) (uint64, error) {
	if n.nextID >= n.reserved {
		if n.nextID > n.reserved {
			return 0, errs.New(errs.Internal, "namespace", "", "an id beyond the reserved range")
		}
		r := &tx{n: n, ctx: t.ctx, now: t.now}
		if err := n.reserve(r); err != nil {
			return 0, err
		}
		if _, err := n.enqueue(r); err != nil {
			return 0, err
		}
	}
	t.touched = max(t.touched, n.reservedSeq)
	id := n.nextID
	n.nextID++
	return id, nil
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

// outside is the number of the newest batch that someone may have seen who read the store itself.
func (n *Namespace) outside(ctx context.Context) error { return n.settled(ctx, n.lastSeq()) }

func refuse(kind errs.Kind, op, subject, format string, args ...any) error {
	return errs.New(kind, "namespace."+op, subject, fmt.Sprintf(format, args...))
}

func absent(op string, id hemera.FileID) error {
	return refuse(errs.NotFound, op, "fid:"+id.String(), "no entry has this id")
}
