package manager

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// deferred opens a file, and expects that it can be opened soon.
func (r *rig) deferred(path string, access hemera.Access) *hemera.NotYet {
	r.t.Helper()
	_, err := r.open(path, access)
	later, ok := errors.AsType[*hemera.NotYet](err)
	if !ok || !errors.Is(err, errs.Unavailable) {
		r.t.Fatalf("%s: %v", path, err)
	}
	return later
}

// waiting waits for what an open lacks. The channel gets the time when there is a reason to ask again.
func (r *rig) waiting(later *hemera.NotYet) <-chan time.Time {
	done := make(chan time.Time, 1)
	go func() {
		if err := later.Await(r.t.Context()); err != nil {
			r.t.Error(err)
		}
		done <- time.Now()
	}()
	synctest.Wait()
	return done
}

// came reports whether a wait has ended.
func came(done <-chan time.Time) bool {
	synctest.Wait()
	return len(done) > 0
}

// TestReadsAwaitTheirPieces: an open for reading is worth another try when a node of its pieces is back, and not when others are.
func TestReadsAwaitTheirPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		e := r.write("/f", 10)
		r.restart()
		read := r.waiting(r.deferred("/f", hemera.AccessRead))
		missing := r.waiting(r.deferred("/nothing", hemera.AccessRead)) // it may be there, if the store is an old copy
		update := r.waiting(r.deferred("/f", hemera.AccessUpdate))
		var has, hasNot []*fakeNode
		for _, n := range r.nodes {
			if r.holds(n, e) {
				has = append(has, n)
			} else {
				hasNot = append(hasNot, n)
			}
		}
		if len(has) != 2 || len(hasNot) != 1 {
			t.Fatalf("%d nodes have a piece", len(has))
		}
		hasNot[0].register()
		if came(read) || !came(missing) || !came(update) {
			t.Errorf("with another node: read %t, missing %t, update %t", came(read), came(missing), came(update))
		}
		_, err := r.open("/nothing", hemera.AccessRead)
		wantKind(t, err, errs.NotFound)
		has[0].register()
		if !came(read) {
			t.Error("the node is back")
		}
		r.mustOpen("/f", hemera.AccessRead)
	})
}

// holds reports whether a node has a piece of a file.
func (r *rig) holds(n *fakeNode, e hemera.Entry) bool {
	for _, p := range e.Pieces {
		for _, d := range r.m.Cluster.View().Disks {
			if d.ID == p.Disk && d.Node == n.id {
				return true
			}
		}
	}
	return false
}

// TestNewFilesAwaitAllDisks: right after a start a new file waits for as many disks as its layout has pieces, and not for long.
func TestNewFilesAwaitAllDisks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		r.restart()
		first := r.waiting(r.deferred("/new", hemera.AccessCreate)) // for a node, which shows that the store is current
		r.nodes[0].register()
		if !came(first) {
			t.Error("the store is known to be current")
		}
		second := r.waiting(r.deferred("/new", hemera.AccessCreate))
		if came(second) {
			t.Error("one disk is enough")
		}
		r.nodes[1].register()
		if !came(second) {
			t.Error("all disks that a file takes are there")
		}
		if g := r.mustOpen("/new", hemera.AccessCreate); len(g.Permit.Targets) != 2 {
			t.Errorf("%d pieces", len(g.Permit.Targets))
		}

		r.restart()
		r.nodes[0].register()
		began := time.Now()
		done := r.waiting(r.deferred("/new", hemera.AccessCreate))
		if at := <-done; at.Sub(began) != gatherTime {
			t.Errorf("with one node: after %s", at.Sub(began))
		}
		if g := r.mustOpen("/new", hemera.AccessCreate); len(g.Permit.Targets) != 1 {
			t.Errorf("%d pieces", len(g.Permit.Targets))
		}
	})
}

// TestNoWaitWhenAllNodesAreBack: a layout with more pieces than there are disks does not wait once all nodes are back, nor does a file that no node
// can take.
func TestNoWaitWhenAllNodesAreBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, 1)
		r.restart()
		large := func(o *hemera.OpenRequest) { o.Size = 1 << 50 }
		done := r.waiting(r.deferred("/new", hemera.AccessCreate))
		r.nodes[0].register()
		if !came(done) {
			t.Error("the store is known to be current")
		}
		r.mustOpen("/new", hemera.AccessCreate)
		_, err := r.open("/large", hemera.AccessCreate, large)
		wantKind(t, err, errs.NoSpace)
	})
}

// TestAwaitEndsWithItsCaller: a door that does not wait any more is not kept.
func TestAwaitEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, 1)
		r.write("/f", 10)
		r.restart()
		for _, later := range []*hemera.NotYet{r.deferred("/f", hemera.AccessRead), r.deferred("/new", hemera.AccessCreate)} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			if err := later.Await(ctx); !errors.Is(err, errs.Timeout) || time.Since(began) != time.Second {
				t.Errorf("%v after %s", err, time.Since(began))
			}
			cancel()
		}
	})
}
