package namespace_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestCommitComesAgainAfterRemoval: a head that did not hear the answer asks again, and meanwhile the
// file was removed and its pieces are gone.
func TestCommitComesAgainAfterRemoval(t *testing.T) {
	for _, size := range []int64{0, 100} {
		store, ctx, now := memkv.New(), t.Context(), time.Unix(1_700_000_000, 0)
		who := hemera.SystemIdentity()
		reopen := func() *namespace.Namespace {
			n, err := namespace.Open(ctx, store, namespace.Options{Clock: func() time.Time { return now }})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		n := reopen()
		make := func(path string) namespace.Commit {
			p, err := n.Writes.Prepare(ctx, who, hemera.OpenRequest{Path: path, Access: hemera.AccessCreate})
			if err != nil {
				t.Fatal(err)
			}
			c := namespace.Commit{ID: p.ID, Gen: p.Gen, Parent: p.Parent.ID, Name: path[1:], Size: size, Layout: hemera.Plain()}
			if size > 0 {
				c.Pieces = []hemera.Piece{{Disk: 1}}
			}
			if _, err := n.Writes.Commit(ctx, c); err != nil {
				t.Fatal(err)
			}
			return c
		}
		remove := func(path string) {
			if err := n.Tree.Remove(ctx, who, path, hemera.KindFile); err != nil {
				t.Fatal(err)
			}
			gone, err := n.Pieces.Unlinked(ctx, 1, 10)
			if err == nil {
				err = n.Pieces.ConfirmRemoved(ctx, 1, gone)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		c := make("/a")
		remove("/a")
		for range 2 {
			if _, err := n.Writes.Commit(ctx, c); !errors.Is(err, errs.Conflict) {
				t.Errorf("size %d: commit after the removal: %v", size, err)
			}
			n = reopen()
		}
		now = now.Add(3 * time.Hour) // nothing is kept for ever
		make("/b")
		remove("/b")
		kept := 0
		if err := store.Scan(ctx, []byte("nr"), []byte("ns"), func(_, _ []byte) bool { kept++; return true }); err != nil || kept != 1 {
			t.Errorf("%d records of removed files (%v)", kept, err)
		}
		if problems, err := n.Inspection.Check(ctx); err != nil || len(problems) > 0 {
			t.Errorf("check: %v %v", problems, err)
		}
	}
}

// TestARefusedCommitStaysRefused: the request of a commit is on its way twice. The first is refused, and
// the head removes the pieces; the second finds what was in the way gone.
func TestARefusedCommitStaysRefused(t *testing.T) {
	for what, one := range map[string]struct {
		prepare func(t *testing.T, n *namespace.Namespace) (c namespace.Commit, makeWay func() error)
		kind    errs.Kind
	}{
		"the name is taken":       {nameTaken, errs.Conflict},
		"attributes have no room": {attributesFull, errs.TooLarge},
	} {
		for _, restart := range []bool{false, true} {
			store := memkv.New()
			n := open(t, store, namespace.Options{})
			c, makeWay := one.prepare(t, n)
			_, err := n.Writes.Commit(t.Context(), c)
			wantKind(t, what, err, one.kind)
			if err := makeWay(); err != nil {
				t.Fatal(err)
			}
			if restart {
				n = open(t, store, namespace.Options{})
			}
			_, err = n.Writes.Commit(t.Context(), c)
			wantKind(t, what+", the same again", err, errs.Conflict)
			checked(t, n)
		}
	}
}

func nameTaken(t *testing.T, n *namespace.Namespace) (c namespace.Commit, makeWay func() error) {
	c = prepare(t, n, alice(), "/f")
	put(t, n, alice(), "/f", 10)
	return c, func() error { return n.Tree.Remove(t.Context(), alice(), "/f", 0) }
}

func attributesFull(t *testing.T, n *namespace.Namespace) (c namespace.Commit, makeWay func() error) {
	put(t, n, alice(), "/f", 10)
	c = prepare(t, n, alice(), "/f")
	c.Xattrs = map[string][]byte{"user.one": nil}
	for i := range hemera.XattrsMax {
		if err := n.Tree.SetXattr(t.Context(), alice(), "/f", fmt.Sprintf("user.%d", i), nil, false); err != nil {
			t.Fatal(err)
		}
	}
	return c, func() error { return n.Tree.RemoveXattr(t.Context(), alice(), "/f", "user.0") }
}

// TestADiscardedWriteIsNeverCommitted: but what was committed before stays, whatever its size.
func TestADiscardedWriteIsNeverCommitted(t *testing.T) {
	for _, exists := range []bool{false, true} {
		store := memkv.New()
		n := open(t, store, namespace.Options{})
		if exists {
			put(t, n, alice(), "/f", 5)
		}
		c := prepare(t, n, alice(), "/f")
		begun := namespace.Commit{ID: c.ID, Gen: c.Gen, BaseGen: c.BaseGen}
		for range 2 {
			if gone, err := n.Writes.Discard(t.Context(), begun); err != nil || !gone {
				t.Errorf("exists %t: discard of what was begun: %t, %v", exists, gone, err)
			}
		}
		for range 2 {
			_, err := n.Writes.Commit(t.Context(), c)
			wantKind(t, "a discarded write", err, errs.Conflict)
			n = open(t, store, namespace.Options{})
		}
		e := put(t, n, alice(), "/f", 7)
		begun = namespace.Commit{ID: e.ID, Gen: e.Gen}
		if gone, err := n.Writes.Discard(t.Context(), begun); err != nil || gone {
			t.Errorf("exists %t: discard of what was committed, %d bytes: %t, %v", exists, e.Size, gone, err)
		}
		if _, err := n.Tree.Stat(t.Context(), alice(), "/f"); err != nil {
			t.Error(err)
		}
		checked(t, n)
	}
}
