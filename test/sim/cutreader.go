package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"hemera/test/sim/register"
	"hemera/test/sim/simnet"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// cutRead reads a file that others may change meanwhile, loses its connections on the way, and goes on at its
// offset with what the manager grants it then. It must find one content that was there when it began, or
// fail for good.
func (c *client) cutRead(ctx context.Context) {
	// Others' directories are renamed, after which the oracle does not know what was at a path before.
	path := fmt.Sprintf("%s/f%d", shared, c.rng.IntN(3))
	start := c.w.oracle.Tick()
	r := hemera.OpenRequest{Path: path, Access: hemera.AccessRead}
	h, err := c.open(ctx, r)
	if err != nil {
		c.saw("cut read %s: %v", path, err)
		return
	}
	defer func() { h.hangUp() }()
	// What it began to read: by this it asks for the same content, whatever has the name by then.
	again := h.grant.Permit.Content()
	var all []byte
	// Each turn is a connection. It ends by itself, or is lost.
	for cuts := 0; ; cuts++ {
		ended, err := h.readOn(ctx, &all, c.rng.IntN(4))
		if ended {
			break
		}
		if err == nil || simnet.Lost(err) || errs.KindOf(err) == errs.NoReplicas {
			h.hangUp()
			simnet.Rest(ctx, time.Duration(c.rng.Int64N(int64(20*time.Second))))
			r.Again = again
			// Then it gets whatever there is, and mixes two contents.
			if c.w.plan.sabotage == MixReaders {
				r.Again = nil
			}
			var next *handle
			if next, err = c.open(ctx, r); err == nil {
				h = next
			}
		}
		if err != nil || cuts > 20 {
			c.saw("cut read %s: fxid %s gen %d, cut %d times at %d bytes: %v", path, again.File.Hex(), again.Gen, cuts+1, len(all), err)
			return
		}
	}
	// Held against all that was there since it began: which one it got was decided then.
	found := register.ContentOf(all)
	c.saw("cut read %s: fxid %s gen %d: %s", path, again.File.Hex(), again.Gen, found)
	if wrong := c.w.oracle.Read(path, start, found); wrong != "" {
		c.w.fail("%s read, cut off: %s", c.name, wrong)
	}
}

// readOn reads some more chunks, and says whether the file ended.
// An error may be the end of the connection: what was read before it counts.
func (h *handle) readOn(ctx context.Context, all *[]byte, chunks int) (ended bool, err error) {
	chunk := 10_000 // no multiple of a page
	if h.grant.Permit.Size > 100_000 {
		chunk = 50_000
	}
	for range chunks {
		p, n := make([]byte, chunk), 0
		err := h.call(ctx, func(_ context.Context, f hemera.File) (err error) {
			n, err = f.ReadPages(p, nil, int64(len(*all)))
			return err
		})
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		*all = append(*all, p[:n]...)
		if err != nil {
			return true, nil
		}
	}
	return false, nil
}
