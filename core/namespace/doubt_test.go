package namespace_test

import (
	"fmt"
	"testing"
	"time"

	"hemera"
	"hemera/core/namespace"
	"hemera/errs"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
)

// TestALogThatWasCut loses what was committed last, without a word: its pieces are in doubt, until an audit finds one. Then the namespace
// went back, a rebuild makes the file again, and an admin ends it.
func TestALogThatWasCut(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	clock := namespace.Options{Clock: func() time.Time { return now }}
	store := kv.Store(memkv.New())
	n := open(t, store, clock)
	old := put(t, n, alice(), "/old", 10)
	picture := must[kv.Snapshot](t)(store.Snapshot(t.Context()))
	defer func() { _ = picture.Close() }()
	now = now.Add(time.Second)
	e := put(t, n, alice(), "/new", 10)
	lost, sealed := hemera.PieceID{File: e.ID, Gen: e.Gen}, now.Add(-10*time.Minute) // by a clock that is behind

	store = pictured(t, picture)
	now = now.Add(time.Minute)
	n = open(t, store, clock)
	if n.Unsure(lost, sealed) {
		t.Error("in doubt after an end in good order")
	}
	if err := n.Doubt(t.Context()); err != nil {
		t.Fatal(err)
	}
	n = open(t, store, clock)
	young := prepare(t, n, alice(), "/young")
	for what, p := range map[string]struct {
		piece  hemera.PieceID
		sealed time.Time
		unsure bool
	}{
		"committed last":     {lost, sealed, true},
		"long before":        {hemera.PieceID{File: old.ID, Gen: old.Gen}, now.Add(-3 * time.Hour), false},
		"of this life":       {hemera.PieceID{File: young.ID, Gen: young.Gen}, now, false},
		"by a clock ahead":   {lost, now.Add(48 * time.Hour), true},
		"of an older number": {hemera.PieceID{File: old.ID, Gen: old.Gen}, sealed, true},
	} {
		if got := n.Unsure(p.piece, p.sealed); got != p.unsure || n.NewerThanRestore(p.piece, p.sealed) {
			t.Errorf("%s: in doubt %v", what, got)
		}
	}
	if n.Restored() || n.WentBack() != (hemera.WentBack{}) {
		t.Errorf("%+v before a piece was found", n.WentBack())
	}
	if err := n.FoundUnsure(t.Context(), lost, sealed); err != nil {
		t.Fatal(err)
	}
	n = open(t, store, clock)
	if back := n.WentBack(); !n.Restored() || !back.Unclean || !back.Merged.IsZero() || !n.Lost(lost, sealed) || !n.Unsure(lost, sealed) || n.NewerThanRestore(lost, sealed) {
		t.Errorf("%+v", back)
	}
	out, err := n.Adopt(t.Context(), namespace.Adoption{ID: lost.File, Gen: lost.Gen, Path: "/new", Mode: 0o644, Size: 10,
		Layout: hemera.Replica(1), Space: "default", Pieces: []hemera.Piece{{Disk: 1}}, Mtime: sealed})
	if err != nil || out.Outcome != namespace.AdoptedHere || out.Path != "/new" {
		t.Errorf("%+v, %v", out, err)
	}
	if err := n.Merged(t.Context()); err != nil || n.WentBack().Merged.IsZero() {
		t.Error(err)
	}
	if err := n.ForgetLost(t.Context()); err != nil || n.Unsure(lost, sealed) || n.Restored() {
		t.Error("after it was ended", err)
	}
	wantKind(t, "again", n.ForgetLost(t.Context()), errs.NotFound)
	checked(t, n)
}

// TestEndsInBadOrderAreBounded: what is remembered of very many, and for how long.
func TestEndsInBadOrderAreBounded(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	clock := namespace.Options{Clock: func() time.Time { return now }}
	store := memkv.New()
	n := open(t, store, clock)
	var all []hemera.PieceID
	for i := range 80 {
		e := put(t, n, alice(), fmt.Sprintf("/f%d", i), 1)
		all = append(all, hemera.PieceID{File: e.ID, Gen: e.Gen})
		now = now.Add(6 * time.Hour)
		n = open(t, store, clock)
		if err := n.Doubt(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	n = open(t, store, clock)
	for i, p := range all {
		if !n.Unsure(p, now.Add(time.Duration(i-len(all))*6*time.Hour)) {
			t.Errorf("%d is not in doubt any more", i)
		}
	}
	now = now.Add(31 * 24 * time.Hour)
	if err := n.Doubt(t.Context()); err != nil || n.Unsure(all[0], now.Add(-50*24*time.Hour)) {
		t.Error("in doubt for ever", err)
	}
}

// pictured is a store with all that a picture of another has.
func pictured(t *testing.T, from kv.Reader) kv.Store {
	t.Helper()
	s := memkv.New()
	w := must[kv.Writer](t)(s.Acquire(t.Context(), "copy"))
	err := from.Scan(t.Context(), nil, nil, func(k, v []byte) bool {
		var b kv.Batch
		b.Put(append([]byte{}, k...), append([]byte{}, v...))
		must[kv.Ticket](t)(w.Enqueue(&b))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
