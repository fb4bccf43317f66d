package namespace_test

import (
	"errors"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/rules/lifecycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// What was decided on an entry is done to that entry alone: not to another content, nor to another file of its name.
func TestOnlyWhatWasDecidedOnIsRemoved(t *testing.T) {
	n, advance := ticking(t)
	ctx := t.Context()
	good(t, n.Tree.SetXattr(ctx, system(), "/", lifecycle.AttrExpire, []byte("age=1h"), false))
	was := put(t, n, alice(), "/f", 10)
	rewritten := put(t, n, alice(), "/f", 20)
	if err := n.Lifecycle.RemoveDue(ctx, "/f", was, time.Time{}); !errors.Is(err, errs.Conflict) {
		t.Errorf("another content: %v", err)
	}
	good(t, n.Tree.Remove(ctx, alice(), "/f", 0))
	another := put(t, n, alice(), "/f", 20)
	if err := n.Lifecycle.RemoveDue(ctx, "/f", rewritten, time.Time{}); !errors.Is(err, errs.Conflict) {
		t.Errorf("another file: %v", err)
	}
	good(t, n.Tree.SetTimes(ctx, system(), "/f", time.Unix(1e9, 0)))
	if err := n.Lifecycle.RemoveDue(ctx, "/f", another, time.Time{}); !errors.Is(err, errs.Conflict) {
		t.Errorf("another time: %v", err)
	}
	now, err := n.Tree.Stat(ctx, system(), "/f")
	good(t, err)
	if err := n.Lifecycle.RemoveDue(ctx, "/f", now, time.Time{}); !errors.Is(err, errs.Conflict) {
		t.Errorf("before its time: %v", err)
	}
	advance(2 * time.Hour)
	good(t, n.Lifecycle.RemoveDue(ctx, "/f", now, time.Time{}))
	if err := n.Lifecycle.RemoveDue(ctx, "/f", now, time.Time{}); !errors.Is(err, errs.NotFound) {
		t.Errorf("once more: %v", err)
	}
	checked(t, n)
}

// TestRulesRemoveWithTheRightsOfTheirSetters: a user's rule removes nothing that the user may not remove, and an admin's does.
func TestRulesRemoveWithTheRightsOfTheirSetters(t *testing.T) {
	n, advance := ticking(t)
	ctx := t.Context()
	_, err := n.Tree.Mkdir(ctx, alice(), "/d", 0o755, false)
	good(t, err)
	f := put(t, n, alice(), "/d/f", 10)
	good(t, n.Tree.SetXattr(ctx, alice(), "/d", lifecycle.AttrExpire, []byte("age=1h"), false))
	good(t, n.Tree.SetMode(ctx, alice(), "/d", 0o555))
	advance(2 * time.Hour)
	if err := n.Lifecycle.RemoveDue(ctx, "/d/f", f, time.Time{}); !errors.Is(err, errs.Denied) {
		t.Errorf("a directory that its owner may not change: %v", err)
	}
	good(t, n.Tree.SetXattr(ctx, system(), "/d", lifecycle.AttrExpire, []byte("age=1h"), false))
	good(t, n.Lifecycle.RemoveDue(ctx, "/d/f", f, time.Time{}))
	checked(t, n)
}

func TestAccessIsNoted(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	_, err := n.Tree.Mkdir(ctx, system(), "/asks", 0o777, true)
	good(t, err)
	good(t, n.Tree.SetXattr(ctx, system(), "/asks", lifecycle.AttrExpire, []byte("unused=30d"), false))
	asks, err := n.Tree.Stat(ctx, system(), "/asks")
	good(t, err)
	inside, outside := put(t, n, alice(), "/asks/f", 10), put(t, n, alice(), "/f", 10)
	good(t, n.Tree.SetXattr(ctx, alice(), "/asks/f", "user.a", []byte("b"), false))
	before, err := n.Tree.Stat(ctx, system(), "/asks/f")
	good(t, err)
	note := func(day string) {
		t.Helper()
		files := []hemera.FileID{inside.ID, outside.ID, asks.ID, 1 << 40}
		good(t, n.Lifecycle.NoteAccess(ctx, day, files))
	}
	note("2026-11-23")
	note("2026-11-20") // an older note comes late
	e, err := n.Tree.Stat(ctx, system(), "/asks/f")
	if err != nil || string(e.Xattrs[lifecycle.AttrAccess]) != "2026-11-23" || string(e.Xattrs["user.a"]) != "b" || !e.Ctime.Equal(before.Ctime) || e.Gen != before.Gen {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := n.Tree.Stat(ctx, system(), "/f"); err != nil || len(e.Xattrs) != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	checked(t, n)
}

// A conversion changes where and how a file is stored, and nothing else; what is not the file's content is refused.
func TestConversionCommits(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	put(t, n, alice(), "/f", 10)
	good(t, n.Tree.SetXattr(ctx, alice(), "/f", "user.a", []byte("b"), false))
	good(t, n.Tree.SetTimes(ctx, system(), "/f", time.Unix(1e9, 0)))
	was, err := n.Tree.Stat(ctx, system(), "/f")
	good(t, err)
	prepared := func() namespace.Commit {
		t.Helper()
		p, path, err := n.Writes.PrepareConversion(ctx, was.ID, was.Gen)
		if err != nil || path != "/f" {
			t.Fatalf("%s, %v", path, err)
		}
		c := commitOf(p, "/f", system())
		c.Convert, c.BaseGen, c.Size, c.Sums = true, was.Gen, was.Size, was.Checksums
		c.Layout, c.Space = hemera.Plain(), "other"
		c.Pieces = []hemera.Piece{{Index: 0, Disk: 7}}
		return c
	}
	c := prepared()
	c.Size++
	if _, err := n.Writes.Commit(ctx, c); !errors.Is(err, errs.Corrupt) {
		t.Errorf("another size: %v", err)
	}
	if len(was.Checksums) > 0 {
		c = prepared()
		c.Sums = nil
		if _, err := n.Writes.Commit(ctx, c); !errors.Is(err, errs.Corrupt) {
			t.Errorf("without a checksum: %v", err)
		}
	}
	c = prepared()
	e, err := n.Writes.Commit(ctx, c)
	if err != nil || e.Layout != hemera.Plain() || e.Space != "other" || e.Gen != c.Gen || !e.Mtime.Equal(was.Mtime) || e.UID != was.UID || e.Mode != was.Mode ||
		string(e.Xattrs["user.a"]) != "b" || !e.Birth.Equal(was.Birth) {
		t.Errorf("%+v, %v; it was %+v", e, err, was)
	}
	if _, err := n.Writes.Commit(ctx, c); err != nil {
		t.Errorf("the request again: %v", err)
	}
	if _, _, err := n.Writes.PrepareConversion(ctx, was.ID, was.Gen); !errors.Is(err, errs.Conflict) {
		t.Errorf("of a content that is gone: %v", err)
	}
	checked(t, n)
}
