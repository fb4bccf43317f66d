package sim

import (
	"context"
	"errors"
	"io"
	"time"

	"hemera"
)

// tries is how often a client comes back to a node that it lost.
const tries = 4

// handle is a client's open file. A call whose answer is lost ends the connection; the client comes
// back with the same capability and goes on.
type handle struct {
	client *client
	grant  hemera.Grant
	begun  bool // it was open once: opened again, it goes on
	file   hemera.File
	life   *process // of the node that has it
}

// open opens the handle's file, at the manager and then at its node.
func (h *handle) open(ctx context.Context) error {
	m := h.client.w.machine(h.grant.Addr)
	f, life, err := m.open(ctx, h.client.host, tokenOf(&h.grant), hemera.NodeOpen{
		Truncate: h.grant.Permit.Access == hemera.AccessCreate && !h.begun,
	})
	if err != nil {
		return err
	}
	h.file, h.life, h.begun = f, life, true
	return nil
}

// hangUp is the end of the connection as the node sees it.
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
		return errLost
	}
	c, f := h.client, h.file
	_, err := send(ctx, c.w.net, c.host, c.w.machine(h.grant.Addr).host, false, func(ctx context.Context) (struct{}, error) {
		return into(ctx, h.life, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx, f) })
	})
	if errors.Is(err, errLost) {
		h.hangUp()
	}
	return err
}

// again makes an idempotent call, coming back when it was lost.
func (h *handle) again(ctx context.Context, do func(context.Context, hemera.File) error) (err error) {
	for range tries {
		if h.file == nil {
			if err = h.open(ctx); err != nil && !lost(err) {
				return err
			}
		}
		if h.file != nil {
			if err = h.call(ctx, do); err == nil || h.file != nil {
				return err
			}
		}
		rest(ctx, time.Second)
	}
	return err
}

// readAll reads the whole file in requests of random sizes.
func (h *handle) readAll(ctx context.Context) ([]byte, error) {
	const chunk = 10_000 // no multiple of a page
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

// writeAll writes p at an offset in requests of random sizes.
func (h *handle) writeAll(ctx context.Context, p []byte, off int) error {
	const chunk = 30_000
	for at := off; at < len(p); at += chunk {
		part := p[at:min(at+chunk, len(p))]
		if err := h.again(ctx, func(_ context.Context, f hemera.File) error { return f.WritePages(part, nil, int64(at)) }); err != nil {
			return err
		}
		if h.client.rng.IntN(8) == 0 {
			if err := h.again(ctx, func(ctx context.Context, f hemera.File) error { return f.Sync(ctx) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// close ends the write. doubt: with an error, it may all the same have happened or happen later.
func (h *handle) close(ctx context.Context) (doubt bool, err error) {
	for range tries {
		if h.file == nil {
			if err = h.open(ctx); err != nil && !lost(err) {
				return doubt, err
			}
		}
		if h.file != nil {
			err = h.call(ctx, func(ctx context.Context, f hemera.File) error { return f.End(ctx, hemera.EndClose) })
			if err == nil {
				return false, nil
			}
			if !lost(err) {
				return doubt, err
			}
			doubt = true
			h.file = nil // End ends the handle whatever it answers
		}
		if h.client.rng.IntN(4) == 0 {
			break
		}
		rest(ctx, 3*time.Second)
	}
	return doubt, err
}

// giveUp aborts the write, or just goes away.
func (h *handle) giveUp(ctx context.Context) {
	if h.client.rng.IntN(2) == 0 {
		_ = h.call(ctx, func(ctx context.Context, f hemera.File) error {
			return f.End(ctx, hemera.EndAbort)
		})
	}
	h.hangUp()
}
