package transfer_test

import (
	"testing"

	"hemera"
	"hemera/disk"
	"hemera/transfer"
)

// TestPieceMovesToAnotherDiskOfItsNode: what was begun on the first disk, and is not given up yet,
// must not be taken for the piece on the second.
func TestPieceMovesToAnotherDiskOfItsNode(t *testing.T) {
	stores := map[hemera.DiskID]disk.Store{1: newDisk(t), 2: newDisk(t)}
	node := transfer.NewPending(&transfer.Host{
		Self: func() hemera.NodeID { return 7 },
		Disk: func(id hemera.DiskID) (disk.Store, bool) { s, ok := stores[id]; return s, ok },
	})
	c := hemera.Capability{File: 5, Gen: 1, Access: hemera.AccessCreate, Layout: hemera.Replica(2), Nonce: 3}
	open := func(on hemera.DiskID) hemera.File {
		c.Targets = []hemera.Target{{Index: 1, Disk: on, Node: 7}}
		f, err := node.OpenPiece(c, hemera.NodeOpen{Piece: true, Index: 1})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if err := open(1).Close(ctx); err != nil { // its head lost the connection
		t.Fatal(err)
	}
	second := open(2)
	p := content(10_000)
	if err := second.WriteAt(p, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := second.(hemera.Sealer).Seal(ctx, hemera.SealInfo{FileSize: int64(len(p))}); err != nil {
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
