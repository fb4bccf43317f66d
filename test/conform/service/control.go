package service

import (
	"context"
	"testing"
	"time"

	"hemera"
	"hemera/errs"
)

// ControlOptions describe an implementation of hemera.Control, as one node reaches it.
type ControlOptions struct {
	Control hemera.Control
	// Node is the id that the node has; 0 if it gets one with its first registration.
	Node hemera.NodeID
	// Context is for calls of that node.
	Context func(t *testing.T) context.Context
}

// Control checks an implementation of hemera.Control. start returns one, with a node that has not registered and has no
// disks.
func Control(t *testing.T, start func(t *testing.T) ControlOptions) {
	// Each test starts a new implementation: leases and orders of one test must not show in the next.
	t.Run("Leases", func(t *testing.T) { leases(t, start(t)) })
	t.Run("Orders", func(t *testing.T) { orders(t, start(t)) })
	t.Run("Permits", func(t *testing.T) { permits(t, start(t)) })
	t.Run("Resolve", func(t *testing.T) {
		o := start(t)
		register(t, o)
		_, _, err := o.Control.Resolve(o.Context(t), 1<<62)
		wantKind(t, "of an id that no file has", err, errs.NotFound)
	})
}

// register begins a lease for the node. It has no disks, so nothing is placed on it.
func register(t *testing.T, o ControlOptions) hemera.NodeWelcome {
	t.Helper()
	w, err := o.Control.Register(o.Context(t), hemera.NodeHello{ID: o.Node, Addr: "127.0.0.1:9", Version: "suite"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// leases: an epoch is good until the next registration, and epochs only grow.
func leases(t *testing.T, o ControlOptions) {
	first := register(t, o)
	// Zero stands for "none" in records and calls, so no node and no lease may have it. Without a key the node could
	// verify nothing.
	if first.ID == 0 || first.Epoch == 0 || o.Node != 0 && first.ID != o.Node || len(first.Keys) == 0 {
		t.Fatalf("%+v", first)
	}
	// Each heartbeat has the keys: a node that missed a rotation has them with the next.
	reply, err := o.Control.Heartbeat(o.Context(t), first.ID, first.Epoch, hemera.NodeReport{Clock: time.Now()})
	if err != nil || len(reply.Keys) == 0 {
		t.Errorf("a heartbeat: %+v, %v", reply, err)
	}
	// An epoch that was never given out: a node must not take a lease by guessing.
	_, err = o.Control.Heartbeat(o.Context(t), first.ID, first.Epoch+1, hemera.NodeReport{})
	wantKind(t, "a heartbeat of an epoch that is not", err, errs.Fenced)
	// From here on as a node that was restarted: it knows its id and begins a new lease.
	o.Node = first.ID
	second := register(t, o)
	if second.ID != first.ID || second.Epoch <= first.Epoch {
		t.Errorf("first %d in %d, then %d in %d", first.ID, first.Epoch, second.ID, second.Epoch)
	}
	// The process before the restart may still be there, for a moment. It must not renew the lease of the new one.
	_, err = o.Control.Heartbeat(o.Context(t), first.ID, first.Epoch, hemera.NodeReport{})
	wantKind(t, "a heartbeat of the epoch before", err, errs.Fenced)
	if _, err := o.Control.Heartbeat(o.Context(t), second.ID, second.Epoch, hemera.NodeReport{}); err != nil {
		t.Errorf("a heartbeat of this epoch: %v", err)
	}
}

// orders: an Exchange without a lease is Fenced, and one that finds nothing returns nothing.
func orders(t *testing.T, o ControlOptions) {
	w := register(t, o)
	_, err := o.Control.Exchange(o.Context(t), w.ID, w.Epoch+1, nil)
	wantKind(t, "an exchange without a lease", err, errs.Fenced)
	// A manager may wait for orders longer than this; then the context ends the call, which is no failure.
	ctx, cancel := context.WithTimeout(o.Context(t), 100*time.Millisecond)
	defer cancel()
	list, err := o.Control.Exchange(ctx, w.ID, w.Epoch, []hemera.OrderResult{{ID: 1 << 60}}) // of an order that is not known
	if len(list) != 0 || err != nil && ctx.Err() == nil {
		t.Errorf("%+v, %v", list, err)
	}
}

// permits: nobody commits, aborts or replaces by a token that the manager has not signed.
func permits(t *testing.T, o ControlOptions) {
	w := register(t, o)
	// Of three kinds: no token at all, one that is not a token, and a capability that the caller says was verified.
	for what, p := range map[string]*hemera.Permit{
		"an empty token": hemera.ParsePermit(""), "a made-up token": hemera.ParsePermit("made-up"),
		"a claim": hemera.VerifiedPermit(hemera.Capability{
			File: 7, Gen: 1, Path: "/f", Name: "f", Access: hemera.AccessCreate, Head: w.ID, Expires: time.Now().Add(time.Hour),
		}, "made-up"),
	} {
		ctx := o.Context(t)
		refused := func(call string, err error) {
			t.Helper()
			// Which of the two is the implementation's choice: a token that cannot be read may be either.
			if kind := errs.KindOf(err); err == nil || kind != errs.Invalid && kind != errs.Denied {
				t.Errorf("%s by %s: %v", call, what, err)
			}
		}
		refused("a commit", o.Control.Commit(ctx, hemera.CommitRequest{Permit: p}))
		refused("an abort", o.Control.Abort(ctx, p))
		// Disk 1 may exist. The permit is judged first.
		_, err := o.Control.Replace(ctx, p, []hemera.DiskID{1})
		refused("a replacement", err)
	}
}
