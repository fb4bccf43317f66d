package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hemera/tape/device"
	"hemera/words/errs"
)

const (
	// callMax bounds a call that moves data or tape. Linux's st driver and CTA wait as long.
	callMax = 15 * time.Minute
	// callMaxLeast is the least bound for devices that are faster than real ones: their host is not.
	callMaxLeast = 30 * time.Second
	// loadShare is the factor by which a load may take longer: a cartridge of LTO-9 is initialised for up to two hours
	// the first time.
	loadShare = 10
	// quietShare is the part of its bound after which people hear of a call.
	quietShare = 5
)

// boundOf returns the bound of calls to devices that are so many times faster than real ones, see [tapeapi.Library].
func boundOf(speed int) time.Duration {
	return max(callMax/time.Duration(max(speed, 1)), callMaxLeast)
}

// calls is the watchdog of a drive, or of a robot: it bounds the calls that wait for the device, and says which one is under way. Calls come one after the other.
type calls struct {
	of    string // the drive or the library
	bound time.Duration
	now   func() time.Time

	mu    sync.Mutex
	what  string // "" while the device has nothing to do
	since time.Time
	limit time.Duration
}

// do makes a call of the ordinary bound.
func (c *calls) do(ctx context.Context, what string, call func(context.Context) error) error {
	return c.within(ctx, what, c.bound, call)
}

// within makes a call. One that fails behind its limit is device.ErrNotReady, and says how long the drive was silent.
func (c *calls) within(ctx context.Context, what string, limit time.Duration, call func(context.Context) error) error {
	begun := c.now()
	c.set(what, begun, limit)
	defer c.set("", time.Time{}, 0)
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := call(bounded)
	silent := c.now().Sub(begun)
	late := bounded.Err() != nil || silent >= limit
	// A drive that says what is wrong with the cartridge has answered, however long it tried.
	if err == nil || ctx.Err() != nil || !late || errors.Is(err, device.ErrMedium) {
		return err
	}
	return errs.As(fmt.Errorf("no answer to %s for %s: %w (%w)", what, silent.Round(time.Second), device.ErrNotReady, err), errs.Unavailable, "tape.Call", c.of)
}

// set notes the call under way.
func (c *calls) set(what string, since time.Time, limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.what, c.since, c.limit = what, since, limit
}

// quiet says which call has had no answer for long, and what follows; "" for none.
func (c *calls) quiet(then string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.what == "" {
		return ""
	}
	silent := c.now().Sub(c.since)
	if silent < c.limit/quietShare {
		return ""
	}
	return fmt.Sprintf("no answer to %s for %s; after %s %s", c.what, silent.Round(time.Second), c.limit, then)
}

// watchedChanger is a changer whose moves a watchdog watches.
type watchedChanger struct {
	device.Changer
	calls *calls
}

// Move implements device.Changer.
func (w watchedChanger) Move(ctx context.Context, from, to int) error {
	return w.calls.do(ctx, "a move of the robot", func(ctx context.Context) error { return w.Changer.Move(ctx, from, to) })
}

// watched is a loaded tape whose calls a watchdog watches. Its features are those of the tape in it, see [device.Feature].
type watched struct {
	in    device.Tape
	calls *calls
}

// Unwrap returns the tape itself.
func (w *watched) Unwrap() device.Tape { return w.in }

// Locate implements device.Positioner.
func (w *watched) Locate(ctx context.Context, object uint64) error {
	return w.calls.do(ctx, "locate", func(ctx context.Context) error { return w.in.Locate(ctx, object) })
}

// Space implements device.Positioner.
func (w *watched) Space(ctx context.Context, n int) error {
	return w.calls.do(ctx, "space", func(ctx context.Context) error { return w.in.Space(ctx, n) })
}

// SpaceToEnd implements device.Positioner.
func (w *watched) SpaceToEnd(ctx context.Context) error {
	return w.calls.do(ctx, "space to the end of data", w.in.SpaceToEnd)
}

// Position implements device.Positioner.
func (w *watched) Position(ctx context.Context) (p device.Position, err error) {
	err = w.calls.do(ctx, "read position", func(ctx context.Context) (err error) {
		p, err = w.in.Position(ctx)
		return err
	})
	return p, err
}

// ReadBlock implements device.Blocks.
func (w *watched) ReadBlock(ctx context.Context, buf []byte) (n int, err error) {
	err = w.calls.do(ctx, "read", func(ctx context.Context) (err error) {
		n, err = w.in.ReadBlock(ctx, buf)
		return err
	})
	return n, err
}

// WriteBlock implements device.Blocks.
func (w *watched) WriteBlock(ctx context.Context, b []byte) error {
	return w.calls.do(ctx, "write", func(ctx context.Context) error { return w.in.WriteBlock(ctx, b) })
}

// WriteMarks implements device.Blocks.
func (w *watched) WriteMarks(ctx context.Context, n int, immediate bool) error {
	return w.calls.do(ctx, "write filemarks", func(ctx context.Context) error { return w.in.WriteMarks(ctx, n, immediate) })
}

// Flush implements device.Blocks.
func (w *watched) Flush(ctx context.Context) error {
	return w.calls.do(ctx, "flush", w.in.Flush)
}
