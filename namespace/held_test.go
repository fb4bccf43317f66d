package namespace_test

import (
	"slices"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/words/hemera"
)

// leaving returns the pieces that the disk is to remove now, and those that it holds.
func leaving(t *testing.T, n *namespace.Namespace, disk hemera.DiskID) (now, held []hemera.PieceID) {
	t.Helper()
	now = must[[]hemera.PieceID](t)(n.Pieces.Unlinked(t.Context(), disk, 100))
	return now, must[[]hemera.PieceID](t)(n.Pieces.Held(t.Context(), disk, 100))
}

// Replaced and removed content is held for as long as was said, oldest first, over a restart; it is in no
// total of the tree, and no request that comes again brings it back.
func TestReplacedContentIsHeld(t *testing.T) {
	const hold = 10 * time.Minute
	now := time.Unix(1_700_000_000, 123_456_789)
	clock := func() time.Time { return now }
	store := memkv.New()
	n := open(t, store, namespace.Options{Hold: hold, Clock: clock})
	c := prepare(t, n, alice(), "/f")
	c.Size = 100
	first := must[hemera.Entry](t)(n.Writes.Commit(t.Context(), c))
	again := c
	c = prepare(t, n, alice(), "/f")
	c.Size = 50
	second := must[hemera.Entry](t)(n.Writes.Commit(t.Context(), c))
	now = now.Add(time.Minute)
	if err := n.Tree.Remove(t.Context(), alice(), "/f", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Writes.Commit(t.Context(), again); err == nil {
		t.Error("a content that is held was committed again")
	}
	piece := func(e hemera.Entry) hemera.PieceID { return hemera.PieceID{File: e.ID, Gen: e.Gen} }
	for range 2 {
		due, held := leaving(t, n, 1)
		if len(due) != 0 || !slices.Equal(held, []hemera.PieceID{piece(first), piece(second)}) {
			t.Errorf("to remove %v, held %v", due, held)
		}
		if s := n.Inspection.Stats(); s.Unlinked != 4 || s.Held != 4 || s.HeldBytes != 300 || s.Totals.Bytes != 0 || s.Totals.Physical != 0 {
			t.Errorf("the head of the namespace says %+v", s)
		}
		pieces, bytes, err := n.Pieces.DiskHeld(t.Context(), 1)
		if there, _, _ := n.Pieces.DiskUsage(t.Context(), 1); err != nil || pieces != 2 || bytes != 150 || there != 0 {
			t.Errorf("disk 1 holds %d pieces, %d bytes (%v), and has %d", pieces, bytes, err, there)
		}
		if is := must[bool](t)(n.Pieces.IsUnlinked(t.Context(), 1, piece(first))); !is {
			t.Error("a held piece is not said to leave")
		}
		checked(t, n)
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		n = open(t, store, namespace.Options{Hold: hold, Clock: clock})
	}
	now = now.Add(hold - time.Minute + time.Millisecond)
	if due, _ := leaving(t, n, 1); !slices.Equal(due, []hemera.PieceID{piece(first)}) {
		t.Errorf("after the first one's time, to remove %v", due)
	}
	if err := n.Pieces.ConfirmRemoved(t.Context(), 1, []hemera.PieceID{piece(first), piece(first)}); err != nil {
		t.Fatal(err)
	}
	if is := must[bool](t)(n.Pieces.IsUnlinked(t.Context(), 1, piece(first))); is {
		t.Error("a forgotten piece is said to leave")
	}
	if due, held := leaving(t, n, 1); len(due) != 0 || !slices.Equal(held, []hemera.PieceID{piece(second)}) {
		t.Errorf("to remove %v, held %v", due, held)
	}
	checked(t, n)
	now = now.Add(time.Minute)
	for disk := range hemera.DiskID(3) {
		due, _ := leaving(t, n, disk)
		if err := n.Pieces.ConfirmRemoved(t.Context(), disk, due); err != nil {
			t.Fatal(err)
		}
	}
	if s := n.Inspection.Stats(); s.Unlinked != 0 || s.Held != 0 || s.HeldBytes != 0 {
		t.Errorf("in the end, %+v", s)
	}
	checked(t, n)
}

// A clock that was ahead, or a hold that was longer, keeps no piece for longer than the hold.
func TestHoldEndsThoughTheClockWasWrong(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	clock := func() time.Time { return now }
	n := open(t, memkv.New(), namespace.Options{Hold: time.Minute, Clock: clock})
	put(t, n, alice(), "/f", 1)
	now = now.Add(1000 * time.Hour)
	put(t, n, alice(), "/f", 2)
	now = now.Add(-1000 * time.Hour)
	if due, held := leaving(t, n, 1); len(due) != 1 || len(held) != 1 {
		t.Errorf("to remove %v of %v", due, held)
	}
}

// TestAShorterHoldEndsEarlierOnes: an admin who shortens the hold needs the room now, also where a disk was asked before.
func TestAShorterHoldEndsEarlierOnes(t *testing.T) {
	n := open(t, memkv.New(), namespace.Options{Hold: time.Hour})
	put(t, n, alice(), "/f", 1)
	put(t, n, alice(), "/f", 2)
	if due, held := leaving(t, n, 1); len(due) != 0 || len(held) != 1 {
		t.Fatalf("to remove %v of %v", due, held)
	}
	n.Pieces.SetHold(0)
	if due, _ := leaving(t, n, 1); len(due) != 1 {
		t.Errorf("with the hold ended, to remove %v", due)
	}
}

// What a move leaves behind is removed at once: the content is still there.
func TestMovedPiecesAreNotHeld(t *testing.T) {
	n := open(t, memkv.New(), namespace.Options{Hold: time.Hour})
	e := put(t, n, alice(), "/f", 10)
	put(t, n, alice(), "/g", 10)
	put(t, n, alice(), "/g", 20)
	err := n.Pieces.MovePieces(t.Context(), namespace.PieceMove{File: e.ID, Gen: e.Gen, Drop: []hemera.Piece{{Index: 0, Disk: 1}}, Add: []hemera.Piece{{Index: 0, Disk: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	if due, held := leaving(t, n, 1); len(due) != 1 || due[0].File != e.ID || len(held) != 1 || held[0].File == e.ID {
		t.Errorf("to remove %v, held %v", due, held)
	}
	checked(t, n)
}
