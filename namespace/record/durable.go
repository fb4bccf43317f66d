package record

import (
	"context"
	"log/slog"
	"sync/atomic"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// durability knows how far the store is durable, and whether it still works.
type durability struct {
	durable atomic.Uint64        // sequence number of the newest batch that is known to be durable
	last    atomic.Pointer[sent] // the newest batch that was given to the engine
	failure atomic.Pointer[errs.Error]
	failed  chan struct{} // closed when the engine has failed
	log     *slog.Logger
}

type sent struct{ ticket kv.Ticket }

// alive returns why no call succeeds any more, nil while the store works.
func (d *durability) alive() error {
	if e := d.failure.Load(); e != nil {
		return e
	}
	return nil
}

// fail ends the store. The returned error is Unavailable even if a newer manager fenced this one: what was
// under way may be durable all the same, and a head that took the answer for a refusal would remove the pieces
// of a file that exists.
func (d *durability) fail(cause error) error {
	e := &errs.Error{Kind: errs.Unavailable, Op: "namespace.Update", Cause: cause,
		Remedy: "restart the manager; it opens the store again and finds out what was written"}
	if d.failure.CompareAndSwap(nil, e) {
		d.log.Error("namespace stopped: the store failed", "error", cause)
		close(d.failed)
	}
	return d.failure.Load()
}

// lastSeq returns the sequence number of the newest batch that anybody can see anything of.
func (d *durability) lastSeq() uint64 {
	if s := d.last.Load(); s != nil {
		return s.ticket.Seq()
	}
	return d.durable.Load()
}

// settle waits until the batch with the number is durable.
func (d *durability) settle(ctx context.Context, seq uint64) error {
	if seq <= d.durable.Load() || relaxed(ctx) {
		return nil
	}
	return d.wait(ctx, d.last.Load().ticket)
}

// wait returns when the ticket's batch is durable. A failed wait ends the store: nobody knows what it holds.
func (d *durability) wait(ctx context.Context, ticket kv.Ticket) error {
	err := ticket.Wait(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		// Nobody knows whether it will be durable. It stays visible, and later answers wait for it.
		return errs.As(err, errs.Timeout, "namespace.Wait", "")
	default:
		return d.fail(err)
	}
	for {
		was := d.durable.Load()
		if ticket.Seq() <= was || d.durable.CompareAndSwap(was, ticket.Seq()) {
			return nil
		}
	}
}

type relaxedKey struct{}

// Relaxed makes a context whose calls do not wait for the disk: they return when a change is visible, and a
// power cut may undo it. It exists to measure what that wait costs, and no door gives it to a client. Answers to
// other callers still wait for everything they saw, relaxed changes included.
func Relaxed(ctx context.Context) context.Context { return context.WithValue(ctx, relaxedKey{}, true) }

// strict undoes [Relaxed].
func strict(ctx context.Context) context.Context {
	if !relaxed(ctx) {
		return ctx
	}
	return context.WithValue(ctx, relaxedKey{}, false)
}

func relaxed(ctx context.Context) bool {
	yes, _ := ctx.Value(relaxedKey{}).(bool)
	return yes
}
