package node

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/hemera"
)

// TestBadPiecesAreReportedOnce checks that a bad piece is reported again only after a while, however often it is found,
// that a lost report is repeated, and that reports and memory are bounded.
func TestBadPiecesAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b badPieces
		at := func(i int) hemera.BadPiece {
			return hemera.BadPiece{Disk: 1, Piece: hemera.PieceID{File: hemera.FileID(i)}}
		}
		want := func(n int) []hemera.BadPiece {
			t.Helper()
			list := b.take()
			if len(list) != n {
				t.Fatalf("%d pieces are reported, want %d", len(list), n)
			}
			return list
		}
		for range 3 {
			b.add(at(1))
		}
		first := want(1)
		b.add(at(1))
		want(0)
		b.lost(first)
		want(1)
		time.Sleep(badAgain)
		b.add(at(1))
		want(1)
		for i := range 3 * badKept {
			b.add(at(i + 2))
		}
		if len(b.found) != badKept || len(b.order) != badKept || !slices.Contains(b.order, at(3*badKept+1)) {
			t.Errorf("%d pieces are remembered, in an order of %d", len(b.found), len(b.order))
		}
		for range badKept / hemera.BadPiecesMax {
			want(hemera.BadPiecesMax)
		}
		want(0)
	})
}
