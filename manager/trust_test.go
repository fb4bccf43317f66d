package manager

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// as makes the context of a call by the node, as its certificate says.
func (r *rig) as(node hemera.NodeID) context.Context { return hemera.WithCaller(r.t.Context(), node) }

func TestOnlyItsHeadEndsAWrite(t *testing.T) {
	r := newRig(t, 3, 1)
	g := r.mustOpen("/f", hemera.AccessCreate, func(o *hemera.OpenRequest) { o.Size = 5 })
	head := g.Permit.Head
	if head == 0 || head != g.Permit.Targets[0].Node {
		t.Fatalf("the head is node %d of %v", head, g.Permit.Targets)
	}
	request := r.seal(g, 5)
	for _, n := range r.nodes {
		if n.id == head {
			continue
		}
		_, err := r.m.Control.Commit(r.as(n.id), request)
		wantKind(t, err, errs.Denied)
		wantKind(t, r.m.Control.Abort(r.as(n.id), shown(g)), errs.Denied)
		_, err = r.m.Control.Replace(r.as(n.id), shown(g), []hemera.DiskID{g.Permit.Targets[0].Disk})
		wantKind(t, err, errs.Denied)
	}
	if r.m.Writes.pending.size() != 1 {
		t.Error("the lock is gone")
	}
	// Its own piece goes to another node's disk. It is the head all the same.
	moved, err := r.m.Control.Replace(r.as(head), shown(g), []hemera.DiskID{g.Permit.Targets[0].Disk})
	if err != nil {
		t.Fatal(err)
	}
	if to := moved.Permit.Targets[0].Node; to == head || moved.Permit.Head != head {
		t.Fatalf("the piece went to node %d, the head is node %d", to, moved.Permit.Head)
	}
	request = r.seal(moved, 5)
	_, err = r.m.Control.Commit(r.as(moved.Permit.Targets[0].Node), request)
	wantKind(t, err, errs.Denied)
	if _, err := r.m.Control.Commit(r.as(head), request); err != nil {
		t.Error(err)
	}
}

func TestAHeadWithoutALeaseRegistersFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		g := r.mustOpen("/f", hemera.AccessCreate)
		request := r.seal(g, 5)
		r.restart()
		_, err := r.m.Control.Commit(r.as(g.Permit.Head), request)
		wantKind(t, err, errs.Unavailable) // so it asks again
		if !errs.Undecided(err) {
			t.Errorf("%v ends the write", err)
		}
		for _, n := range r.nodes {
			n.register()
		}
		time.Sleep(2 * hemera.HeartbeatTimeout)
		if err := r.m.Cluster.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err = r.m.Control.Commit(r.as(g.Permit.Head), request)
		wantKind(t, err, errs.Unavailable)
		r.node(g.Permit.Head).register()
		r.node(3 - g.Permit.Head).register()
		if _, err := r.m.Control.Commit(r.as(g.Permit.Head), request); err != nil {
			t.Error(err)
		}
	})
}

func TestARemovedHeadCommitsNothing(t *testing.T) {
	r := newRig(t, 2, 1)
	w, err := r.m.Control.Register(t.Context(), hemera.NodeHello{Addr: "empty:1095"})
	if err != nil {
		t.Fatal(err)
	}
	gone := w.ID
	g := r.mustOpen("/f", hemera.AccessCreate)
	c := g.Permit.Capability
	c.Head = gone
	token, err := r.m.Cluster.Keys.Ring().Mint(c)
	if err != nil {
		t.Fatal(err)
	}
	request := r.seal(g, 5)
	request.Permit = hemera.ParsePermit(token)
	if err := r.m.Cluster.Admin.RemoveNode(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	_, err = r.m.Control.Commit(r.as(gone), request)
	wantKind(t, err, errs.NotFound)
	wantKind(t, r.m.Control.Abort(r.as(gone), request.Permit), errs.NotFound)
	_, err = r.m.Control.Replace(r.as(gone), request.Permit, []hemera.DiskID{c.Targets[0].Disk})
	wantKind(t, err, errs.NotFound)
	_, _, err = r.m.Control.Resolve(r.as(gone), g.Permit.File)
	wantKind(t, err, errs.NotFound)
}

func TestANodeLearnsOfItsFilesOnly(t *testing.T) {
	r := newRig(t, 3, 1)
	e := r.write("/f", 5)
	for _, n := range r.nodes {
		has := slices.ContainsFunc(e.Pieces, func(p hemera.Piece) bool { return n.disks[0].ID == p.Disk })
		_, path, err := r.m.Control.Resolve(r.as(n.id), e.ID)
		if has && (err != nil || path != "/f") {
			t.Errorf("node %d has a piece: %q, %v", n.id, path, err)
		}
		if !has {
			wantKind(t, err, errs.Denied)
		}
	}
	// A node that gets a piece of a new content may see the file too.
	without := func(o *hemera.OpenRequest) {
		for _, n := range r.nodes {
			if slices.ContainsFunc(e.Pieces, func(p hemera.Piece) bool { return n.disks[0].ID == p.Disk }) {
				o.Tried = append(o.Tried, n.id)
			}
		}
	}
	g := r.mustOpen("/f", hemera.AccessCreate, without)
	if _, _, err := r.m.Control.Resolve(r.as(g.Permit.Head), e.ID); err != nil {
		t.Errorf("the head of a new content, node %d of %v: %v", g.Permit.Head, e.Pieces, err)
	}
	if _, _, err := r.m.Control.Resolve(t.Context(), e.ID); err != nil {
		t.Errorf("the manager itself: %v", err)
	}
}
