package namespace

import (
	"context"
	"fmt"

	"hemera"
	"hemera/errs"
	"hemera/platform/kv"
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
		if was%2 != 0 { // wait for the end of it, which is near
			n.showing.RLock()
			was = n.version.Load()
			n.showing.RUnlock()
		}
		t := n.readers.Get().(*tx)
		*t = tx{n: n, ctx: ctx, key: t.key}
		err := fn(t)
		seq := t.touched
		*t = tx{key: t.key}
		n.readers.Put(t)
		if n.version.Load() == was {
			return seq, err
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
	r := &request{ctx: ctx, fn: fn}
	n.apply(r)
	waitErr := n.settled(ctx, r.touched)
	if r.ticket != nil && !relaxed(ctx) {
		waitErr = n.wait(ctx, r.ticket)
	}
	if waitErr != nil {
		return waitErr
	}
	return r.err
}

// apply is update up to the wait.
func (n *Namespace) apply(r *request) {
	r.done.Add(1)
	n.queueMu.Lock()
	n.queue = append(n.queue, r)
	lead := !n.leading
	n.leading = true
	n.queueMu.Unlock()
	if lead {
		n.lead() // the group has r
		return
	}
	n.await(r)
}

// await returns when the change was made and sent, or failed, by whoever leads: perhaps by this goroutine.
func (n *Namespace) await(r *request) {
	if r.done.Wait(); r.lead {
		r.done.Add(1)
		n.lead() // the group has r
	}
}

func (n *Namespace) alive() error {
	if e := n.failure.Load(); e != nil {
		return e
	}
	return nil
}

// fail ends the namespace. The returned error is Unavailable even if a newer manager fenced this one:
// what was under way may be durable all the same, and a head that took the answer for a no would
// remove the pieces of a file that is there.
func (n *Namespace) fail(cause error) error {
	e := &errs.Error{Kind: errs.Unavailable, Op: "namespace", Cause: cause,
		Remedy: "restart the manager; it opens the store again and finds out what was written"}
	if n.failure.CompareAndSwap(nil, e) {
		n.log.Error("namespace stopped: the store failed", "cause", cause)
		close(n.failed)
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
	if seq <= n.durable.Load() || relaxed(ctx) {
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

// outside waits for all that someone may have seen who read the store itself: that the cache has it,
// or readers of the cache who come later would see less than this one, and that it is durable.
func (n *Namespace) outside(ctx context.Context) error {
	if n.sending.Load() {
		n.mu.Lock()
		n.mu.Unlock() //nolint:staticcheck // it only waits for its turn
	}
	return n.settled(ctx, n.lastSeq())
}

func refuse(kind errs.Kind, op, subject, format string, args ...any) *errs.Error {
	return errs.New(kind, "namespace."+op, subject, fmt.Sprintf(format, args...))
}

func absent(op string, id hemera.FileID) error {
	return refuse(errs.NotFound, op, "fid:"+id.String(), "no entry has this id")
}
