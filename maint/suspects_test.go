package maint

import (
	"testing"
	"time"

	"hemera/words/hemera"
)

func TestSuspectsAreProvenByTheManagersClock(t *testing.T) {
	s, now := suspects{after: time.Hour}, time.Unix(1_700_000_000, 0)
	k := hemera.BadPiece{Disk: 3, Piece: hemera.PieceID{File: 7, Gen: 1}}
	if s.proven(k, now) || s.proven(k, now.Add(59*time.Minute)) {
		t.Error("proven too early")
	}
	if s.due(3, now.Add(59*time.Minute)) || s.due(4, now.Add(2*time.Hour)) || !s.due(3, now.Add(time.Hour)) || s.due(3, now.Add(time.Hour)) {
		t.Error("the disk is due once, after an hour")
	}
	if !s.proven(k, now.Add(time.Hour)) {
		t.Error("never proven")
	}
	s.drop(k)
	if s.proven(k, now.Add(time.Hour)) {
		t.Error("proven after it was dropped")
	}
	for i := range hemera.FileID(suspectsMax + 5) {
		s.proven(hemera.BadPiece{Disk: 3, Piece: hemera.PieceID{File: 100 + i}}, now)
	}
	if len(s.first) != suspectsMax {
		t.Errorf("%d are remembered", len(s.first))
	}
	s.prune(now.Add(time.Second))
	if len(s.first) != 1 { // k, found again an hour later
		t.Errorf("%d are left", len(s.first))
	}
}
