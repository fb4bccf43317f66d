// Package removals knows which pieces are being removed from the disks of a node at this moment.
//
// Removing may take long, and the write that the piece was of may have been committed without it meanwhile. A repair that
// makes the piece again at the same place waits, or the removal would take the new one. The lock is a leaf.
package removals

import (
	"sync"

	"hemera"
)

// Table has the pieces that are being removed. The zero value has none. Methods may be called concurrently.
type Table struct {
	mu    sync.Mutex
	under map[place]*removal
}

// place is a piece at a disk: the same piece may be removed from one disk and made at another at the same time.
type place struct {
	piece hemera.PieceID
	disk  hemera.DiskID
}

// removal is the removing of one piece at one disk. Two writes may be at it, one of them late.
type removal struct {
	count int // of calls that remove the piece
	over  chan struct{}
}

// Begin says that the piece is about to be removed, until the result is called.
func (r *Table) Begin(piece hemera.PieceID, disk hemera.DiskID) (end func()) {
	key := place{piece, disk}
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.under[key]
	if one == nil {
		one = &removal{over: make(chan struct{})}
		if r.under == nil {
			r.under = map[place]*removal{}
		}
		r.under[key] = one
	}
	one.count++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if one.count--; one.count == 0 {
			delete(r.under, key)
			close(one.over)
		}
	}
}

// Wait blocks until no call removes the piece any more.
func (r *Table) Wait(piece hemera.PieceID, disk hemera.DiskID) {
	r.mu.Lock()
	one := r.under[place{piece, disk}]
	r.mu.Unlock()
	if one != nil {
		<-one.over
	}
}
