package manager

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestNothingIsCommittedToARemovedDisk removes an empty disk while a file is written to it.
func TestNothingIsCommittedToARemovedDisk(t *testing.T) {
	r := newRig(t, 3, 1)
	g := r.mustOpen("/f", hemera.AccessCreate)
	req := r.seal(g, 10)
	gone := g.Permit.Targets[0].Disk
	if err := r.m.Admin.RemoveDisk(t.Context(), gone, adminapi.Removal{}); err != nil {
		t.Fatal(err)
	}
	_, err := r.m.Control.Commit(t.Context(), req)
	wantKind(t, err, errs.Conflict)
	_, err = r.m.Names.Stat(t.Context(), alice, "/f")
	wantKind(t, err, errs.NotFound)
	err = keptFiles{r.m.tree, r.m.tree, r.m.Control.pieces}.MovePieces(t.Context(), 1, 1, nil, []hemera.Piece{{Disk: gone}})
	wantKind(t, err, errs.Conflict)
}

// slowWriter is a writer of the store whose batches wait while it is held.
type slowWriter struct {
	kv.Writer
	held chan struct{} // nil: nothing waits
}

func (w *slowWriter) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	if held := w.held; held != nil {
		<-held
	}
	return w.Writer.Enqueue(b)
}

// TestTheRemovalOfADiskDelaysNobody removes a disk while the store is slow. Files on other disks are committed meanwhile; a commit with a
// piece on the disk waits, and is refused when the disk has left.
func TestTheRemovalOfADiskDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 4, 1)
		r.slow = &slowWriter{}
		r.restart()
		for _, n := range r.nodes {
			n.register()
		}
		onto := r.mustOpen("/onto", hemera.AccessCreate)
		gone := onto.Permit.Targets[0].Disk
		var beside hemera.Grant
		for i := range 20 {
			beside = r.mustOpen(fmt.Sprintf("/beside%d", i), hemera.AccessCreate)
			if !slices.Contains(disks(beside.Permit.Targets), gone) {
				break
			}
		}
		if slices.Contains(disks(beside.Permit.Targets), gone) {
			t.Fatal("all files are on one disk")
		}
		r.slow.held = make(chan struct{})
		removed, committed := make(chan error, 1), make(chan error, 1)
		go func() { removed <- r.m.Admin.RemoveDisk(t.Context(), gone, adminapi.Removal{}) }()
		synctest.Wait()
		ontoRequest := r.seal(onto, 10)
		go func() {
			_, err := r.m.Control.Commit(t.Context(), ontoRequest)
			committed <- err
		}()
		if _, err := r.m.Control.Commit(t.Context(), r.seal(beside, 10)); err != nil {
			t.Errorf("on other disks: %v", err)
		}
		synctest.Wait()
		if len(removed)+len(committed) > 0 {
			t.Fatal("the removal, or the commit to the disk, did not wait for the store")
		}
		close(r.slow.held)
		if err := <-removed; err != nil {
			t.Error(err)
		}
		wantKind(t, <-committed, errs.Conflict)
		if pieces, _, err := r.m.tree.DiskUsage(t.Context(), gone); pieces != 0 || err != nil {
			t.Errorf("%d pieces on the disk that was removed: %v", pieces, err)
		}
	})
}

// TestACommitThatTakesLongDelaysNoRemoval removes one disk after another while a commit is under way. What was decided before the first removal
// is decided again.
func TestACommitThatTakesLongDelaysNoRemoval(t *testing.T) {
	r := newRig(t, 4, 1)
	g := r.mustOpen("/f", hemera.AccessCreate)
	req := r.seal(g, 10)
	gone := g.Permit.Targets[0].Disk
	tries := 0
	r.through(func(tree *namespace.Parts) {
		tree.PendingWrites = &hesitant{tree.PendingWrites, func() {
			if tries++; tries > 1 {
				return
			}
			for _, d := range r.m.Cluster.View().Disks {
				if d.ID == gone || !slices.Contains(disks(g.Permit.Targets), d.ID) {
					if err := r.m.Admin.RemoveDisk(t.Context(), d.ID, adminapi.Removal{}); err != nil {
						t.Error(err)
					}
				}
			}
		}}
	})
	_, err := r.m.Control.Commit(t.Context(), req)
	wantKind(t, err, errs.Conflict)
	if tries != 1 {
		t.Errorf("%d commits, after the first was refused by the set of disks", tries)
	}
	if pieces, _, err := r.m.tree.DiskUsage(t.Context(), gone); pieces != 0 || err != nil {
		t.Errorf("%d pieces on the disk that was removed: %v", pieces, err)
	}
}

