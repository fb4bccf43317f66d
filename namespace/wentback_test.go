package namespace_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/namespace/schema"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestWhatComesAfterABackupIsLost takes a backup in the middle of a life, without a restart: all numbers that this life gives
// out afterwards are lost, and so is a write that was open then. What was removed long before is not.
func TestWhatComesAfterABackupIsLost(t *testing.T) {
	store := memkv.New()
	n := open(t, store, namespace.Options{})
	removed := put(t, n, alice(), "/removed", 10)
	if err := n.Tree.Remove(t.Context(), alice(), "/removed", hemera.KindFile); err != nil {
		t.Fatal(err)
	}
	waiting := prepare(t, n, alice(), "/open")
	old := put(t, n, alice(), "/old", 10)
	taken := time.Now()
	picture := must[kv.Snapshot](t)(store.Snapshot(t.Context()))
	defer func() { _ = picture.Close() }()
	type lost struct {
		piece hemera.PieceID
		path  string
	}
	var after []lost
	for i := range 12 {
		e := put(t, n, alice(), fmt.Sprintf("/new%d", i), 10)
		after = append(after, lost{hemera.PieceID{File: e.ID, Gen: e.Gen}, fmt.Sprintf("/new%d", i)})
	}
	rewrite := must[namespace.Prepared](t)(n.Writes.Prepare(t.Context(), alice(), hemera.OpenRequest{Path: "/old", Access: hemera.AccessCreate}))
	after = append(after, lost{hemera.PieceID{File: old.ID, Gen: rewrite.Gen}, "/old"})
	must[hemera.Entry](t)(n.Writes.Commit(t.Context(), waiting))
	after = append(after, lost{hemera.PieceID{File: waiting.ID, Gen: waiting.Gen}, "/open"})

	again, _, err := restored(t, picture, taken, taken.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	n = open(t, again, namespace.Options{})
	sealed, long := taken.Add(time.Minute), taken.Add(-48*time.Hour)
	for _, l := range after {
		if !n.Past.Lost(l.piece, sealed) || !n.Past.NewerThanRestore(l.piece, sealed) {
			t.Errorf("%s, %v, is taken for removed", l.path, l.piece)
		}
		out, err := n.Recovery.Adopt(t.Context(), namespace.Adoption{ID: l.piece.File, Gen: l.piece.Gen, Path: l.path, Mode: 0o644, Size: 20,
			Layout: hemera.Replica(1), Space: "default", Pieces: []hemera.Piece{{Disk: 1}}, Mtime: sealed})
		if err != nil || out.Path != l.path || out.Outcome != namespace.AdoptedHere && out.Outcome != namespace.AdoptedContent {
			t.Errorf("%s: %+v, %v", l.path, out, err)
		}
	}
	for _, p := range []hemera.PieceID{{File: removed.ID, Gen: removed.Gen}, {File: old.ID, Gen: old.Gen}} {
		if n.Past.Lost(p, long) || n.Past.NewerThanRestore(p, long) {
			t.Errorf("%v was there before the backup", p)
		}
	}
	mine := prepare(t, n, alice(), "/mine")
	if p := (hemera.PieceID{File: mine.ID, Gen: mine.Gen}); n.Past.Lost(p, sealed) || n.Past.NewerThanRestore(p, sealed) {
		t.Error("a number of the restored namespace is taken for one of the lost")
	}
	checked(t, n)
}

// TestRestoresOverlap restores again and again, with and without a change between. What was lost by one restore stays lost after
// the next, until a search of all disks has ended and an admin ends it.
func TestRestoresOverlap(t *testing.T) {
	store := kv.Store(memkv.New())
	put(t, open(t, store, namespace.Options{}), alice(), "/f", 10)
	day := 24 * time.Hour
	taken := time.Now()
	lost := map[hemera.PieceID]time.Time{}
	var n *namespace.Namespace
	for round := range 6 {
		again, b, err := restored(t, store, taken, taken.Add(day))
		if err != nil {
			t.Fatal(err)
		}
		store = again
		n = open(t, store, namespace.Options{Clock: func() time.Time { return taken.Add(day) }})
		lost[hemera.PieceID{File: hemera.FileID(b.From), Gen: 1}] = time.Time{}
		lost[hemera.PieceID{File: hemera.FileID(b.To - 1), Gen: 1}] = time.Time{}
		lost[hemera.PieceID{File: 2, Gen: 1, Index: uint8(round)}] = b.Taken.Add(time.Hour)
		if round%2 == 1 {
			put(t, n, alice(), fmt.Sprintf("/f%d", round), 10)
		}
		for p, sealed := range lost {
			if !n.Past.Lost(p, sealed) || !n.Past.NewerThanRestore(p, sealed) {
				t.Errorf("round %d: %v, sealed %v, is not lost any more", round, p, sealed)
			}
		}
		if back := n.Past.WentBack(); !back.Merged.IsZero() || !back.Restored.Equal(b.Restored) {
			t.Errorf("round %d: %+v", round, back)
		}
		taken = taken.Add(2 * day)
	}
	if err := n.Past.Merged(t.Context()); err != nil {
		t.Fatal(err)
	}
	n = open(t, store, namespace.Options{})
	if n.Past.WentBack().Merged.IsZero() || !n.Past.Restored() {
		t.Errorf("%+v", n.Past.WentBack())
	}
	if err := n.Past.ForgetLost(t.Context()); err != nil || n.Past.WentBack() != (hemera.WentBack{}) {
		t.Errorf("%+v, %v", n.Past.WentBack(), err)
	}
	wantKind(t, "again", n.Past.ForgetLost(t.Context()), errs.NotFound)
}

// TestARestoreBeginsBehindWhatWasReserved: what may be lost begins behind the largest number of the records, and new numbers above those that
// were reserved before: a clock that is behind them is refused, however few of them were given out.
func TestARestoreBeginsBehindWhatWasReserved(t *testing.T) {
	store := memkv.New()
	n := open(t, store, namespace.Options{})
	put(t, n, alice(), "/old", 10)
	last := must[hemera.Entry](t)(n.Tree.Stat(t.Context(), alice(), "/old")).ID
	w := must[kv.Writer](t)(store.Acquire(t.Context(), "restore"))
	const second = 1 << 20 // numbers
	var batch kv.Batch
	batch.Put(schema.MetaKey(schema.MetaIDs), schema.EncodePair(5*second, 0))
	if err := must[kv.Ticket](t)(w.Enqueue(&batch)).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := namespace.Restored(t.Context(), store, w, time.Time{}, time.Unix(3, 0)); !errors.Is(err, errs.Invalid) {
		t.Errorf("new numbers below those that were reserved: %v", err)
	}
	b, err := namespace.Restored(t.Context(), store, w, time.Time{}, time.Unix(6, 0))
	if err != nil || b.From != uint64(last)+1 || b.To != 6*second {
		t.Errorf("%+v, %v; the last number is %d", b, err, last)
	}
}
