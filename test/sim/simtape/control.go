package simtape

import (
	"context"
	"sync/atomic"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Control is the manager as one life of a tape server reaches it.
type Control struct {
	// Ask makes a call, over the network or whatever is between them. last: the process ends with it.
	Ask func(ctx context.Context, last bool, call func(context.Context, tapeapi.Control) error) error
	// Saw adds a line to the trace.
	Saw func(format string, args ...any)
	// Void has all failures count as of no use any more: a sabotage.
	Void bool
	Fuse *Fuse
}

var _ tapeapi.Control = (*Control)(nil)

// ask makes a call, and returns what it returned.
func ask[T any](ctx context.Context, c *Control, call func(context.Context, tapeapi.Control) (T, error)) (T, error) {
	// A double may run when the caller has gone on.
	answers := make(chan T, 2)
	var none T
	// The count comes first: the call may be the last, and its answer is lost then.
	err := c.Ask(ctx, c.Fuse.burns(), func(ctx context.Context, m tapeapi.Control) error {
		out, err := call(ctx, m)
		answers <- out
		return err
	})
	if err != nil {
		return none, err
	}
	return <-answers, nil
}

// ReportLibrary implements tapeapi.Control; so do the methods below. It does not count for the fuse: reports come all the time, and
// tell of nothing that is durable.
func (c *Control) ReportLibrary(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, l tapeapi.Library) error {
	return c.Ask(ctx, false, func(ctx context.Context, m tapeapi.Control) error { return m.ReportLibrary(ctx, node, epoch, l) })
}

// NextMount implements tapeapi.Control.
func (c *Control) NextMount(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, drive string) (tapeapi.Mount, error) {
	return ask(ctx, c, func(ctx context.Context, m tapeapi.Control) (tapeapi.Mount, error) {
		return m.NextMount(ctx, node, epoch, drive)
	})
}

// TapeJobs implements tapeapi.Control.
func (c *Control) TapeJobs(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, want tapeapi.JobsRequest) (tapeapi.JobsReply, error) {
	return ask(ctx, c, func(ctx context.Context, m tapeapi.Control) (tapeapi.JobsReply, error) {
		return m.TapeJobs(ctx, node, epoch, want)
	})
}

// TapeGrant implements tapeapi.Control.
func (c *Control) TapeGrant(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, mount tapeapi.MountID, job tapeapi.JobKey) (tapeapi.Grant, error) {
	return ask(ctx, c, func(ctx context.Context, m tapeapi.Control) (tapeapi.Grant, error) {
		return m.TapeGrant(ctx, node, epoch, mount, job)
	})
}

// TapeDone implements tapeapi.Control.
func (c *Control) TapeDone(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, r tapeapi.Results) ([]byte, error) {
	// A failure that counts as void takes its job along: nobody tries again.
	if c.Void {
		failed := make([]tapeapi.Failure, len(r.Failed))
		for i, f := range r.Failed {
			failed[i] = tapeapi.Failure{Job: f.Job, Error: f.Error, Void: true}
		}
		r.Failed = failed
	}
	seen, err := ask(ctx, c, func(ctx context.Context, m tapeapi.Control) ([]byte, error) {
		return m.TapeDone(ctx, node, epoch, r)
	})
	// With the error: a report that was refused is the most interesting one.
	c.Saw("reports of mount %d, tape %s: %d written, failed %+v, done %v: %v", r.Mount, r.VID, len(r.Written), r.Failed, r.Done, err)
	return seen, err
}

// Fuse ends a tape server at one of its calls. It outlives the server; the zero value never burns.
type Fuse struct {
	left  atomic.Int64 // calls; zero: any number
	burnt atomic.Pointer[chan struct{}]
}

// Light has the server end at its n-th call from now. The channel is closed then.
func (f *Fuse) Light(n int64) <-chan struct{} {
	// Before the count: the call that ends the server may be under way already.
	burnt := make(chan struct{})
	f.burnt.Store(&burnt)
	f.left.Store(n)
	return burnt
}

// PutOut ends it.
func (f *Fuse) PutOut() { f.left.Store(0) }

// burns counts a call. It is true for the one at which the server ends.
func (f *Fuse) burns() bool {
	// Calls of several drives meet here.
	for {
		left := f.left.Load()
		if left <= 0 {
			return false
		}
		if f.left.CompareAndSwap(left, left-1) {
			return left == 1
		}
	}
}

// Burnt tells the caller of Light that the server has ended.
func (f *Fuse) Burnt() {
	if burnt := f.burnt.Swap(nil); burnt != nil {
		close(*burnt)
	}
}
