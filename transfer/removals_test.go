package transfer_test

import (
	"testing"
	"testing/synctest"

	"hemera/disk"
	"hemera/transfer"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// reluctant is a disk that begins to remove and does not until it may.
type reluctant struct {
	disk.Store
	may chan struct{}
}

func (r *reluctant) Remove(id hemera.PieceID) error {
	<-r.may
	return r.Store.Remove(id)
}

// TestTakenPieceWaitsForItsRemoval: a head aborts a piece, and its slow disk has not removed it yet when
// repair makes the piece there. The removal must not take what repair made.
func TestTakenPieceWaitsForItsRemoval(t *testing.T) {
	for _, sealed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store := &reluctant{Store: newMemoryBench(t, 1).hosts[0].disk, may: make(chan struct{})}
			node := transfer.NewPending(&transfer.Host{Node: piece.Node{
				Self: func() hemera.NodeID { return 7 },
				Disk: func(hemera.DiskID) (disk.Store, bool) { return store, true },
			}})
			c := hemera.Capability{File: 5, Gen: 1, Access: hemera.AccessCreate, Layout: hemera.Replica(2), Nonce: 3,
				Targets: []hemera.Target{{Index: 1, Disk: 1, Node: 7}}}
			id := hemera.PieceID{File: 5, Gen: 1, Index: 1}
			f, err := node.OpenPiece(c, hemera.PieceOpen{Index: 1}, true)
			if err == nil && sealed {
				_, err = f.Seal(ctx, hemera.SealInfo{})
			}
			if err != nil {
				t.Fatal(err)
			}
			aborted, made := make(chan error, 1), make(chan error, 1)
			go func() { aborted <- f.End(ctx, hemera.EndAbort) }()
			synctest.Wait() // the removal has begun
			go func() {
				node.Take(id, 1)
				w, err := store.Create(id, disk.CreateOptions{Layout: c.Layout, Replace: true})
				if err == nil {
					_, err = w.Seal(hemera.SealInfo{})
				}
				made <- err
			}()
			synctest.Wait()
			close(store.may)
			if err := <-aborted; err != nil {
				t.Error(err)
			}
			if err := <-made; err != nil {
				t.Error(err)
			}
			r, err := store.Open(id)
			if err != nil {
				t.Fatalf("sealed %t: what repair made is gone: %v", sealed, err)
			}
			_ = r.Close()
		})
	}
}
