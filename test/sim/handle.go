package sim

import (
	"context"
	"errors"
	"io"
	"time"

	"hemera/test/sim/simnet"
	"hemera/words/hemera"
)

// tries is the number of times that a client comes back to a node that it lost.
const tries = 4

// handle is a client's open file. A call whose answer is lost ends the connection; the client comes
// back with the same capability and goes on.
// One goroutine uses it, its client's.
type handle struct {
	client *client      // whose dice and host it uses
	grant  hemera.Grant // from the manager; good at one node
	begun  bool         // it was open once: opened again, it goes on
	file   hemera.File  // nil while there is no connection
	life   *process     // of the node that has it
	left   leftover     // what the write leaves without a close
}

// open opens the handle's file at its node, with the grant it has.
func (h *handle) open(ctx context.Context) error {
	m := h.client.w.machine(h.grant.Addr)
	// A second open must not cut off what the first one wrote.
	f, life, err := m.open(ctx, h.client.host, tokenOf(&h.grant), hemera.NodeOpen{
		Truncate: h.grant.Permit.Access == hemera.AccessCreate && !h.begun,
	})
	if err != nil {
		return err
	}
	h.file, h.life, h.begun = f, life, true
	return nil
}

// hangUp ends the connection as the node sees it. A dead node sees nothing: it has lost its handles with its memory.
func (h *handle) hangUp() {
	if h.file == nil || !h.life.enter() {
		return
	}
	defer h.life.leave()
	_ = h.file.End(context.Background(), hemera.EndDetach)
	h.file = nil
}

// call makes one call on the open file.
func (h *handle) call(ctx context.Context, do func(context.Context, hemera.File) error) error {
	if h.file == nil {
		return simnet.ErrLost
	}
	c, f := h.client, h.file
	_, err := simnet.Send(ctx, c.w.net, c.host, c.w.machine(h.grant.Addr).host, false, func(ctx context.Context) (struct{}, error) {
		return into(ctx, h.life, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx, f) })
	})
	// The node learns of the end too, and keeps the write for a while for the client to come back.
	if errors.Is(err, simnet.ErrLost) {
		h.hangUp()
	}
	return err
}

// again makes an idempotent call, coming back when it was lost.
// do must be idempotent: a lost answer has it made twice. An answer, also an error, ends the attempts.
func (h *handle) again(ctx context.Context, do func(context.Context, hemera.File) error) (err error) {
	for range tries {
		// Lost at the open as well: the node is away, and comes back perhaps.
		if h.file == nil {
			if err = h.open(ctx); err != nil && !simnet.Lost(err) {
				return err
			}
		}
		if h.file != nil {
			// A call that failed with the handle still open was answered: the error is real.
			if err = h.call(ctx, do); err == nil || h.file != nil {
				return err
			}
		}
		simnet.Rest(ctx, time.Second)
	}
	return err
}

// readAll reads the whole file in requests of one size.
func (h *handle) readAll(ctx context.Context) ([]byte, error) {
	chunk := 10_000 // no multiple of a page
	if h.grant.Permit.Size > 100_000 {
		chunk = 90_000
	}
	var all []byte
	for {
		p, n := make([]byte, chunk), 0
		err := h.again(ctx, func(_ context.Context, f hemera.File) (err error) {
			n, err = f.ReadPages(p, nil, int64(len(all)))
			return err
		})
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		all = append(all, p[:n]...)
		if err != nil {
			return all, nil
		}
	}
}

// writeAll writes p from an offset on, in requests of one size, with a sync now and then.
func (h *handle) writeAll(ctx context.Context, p []byte, off int) error {
	chunk := 30_000
	if len(p) > 100_000 {
		chunk = 100_000
	}
	for at := off; at < len(p); at += chunk {
		end := min(at+chunk, len(p))
		part := p[at:end]
		h.left.becomes(h, func() []byte { return h.left.after(p, end) })
		if err := h.again(ctx, func(_ context.Context, f hemera.File) error { return f.WritePages(part, nil, int64(at)) }); err != nil {
			return err
		}
		if h.client.rng.IntN(8) == 0 {
			h.left.sync(h, h.left.after(p, end))
			if err := h.again(ctx, func(ctx context.Context, f hemera.File) error { return f.Sync(ctx) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// close ends the write. doubt: with an error, it may all the same have happened or happen later.
//
// A close is not idempotent to its caller, but to the manager: the second of one capability returns the first's result.
func (h *handle) close(ctx context.Context) (doubt bool, err error) {
	for range tries {
		if h.file == nil {
			if err = h.open(ctx); err != nil && !simnet.Lost(err) {
				return doubt, err
			}
		}
		if h.file != nil {
			err = h.call(ctx, func(ctx context.Context, f hemera.File) error { return f.End(ctx, hemera.EndClose) })
			if err == nil {
				return false, nil
			}
			if !simnet.Lost(err) {
				return doubt, err
			}
			// From here on no answer takes the doubt away but a success.
			doubt = true
			h.file = nil // End ends the handle whatever it answers
		}
		// Some clients do not come back to ask.
		if h.client.rng.IntN(4) == 0 {
			break
		}
		simnet.Rest(ctx, 3*time.Second)
	}
	return doubt, err
}

// giveUp aborts the write, or just goes away.
// Both must leave no content behind. The first does so at once, the second when the node forgets the write.
func (h *handle) giveUp(ctx context.Context) {
	if h.client.rng.IntN(2) == 0 {
		_ = h.call(ctx, func(ctx context.Context, f hemera.File) error {
			return f.End(ctx, hemera.EndAbort)
		})
	}
	h.hangUp()
}
