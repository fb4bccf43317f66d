package manager

import (
	"sync"

	"hemera/words/hemera"
)

// recalls are the files that tape servers write to disks. Each counts as a write of its disks, from its grant to its commit or, if
// there is none, until the tape server is done with it.
type recalls struct {
	mu sync.Mutex
	of map[hemera.FileID]*recallWrite
}

// recallWrite is one of them. Its end may be called again.
type recallWrite struct{ end func() }

// begin counts a recall, in place of an earlier one of the file. left is called when the tape server is done with it.
func (r *recalls) begin(p *pending, id hemera.FileID, disks []hemera.DiskID) (left func()) {
	p.count(disks, 1)
	w := &recallWrite{sync.OnceFunc(func() { p.count(disks, -1) })}
	r.mu.Lock()
	before := r.of[id]
	if r.of == nil {
		r.of = map[hemera.FileID]*recallWrite{}
	}
	r.of[id] = w
	r.mu.Unlock()
	// A drive that asks again begins the file again: only the new disks are written to. Counts have a lock of
	// their own, so they change outside of this one.
	if before != nil {
		before.end()
	}
	return func() { r.end(id, w) }
}

// committed ends the recall of a file, if there is one: nothing more is written.
func (r *recalls) committed(id hemera.FileID) { r.end(id, nil) }

// end ends a recall of a file: w, or whichever it is when w is nil.
func (r *recalls) end(id hemera.FileID, w *recallWrite) {
	r.mu.Lock()
	now := r.of[id]
	if w == nil {
		w = now
	}
	// A late end of an earlier recall must not end the one that took its place.
	if now == w {
		delete(r.of, id)
	}
	r.mu.Unlock()
	if w != nil {
		w.end()
	}
}
