package maint

import (
	"sync"
	"time"

	"hemera/words/hemera"
)

// suspectsMax bounds the pieces that are remembered; those beyond have their turn later.
const suspectsMax = 1 << 16

// suspects remembers pieces that no file had when an audit found them. The node says when a piece was sealed, and its clock may be
// hours behind: a fresh piece, whose commit is on its way, would be taken for an
// old one. So a piece is removed only when it is still there a while after it was first found, by the
// manager's own clock. The zero value with after set is empty.
type suspects struct {
	after time.Duration // how long the manager must have known a piece; not changed after New

	mu    sync.Mutex
	first map[hemera.BadPiece]time.Time // when it was found first, by the manager's clock
	again map[hemera.DiskID]time.Time   // when a disk is to be looked at again
}

// proven reports whether the piece was found long enough ago, and remembers it if not.
func (s *suspects) proven(k hemera.BadPiece, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, ok := s.first[k]
	switch {
	case ok && now.Sub(first) >= s.after:
		return true
	// No room: it is judged in a later audit, when others have been removed. Nothing is removed unproven.
	case !ok && len(s.first) >= suspectsMax:
		return false
	case !ok:
		first = now
		if s.first == nil {
			s.first = map[hemera.BadPiece]time.Time{}
		}
		s.first[k] = first
	}
	s.lookAt(k.Disk, first.Add(s.after))
	return false
}

// busy remembers that a piece could not be looked at for now.
func (s *suspects) busy(k hemera.BadPiece, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookAt(k.Disk, now.Add(s.after))
}

// lookAt has the disk looked at again, at that time or sooner. mu is held.
func (s *suspects) lookAt(disk hemera.DiskID, at time.Time) {
	if s.again == nil {
		s.again = map[hemera.DiskID]time.Time{}
	}
	if old := s.again[disk]; old.IsZero() || at.Before(old) {
		s.again[disk] = at
	}
}

// due reports, once, that a disk has suspects whose time is over.
func (s *suspects) due(disk hemera.DiskID, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.again[disk]
	if !ok || now.Before(at) {
		return false
	}
	delete(s.again, disk)
	return true
}

// next returns when the disk is to be looked at again; zero when it has no suspects.
func (s *suspects) next(disk hemera.DiskID) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.again[disk]
}

// drop forgets a piece.
func (s *suspects) drop(k hemera.BadPiece) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.first, k)
}

// prune forgets pieces that were not judged for long: they went another way.
func (s *suspects) prune(before time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, first := range s.first {
		if first.Before(before) {
			delete(s.first, k)
		}
	}
}
