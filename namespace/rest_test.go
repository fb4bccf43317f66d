package namespace_test

import (
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/rules/lifecycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestARestoredNamespaceRemovesNothingByAge: after a backup a user took a file out of a bin, and read another one each day. The
// restored namespace knows of neither, and lets no bin and no rule remove them until an admin has ended that.
func TestARestoredNamespaceRemovesNothingByAge(t *testing.T) {
	const day = 24 * time.Hour
	store, start := memkv.New(), time.Now()
	now := start
	o := namespace.Options{Clock: func() time.Time { return now }}
	n := open(t, store, o)
	must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), system(), "/d", 0o777, false))
	setRule(t, n, "/d", "30d")
	good(t, n.Tree.SetXattr(t.Context(), system(), "/d", lifecycle.AttrExpire, []byte("unused=30d"), false))
	binned, used := put(t, n, alice(), "/d/binned", 10), put(t, n, alice(), "/d/used", 10)
	good(t, n.Tree.Remove(t.Context(), alice(), "/d/binned", hemera.KindFile))
	now = start.Add(20 * day)
	taken, picture := now, must[kv.Snapshot](t)(store.Snapshot(t.Context()))
	defer func() { _ = picture.Close() }()
	good(t, restoreAt(t, n, alice(), binned.ID, ""))
	now = start.Add(40 * day)
	good(t, n.Lifecycle.NoteAccess(t.Context(), now.UTC().Format(time.DateOnly), []hemera.FileID{used.ID}))

	again, _, err := restored(t, picture, taken, now)
	good(t, err)
	n = open(t, again, o)
	due := must[hemera.Entry](t)(n.Tree.Stat(t.Context(), alice(), "/d/used"))
	if err := n.Lifecycle.RemoveDue(t.Context(), "/d/used", due, start); errs.KindOf(err) != errs.Unavailable {
		t.Errorf("a rule removes a file: %v", err)
	}
	if purged, err := n.Bins.Expire(t.Context(), 100); purged != 0 || err != nil {
		t.Errorf("%d purged, %v", purged, err)
	}
	good(t, restoreAt(t, n, alice(), binned.ID, ""))
	good(t, n.Tree.Remove(t.Context(), alice(), "/d/binned", hemera.KindFile))
	now = now.Add(31 * day)
	good(t, n.Past.ForgetLost(t.Context()))
	if purged, err := n.Bins.Expire(t.Context(), 100); purged != 1 || err != nil {
		t.Errorf("after that: %d purged, %v", purged, err)
	}
	if err := n.Lifecycle.RemoveDue(t.Context(), "/d/used", due, start); err != nil {
		t.Errorf("after that: %v", err)
	}
}
