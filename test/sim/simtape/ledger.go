package simtape

import (
	"maps"
	"math"
	"sync"

	"hemera/words/hemera"
)

// Ledger remembers which requests to stage were acknowledged, and which files somebody let go since. Its methods may be called
// concurrently.
type Ledger struct {
	mu       sync.Mutex
	now      int // of the last entry
	requests map[string]*Request
	left     map[hemera.FileID]int
}

// Request is one that was acknowledged.
type Request struct {
	ID    string
	Who   hemera.Identity
	Files map[string]hemera.FileID // by the paths of the request
	begun int
	over  bool // withdrawn, or about to be
}

// NewLedger makes an empty one.
// It belongs to one simulation.
func NewLedger() *Ledger {
	return &Ledger{requests: map[string]*Request{}, left: map[hemera.FileID]int{}}
}

// Begin records a request before it is sent. The answer of Begin goes to Asked.
func (l *Ledger) Begin() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now++
	return l.now
}

// Asked notes a request that was acknowledged.
func (l *Ledger) Asked(begun int, r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// What was let go after that is not owed any more.
	r.begun = begun
	l.requests[r.ID] = &r
}

// Leaving notes that somebody is about to evict or release a file: whether it is on disk later proves nothing.
func (l *Ledger) Leaving(file hemera.FileID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now++
	l.left[file] = max(l.left[file], l.now)
}

// MayBeReplaced notes that a file may get another content at any time from now on, by a write whose end its client does not know: a new
// content begins without requests.
func (l *Ledger) MayBeReplaced(file hemera.FileID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left[file] = math.MaxInt
}

// Withdrawing notes that a request is about to be withdrawn.
func (l *Ledger) Withdrawing(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.requests[id]; r != nil {
		r.over = true
	}
}

// Of lists the requests of a user that were not withdrawn.
func (l *Ledger) Of(uid uint32) (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// In no order: its user takes one of them by chance.
	for id, r := range l.requests {
		if r.Who.UID == uid && !r.over {
			ids = append(ids, id)
		}
	}
	return ids
}

// Owed lists the requests that must have been served, with the files that nobody let go since.
func (l *Ledger) Owed() (owed []Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.requests {
		if r.over {
			continue
		}
		// A copy: its user reads it without the lock.
		o := *r
		o.Files = maps.Clone(r.Files)
		maps.DeleteFunc(o.Files, func(_ string, id hemera.FileID) bool { return l.left[id] > r.begun })
		owed = append(owed, o)
	}
	return owed
}
