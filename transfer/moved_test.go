package transfer_test

import (
	"testing"

	"hemera/disk"
	"hemera/transfer"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// TestPieceMovesToAnotherDiskOfItsNode: what was begun on the first disk, and is not removed yet,
// must not be taken for the piece on the second.
func TestPieceMovesToAnotherDiskOfItsNode(t *testing.T) {
	stores := map[hemera.DiskID]disk.Store{1: newMemoryBench(t, 1).hosts[0].disk, 2: newMemoryBench(t, 1).hosts[0].disk}
	node := transfer.NewPending(&transfer.Host{Node: piece.Node{
		Self: func() hemera.NodeID { return 7 },
		Disk: func(id hemera.DiskID) (disk.Store, bool) { s, ok := stores[id]; return s, ok },
	}})
	c := hemera.Capability{File: 5, Gen: 1, Access: hemera.AccessCreate, Layout: hemera.Replica(2), Nonce: 3}
	open := func(on hemera.DiskID) hemera.PieceHandle {
		c.Targets = []hemera.Target{{Index: 1, Disk: on, Node: 7}}
		f, err := node.OpenPiece(c, hemera.PieceOpen{Index: 1}, true)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if err := open(1).End(ctx, hemera.EndClose); err != nil { // its head lost the connection
		t.Fatal(err)
	}
	second := open(2)
	p := content(10_000)
	if err := second.WritePages(p, nil, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Seal(ctx, hemera.SealInfo{FileSize: int64(len(p))}); err != nil {
		t.Fatal(err)
	}
	id := hemera.PieceID{File: 5, Gen: 1, Index: 1}
	r, err := stores[2].Open(id)
	if err != nil {
		t.Fatalf("the piece is not on the second disk: %v", err)
	}
	_ = r.Close()
	if r, err := stores[1].Open(id); err == nil {
		_ = r.Close()
		t.Error("the piece is on the first disk")
	}
}

// TestTakenPieceStays: repair adopts what a head lost sight of; the head giving it up comes too late.
func TestTakenPieceStays(t *testing.T) {
	store := newMemoryBench(t, 1).hosts[0].disk
	node := transfer.NewPending(&transfer.Host{Node: piece.Node{
		Self: func() hemera.NodeID { return 7 },
		Disk: func(hemera.DiskID) (disk.Store, bool) { return store, true },
	}})
	c := hemera.Capability{File: 5, Gen: 1, Access: hemera.AccessCreate, Layout: hemera.Replica(2), Nonce: 3,
		Targets: []hemera.Target{{Index: 1, Disk: 1, Node: 7}}}
	id := hemera.PieceID{File: 5, Gen: 1, Index: 1}
	for _, sealed := range []bool{true, false} {
		f, err := node.OpenPiece(c, hemera.PieceOpen{Index: 1}, true)
		if err != nil {
			t.Fatal(err)
		}
		if sealed {
			if _, err := f.Seal(ctx, hemera.SealInfo{}); err != nil {
				t.Fatal(err)
			}
		}
		node.Take(id, 1)
		if !sealed {
			w, err := store.Create(id, disk.CreateOptions{Layout: c.Layout})
			if err == nil {
				_, err = w.Seal(hemera.SealInfo{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := f.WritePages([]byte("late"), nil, 0); err == nil {
			t.Error("the head still writes")
		}
		if err := f.End(ctx, hemera.EndAbort); err != nil {
			t.Error(err)
		}
		r, err := store.Open(id)
		if err != nil {
			t.Fatalf("sealed %t: the piece is gone: %v", sealed, err)
		}
		_ = r.Close()
		if err := store.Remove(id); err != nil {
			t.Fatal(err)
		}
		if node.Len() != 0 {
			t.Errorf("%d pending", node.Len())
		}
	}
}
