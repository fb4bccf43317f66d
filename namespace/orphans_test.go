package namespace_test

import (
	"errors"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// barredCount returns the number of barred writes in the store.
func barredCount(t *testing.T, s *memkv.Store) (count int) {
	t.Helper()
	if err := s.Scan(t.Context(), []byte("no"), []byte("np"), func(_, _ []byte) bool { count++; return true }); err != nil {
		t.Fatal(err)
	}
	return count
}

func pieceOf(c namespace.Commit) hemera.PieceID { return hemera.PieceID{File: c.ID, Gen: c.Gen} }

// TestAClaimedOrphanIsNeverCommitted: a head stood still between the seal and the commit, and an audit removed
// one of the pieces meanwhile. Whatever happens to the name or the manager then, the commit fails for good.
func TestAClaimedOrphanIsNeverCommitted(t *testing.T) {
	for what, replaced := range map[string]bool{"new file": false, "new content": true} {
		for _, restart := range []bool{false, true} {
			store := memkv.New()
			n := open(t, store, namespace.Options{})
			var before hemera.Entry
			if replaced {
				before = put(t, n, alice(), "/f", 10)
			}
			c := prepare(t, n, alice(), "/f")
			c.Size, c.Force = 20, true
			for range 2 { // an order that was lost is given again
				if ok, err := n.Writes.ClaimOrphan(t.Context(), 2, pieceOf(c)); err != nil || !ok {
					t.Fatalf("%s: condemned %t: %v", what, ok, err)
				}
			}
			if restart {
				n = open(t, store, namespace.Options{})
			}
			for range 2 {
				_, err := n.Writes.Commit(t.Context(), c)
				wantKind(t, what, err, errs.Conflict)
			}
			if barred, err := n.Writes.Barred(t.Context(), c); err != nil || !barred {
				t.Errorf("%s: barred %t: %v", what, barred, err)
			}
			e, err := n.Tree.Stat(t.Context(), alice(), "/f")
			if replaced && (err != nil || e.Gen != before.Gen) || !replaced && !errors.Is(err, errs.NotFound) {
				t.Errorf("%s: then there is %+v (%v)", what, e, err)
			}
			put(t, n, alice(), "/f", 30) // the name is free
			checked(t, n)
		}
	}
}

// TestOnlyWhatNobodyHasIsCondemned goes through what an audit may meet when it looks a last time.
func TestOnlyWhatNobodyHasIsCondemned(t *testing.T) {
	store := memkv.New()
	n := open(t, store, namespace.Options{})
	ctx := t.Context()
	condemn := func(what string, disk hemera.DiskID, p hemera.PieceID, want bool) {
		t.Helper()
		if ok, err := n.Writes.ClaimOrphan(ctx, disk, p); err != nil || ok != want {
			t.Errorf("%s: condemned %t: %v", what, ok, err)
		}
		if count := barredCount(t, store); count != 0 {
			t.Errorf("%s: %d writes are barred", what, count)
		}
	}
	c := prepare(t, n, alice(), "/f")
	c.Size = 10
	e := must[hemera.Entry](t)(n.Writes.Commit(ctx, c))
	condemn("committed meanwhile", 1, pieceOf(c), false)
	condemn("a piece that a move left behind", 9, pieceOf(c), true)
	if again, err := n.Writes.Commit(ctx, c); err != nil || again.Gen != e.Gen {
		t.Errorf("the same commit again: %v", err)
	}
	if err := n.Pieces.MovePieces(ctx, namespace.PieceMove{File: e.ID, Gen: e.Gen, Drop: e.Pieces[:1], Add: []hemera.Piece{{Disk: 3}}}); err != nil {
		t.Fatal(err)
	}
	condemn("on its way out", 1, pieceOf(c), false)
	condemn("repaired meanwhile", 3, pieceOf(c), false)
	put(t, n, alice(), "/f", 20)
	condemn("of an older content", 9, pieceOf(c), true)
	update := prepare(t, n, alice(), "/f")
	if err := n.Tree.Remove(ctx, alice(), "/f", 0); err != nil {
		t.Fatal(err)
	}
	condemn("an update of a file that is gone", 9, pieceOf(update), true)
	checked(t, n)
}

// TestBarsEnd: a bar lasts for longer than commits are taken, and then nothing of it is kept. Writes that
// began so long ago need none.
func TestBarsEnd(t *testing.T) {
	store, now := memkv.New(), time.Unix(1_700_000_000, 0)
	n := open(t, store, namespace.Options{Clock: func() time.Time { return now }})
	early := prepare(t, n, alice(), "/early")
	condemned := func(p hemera.PieceID, barred int) {
		t.Helper()
		if ok, err := n.Writes.ClaimOrphan(t.Context(), 1, p); err != nil || !ok {
			t.Fatalf("condemned %t: %v", ok, err)
		}
		if count := barredCount(t, store); count != barred {
			t.Errorf("%d writes are barred, not %d", count, barred)
		}
	}
	condemned(pieceOf(prepare(t, n, alice(), "/a")), 1)
	now = now.Add(hemera.CapabilityLifetime + hemera.CommitLifetime)
	condemned(pieceOf(prepare(t, n, alice(), "/b")), 2)
	now = now.Add(time.Hour)
	condemned(pieceOf(prepare(t, n, alice(), "/c")), 2)
	condemned(pieceOf(early), 2)
	n = open(t, store, namespace.Options{Clock: func() time.Time { return now }})
	condemned(pieceOf(early), 3) // a manager that has just started cannot know
	checked(t, n)
}

func TestTooManyBarsKeepThePieces(t *testing.T) {
	n := fresh(t)
	n.SetBars(1 << 18)
	if ok, err := n.Writes.ClaimOrphan(t.Context(), 1, pieceOf(prepare(t, n, alice(), "/f"))); ok || !errors.Is(err, errs.Overloaded) {
		t.Errorf("condemned %t: %v", ok, err)
	}
}

// TestBrokenPiecesAreRemembered over a restart, and only while an entry has them when they are marked.
func TestBrokenPiecesAreRemembered(t *testing.T) {
	store := memkv.New()
	n := open(t, store, namespace.Options{})
	e := put(t, n, alice(), "/f", 10)
	bad := hemera.BadPiece{Disk: 2, Piece: hemera.PieceID{File: e.ID, Gen: e.Gen, Index: 1}}
	strange := bad
	strange.Disk = 7
	for _, b := range []hemera.BadPiece{bad, strange, bad} {
		if err := n.Pieces.MarkBroken(t.Context(), b, true); err != nil {
			t.Fatal(err)
		}
	}
	n = open(t, store, namespace.Options{})
	checked(t, n)
	if list, err := n.Pieces.BrokenPieces(t.Context(), 10); err != nil || len(list) != 1 || list[0] != bad {
		t.Errorf("remembered are %v: %v", list, err)
	}
	if err := n.Pieces.MarkBroken(t.Context(), bad, false); err != nil {
		t.Fatal(err)
	}
	if list, err := n.Pieces.BrokenPieces(t.Context(), 10); err != nil || len(list) != 0 {
		t.Errorf("remembered are %v: %v", list, err)
	}
}
