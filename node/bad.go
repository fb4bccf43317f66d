package node

import (
	"sync"
	"time"

	"hemera/words/hemera"
)

const (
	// badKept bounds the bad pieces that a node remembers, reported or not. Beyond it the oldest is forgotten, and
	// reported again when it is found again.
	badKept = 4096
	// badAgain is the time after which a bad piece is reported again.
	badAgain = 10 * time.Minute
)

// badPieces has the pieces that reads and scrubs found bad, for the next report to the manager. The zero value is ready.
// It is safe for concurrent use.
type badPieces struct {
	mu    sync.Mutex
	found map[hemera.BadPiece]*badPiece
	order []hemera.BadPiece // in the order in which they were found first
}

// badPiece is the state of one bad piece.
type badPiece struct {
	reported time.Time // zero: not yet
}

// add records a bad piece. A piece that was reported within badAgain is not reported again.
func (b *badPieces) add(p hemera.BadPiece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// Each read of a file finds its bad pages again.
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

// take returns the pieces to report now, at most as many as one report may have, and marks them as reported.
func (b *badPieces) take() (list []hemera.BadPiece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.order {
		if known := b.found[p]; known.reported.IsZero() && len(list) < hemera.BadPiecesMax {
			known.reported = time.Now() // lost undoes it if the report does not arrive
			list = append(list, p)
		}
	}
	return list
}

// lost marks pieces of a lost report as not reported.
func (b *badPieces) lost(list []hemera.BadPiece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range list {
		if known := b.found[p]; known != nil {
			known.reported = time.Time{}
		}
	}
}
