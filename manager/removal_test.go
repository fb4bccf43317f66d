package manager

import (
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestNothingIsCommittedToARemovedDisk removes an empty disk while a file is written to it.
func TestNothingIsCommittedToARemovedDisk(t *testing.T) {
	r := newRig(t, 3, 1)
	g := r.mustOpen("/f", hemera.AccessCreate)
	req := r.seal(g, 10)
	gone := g.Permit.Targets[0].Disk
	if err := r.m.Admin.RemoveDisk(t.Context(), gone, hemera.Removal{}); err != nil {
		t.Fatal(err)
	}
	_, err := r.m.Control.Commit(t.Context(), req)
	wantKind(t, err, errs.Conflict)
	_, err = r.m.Names.Stat(t.Context(), alice, "/f")
	wantKind(t, err, errs.NotFound)
	err = keptFiles{r.m.tree, r.m.Control.pieces}.MovePieces(t.Context(), 1, 1, nil, []hemera.Piece{{Disk: gone}})
	wantKind(t, err, errs.Conflict)
}

func TestCommitGoesOnWithoutARemovedDisk(t *testing.T) {
	r := newRig(t, 2, 1)
	g := r.mustOpen("/f", hemera.AccessCreate)
	req := r.seal(g, 10)
	if err := r.m.Admin.RemoveDisk(t.Context(), g.Permit.Targets[0].Disk, hemera.Removal{}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second is the first, asked again
		e, err := r.commit(req)
		if err != nil || len(e.Pieces) != 1 || e.Pieces[0].Disk != g.Permit.Targets[1].Disk {
			t.Fatalf("%+v, %v", e, err)
		}
	}
	if err := r.m.Admin.RemoveDisk(t.Context(), g.Permit.Targets[1].Disk, hemera.Removal{Force: true, Lose: true}); err != nil {
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
		if err := r.m.Admin.RemoveDisk(r.ctx, gone.disks[0].ID, hemera.Removal{Force: true, Lose: true}); err != nil {
			t.Fatal(err)
		}
		if err := r.m.Cluster.RemoveNode(r.ctx, gone.id); err != nil {
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
		if err := r.m.Admin.RemoveDisk(r.ctx, d.ID, hemera.Removal{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if s, _ := r.m.Observer.NamespaceStats(r.ctx); s.Unlinked != 0 || len(r.m.Cluster.Removed()) != 0 {
			t.Errorf("%d pieces still to remove, removed disks %v", s.Unlinked, r.m.Cluster.Removed())
		}
	})
}
