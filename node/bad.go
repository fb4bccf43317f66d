package node

import (
	"sync"
	"time"

	"hemera/words/hemera"
)

const (
	// badKept bounds the bad pieces that a node remembers, reported or not. Beyond, the oldest is forgotten
	// and reported again when it is met.
	badKept = 4096
	// badAgain is how long after a report a bad piece is reported again.
	badAgain = 10 * time.Minute
)

// badPieces are the pieces that reads and scrubs found bad, for the next report to the manager. The zero
// value is ready.
type badPieces struct {
	mu    sync.Mutex
	found map[hemera.BadPiece]*badPiece
	order []hemera.BadPiece // as they were found first
}

// badPiece is what is known of one.
type badPiece struct {
	reported time.Time // zero: not yet
}

// add notes a bad piece. One that was reported a short while ago is not reported again.
func (b *badPieces) add(p hemera.BadPiece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// A bad page in a file that is read often is found with each read.
	if known := b.found[p]; known != nil {
		if time.Since(known.reported) >= badAgain {
			known.reported = time.Time{}
		}
		return
	}
	if b.found == nil {
		b.found = map[hemera.BadPiece]*badPiece{}
	}
	if len(b.order) >= badKept { // the oldest goes
		delete(b.found, b.order[0])
		b.order = append(b.order[:0], b.order[1:]...)
	}
	b.found[p] = &badPiece{}
	b.order = append(b.order, p)
}

// take returns what is to be reported now, as many as one report takes.
func (b *badPieces) take() (list []hemera.BadPiece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.order {
		if known := b.found[p]; known.reported.IsZero() && len(list) < hemera.BadPiecesMax {
			known.reported = time.Now() // lost takes it back if the report does not arrive
			list = append(list, p)
		}
	}
	return list
}

// lost has pieces reported once more: the report did not arrive.
func (b *badPieces) lost(list []hemera.BadPiece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range list {
		if known := b.found[p]; known != nil {
			known.reported = time.Time{}
		}
	}
}
