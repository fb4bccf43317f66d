package disk

import (
	"sync"

	"hemera/words/hemera"
)

const (
	// badPlacesMax bounds how many bad places are remembered, with 40 bytes each. Beyond, the oldest is
	// forgotten and counts again when it is met again.
	badPlacesMax = 4096
	// badFooter is the place of whatever is wrong with a piece as a whole.
	badFooter = -1
)

// badPlace is one place of a piece that does not match its checksum: a page by its offset, a block of page
// checksums by the offset of its first page, or [badFooter].
type badPlace struct {
	piece  hemera.PieceID
	offset int64
}

// badPlaces are the places known to be bad. A disk's health counts each once: one flipped bit in a file
// that is read often says no more of the disk than in one that is read once. Its zero value is ready.
type badPlaces struct {
	mu    sync.Mutex
	known map[badPlace]bool
	order []badPlace // a ring of what was remembered, whether it is still known or not
	next  int
}

// first reports whether the place was not known to be bad, and remembers it.
func (b *badPlaces) first(p badPlace) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known[p] {
		return false
	}
	if b.known == nil {
		b.known = map[badPlace]bool{}
	}
	// The ring has what was remembered; what it overwrites is forgotten.
	if len(b.order) < badPlacesMax {
		b.order = append(b.order, p)
	} else {
		delete(b.known, b.order[b.next])
		b.order[b.next] = p
		b.next = (b.next + 1) % badPlacesMax
	}
	b.known[p] = true
	return true
}

// mended forgets a place that is good again.
func (b *badPlaces) mended(p badPlace) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, p)
}

// replaced forgets every place of a piece that was removed or made again.
func (b *badPlaces) replaced(id hemera.PieceID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// There are few as a rule, so nothing finds them by piece.
	for p := range b.known {
		if p.piece == id {
			delete(b.known, p)
		}
	}
}

// placeOf returns the place that a Corrupt error of a piece is about.
func placeOf(err error, id hemera.PieceID) badPlace {
	if off, ok := BadPage(err); ok {
		return badPlace{id, off}
	}
	return badPlace{id, badFooter}
}
