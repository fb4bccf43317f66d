package piece

import (
	"sync"

	"hemera/words/hemera"
)

// Removals is the pieces that writes are removing at this moment from disks of this node. Removing may take long,
// and the write may have been committed without the piece meanwhile. A repair that makes the piece again at the same
// place waits, or the removal would take the new one. The zero value has none. It is safe for concurrent use.
type Removals struct {
	mu    sync.Mutex
	under map[place]*removal
}

// place is a place: the same piece may be removed from one disk and made at another at the same time.
type place struct {
	piece hemera.PieceID
	disk  hemera.DiskID
}

// removal is the removing of one piece at one disk. Two writes may be at it, one of them late.
type removal struct {
	count int // of calls that remove the piece
	over  chan struct{}
}

// Begin says that the piece is about to be removed, until end is called.
func (r *Removals) Begin(piece hemera.PieceID, disk hemera.DiskID) (end func()) {
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
func (r *Removals) Wait(piece hemera.PieceID, disk hemera.DiskID) {
	r.mu.Lock()
	one := r.under[place{piece, disk}]
	r.mu.Unlock()
	if one != nil {
		<-one.over
	}
}