// hesitant is a tree in which something happens between the decision of a commit and its transaction.
type hesitant struct {
	namespace.PendingWrites
	before func()
}

func (h *hesitant) Commit(ctx context.Context, c namespace.Commit) (hemera.Entry, error) {
	h.before()
	return h.PendingWrites.Commit(ctx, c)
}

// TestACommitWaitsForARemovalThatIsRefused, and keeps its piece on the disk that stays.
func TestACommitWaitsForARemovalThatIsRefused(t *testing.T) {
	r := newRig(t, 2, 1)
	r.write("/full", 10)
	g := r.mustOpen("/f", hemera.AccessCreate)
	tries := 0
	r.through(func(tree *namespace.Parts) {
		tree.PendingWrites = &hesitant{tree.PendingWrites, func() {
			if tries++; tries == 1 {
				wantKind(t, r.m.Admin.RemoveDisk(t.Context(), g.Permit.Targets[0].Disk, adminapi.Removal{}), errs.NotEmpty)
			}
		}}
	})
	if e, err := r.commit(r.seal(g, 10)); err != nil || len(e.Pieces) != 2 || tries != 2 {
		t.Errorf("%d tries: %+v, %v", tries, e, err)
	}
}

func TestCommitGoesOnWithoutARemovedDisk(t *testing.T) {
	r := newRig(t, 2, 1)
	g := r.mustOpen("/f", hemera.AccessCreate)
	req := r.seal(g, 10)
	if err := r.m.Admin.RemoveDisk(t.Context(), g.Permit.Targets[0].Disk, adminapi.Removal{}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second is the first, asked again
		e, err := r.commit(req)
		if err != nil || len(e.Pieces) != 1 || e.Pieces[0].Disk != g.Permit.Targets[1].Disk {
			t.Fatalf("%+v, %v", e, err)
		}
	}
	if err := r.m.Admin.RemoveDisk(t.Context(), g.Permit.Targets[1].Disk, adminapi.Removal{Force: true, Lose: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.m.Control.Commit(t.Context(), req); err != nil {
		t.Errorf("asked again when the last disk had gone: %v", err)
	}
}

// TestOrdersOfARemovedNodeEnd has an order wait for a node that is taken out of the cluster.
func TestOrdersOfARemovedNodeEnd(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		gone := r.nodes[2]
		gone.stop()
		synctest.Wait()
		done := make(chan error, 1)
		go func() {
			_, err := r.m.Control.orders.Do(r.ctx, gone.id, hemera.Order{Kind: hemera.OrderRemove, Disk: gone.disks[0].ID})
			done <- err
		}()
		if err := r.m.Admin.RemoveDisk(r.ctx, gone.disks[0].ID, adminapi.Removal{Force: true, Lose: true}); err != nil {
			t.Fatal(err)
		}
		if err := r.m.Cluster.Admin.RemoveNode(r.ctx, gone.id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		select {
		case err := <-done:
			wantKind(t, err, errs.Unavailable)
		default:
			t.Error("somebody waits for a node that is not there")
		}
	})
}

// TestRemovedDiskIsForgotten has a disk go that was still to remove pieces.
func TestRemovedDiskIsForgotten(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		e := r.write("/f", 10)
		d, _ := r.m.Cluster.View().Disk(e.Pieces[0].Disk)
		r.node(d.Node).stop()
		time.Sleep(hemera.HeartbeatTimeout + 2*time.Second)
		if err := r.m.Names.Remove(r.ctx, alice, "/f", hemera.KindFile); err != nil {
			t.Fatal(err)
		}
		if err := r.m.Admin.RemoveDisk(r.ctx, d.ID, adminapi.Removal{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if s, _ := r.m.Observer.NamespaceStats(r.ctx); s.Unlinked != 0 || len(r.m.Cluster.Admin.Removed()) != 0 {
			t.Errorf("%d pieces still to remove, removed disks %v", s.Unlinked, r.m.Cluster.Admin.Removed())
		}
	})
}
