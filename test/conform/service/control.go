package service

import (
	"context"
	"errors"
	"testing"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// ControlOptions describe an implementation of hemera.Control, as one node reaches it.
// Calls of the suite come from one node only.
type ControlOptions struct {
	Control hemera.Control
	// Node is the id that the node has; 0 if it gets one with its first registration.
	Node hemera.NodeID
	// Context is for calls of that node.
	Context func(t *testing.T) context.Context
}

// Control checks an implementation of hemera.Control. start returns one, with a node that has not registered and has no
// disks.
// Each part has a manager of its own, so their order does not matter.
func Control(t *testing.T, start func(t *testing.T) ControlOptions) {
	t.Run("Leases", func(t *testing.T) { leases(t, start(t)) })
	t.Run("Orders", func(t *testing.T) { orders(t, start(t)) })
	t.Run("Permits", func(t *testing.T) { permits(t, start(t)) })
	t.Run("Resolve", func(t *testing.T) { // an id far above any that was given out
		o := start(t)
		register(t, o)
		_, _, err := o.Control.Resolve(o.Context(t), 1<<62)
		wantKind(t, "of an id that no file has", err, errs.NotFound)
	})
}

// register joins the node. The address is one that nothing listens on: the suite needs no calls back.
func register(t *testing.T, o ControlOptions) hemera.NodeWelcome {
	t.Helper()
	w, err := o.Control.Register(o.Context(t), hemera.NodeHello{ID: o.Node, Addr: "127.0.0.1:9", Version: "suite"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// leases: an epoch is good until the next registration, and epochs only grow.
// A node that restarts must not be mistaken for its earlier life, whose messages may still arrive.
func leases(t *testing.T, o ControlOptions) {
	first := register(t, o)
	if first.ID == 0 || first.Epoch == 0 || o.Node != 0 && first.ID != o.Node || len(first.Keys) == 0 {
		t.Fatalf("%+v", first)
	}
	// A reply to a heartbeat brings the keys, so that a node learns of a rotation within one interval.
	reply, err := o.Control.Heartbeat(o.Context(t), first.ID, first.Epoch, hemera.NodeReport{Clock: time.Now()})
	if err != nil || len(reply.Keys) == 0 {
		t.Errorf("a heartbeat: %+v, %v", reply, err)
	}
	_, err = o.Control.Heartbeat(o.Context(t), first.ID, first.Epoch+1, hemera.NodeReport{}) // not yet given out
	wantKind(t, "a heartbeat of an epoch that is not", err, errs.Fenced)
	o.Node = first.ID // from now on it registers under its id
	second := register(t, o)
	// The id is for life, the epoch for one registration.
	if second.ID != first.ID || second.Epoch <= first.Epoch {
		t.Errorf("first %d in %d, then %d in %d", first.ID, first.Epoch, second.ID, second.Epoch)
	}
	_, err = o.Control.Heartbeat(o.Context(t), first.ID, first.Epoch, hemera.NodeReport{})
	wantKind(t, "a heartbeat of the epoch before", err, errs.Fenced)
	if _, err := o.Control.Heartbeat(o.Context(t), second.ID, second.Epoch, hemera.NodeReport{}); err != nil {
		t.Errorf("a heartbeat of this epoch: %v", err)
	}
}

// orders: an Exchange without a lease is Fenced, and one that finds nothing returns nothing.
// An Exchange waits for orders; a deadline ends that with nothing, and is not an error of the call.
func orders(t *testing.T, o ControlOptions) {
	w := register(t, o)
	_, err := o.Control.Exchange(o.Context(t), w.ID, w.Epoch+1, nil) // another epoch than that of the lease
	wantKind(t, "an exchange without a lease", err, errs.Fenced)
	ctx, cancel := context.WithTimeout(o.Context(t), 100*time.Millisecond)
	defer cancel()
	reply, err := o.Control.Exchange(ctx, w.ID, w.Epoch, []hemera.OrderResult{{ID: 1 << 60}}) // of an order that is not known
	// Over a network the manager may see the deadline pass before the caller does.
	if len(reply.Orders) != 0 || err != nil && !errors.Is(err, errs.Timeout) && ctx.Err() == nil {
		t.Errorf("%+v, %v", reply, err)
	}
}

// permits: nobody commits, aborts or replaces by a token that the manager has not signed.
// The third looks verified to the process that made it; another process must look at its token again.
func permits(t *testing.T, o ControlOptions) {
	w := register(t, o)
	for what, p := range map[string]*hemera.Permit{
		"an empty token": hemera.ParsePermit(""), "a made-up token": hemera.ParsePermit("made-up"),
		"a claim": hemera.VerifiedPermit(hemera.Capability{
			File: 7, Gen: 1, Path: "/f", Name: "f", Access: hemera.AccessCreate, Head: w.ID, Expires: time.Now().Add(time.Hour),
		}, "made-up"),
	} {
		ctx := o.Context(t)
		// Invalid for what is no token, Denied for one without a good signature.
		refused := func(call string, err error) {
			t.Helper()
			if kind := errs.KindOf(err); err == nil || kind != errs.Invalid && kind != errs.Denied {
				t.Errorf("%s by %s: %v", call, what, err)
			}
		}
		_, err := o.Control.Commit(ctx, hemera.CommitRequest{Permit: p})
		refused("a commit", err)
		refused("an abort", o.Control.Abort(ctx, p))
		_, err = o.Control.Replace(ctx, p, []hemera.DiskID{1})
		refused("a replacement", err)
	}
}
