package namespace_test

import (
	"errors"
	"testing"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/kv/memkv"
	"hemera/namespace"
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
			p, err := n.Prepare(ctx, who, hemera.OpenRequest{Path: path, Access: hemera.AccessCreate})
			if err != nil {
				t.Fatal(err)
			}
			c := namespace.Commit{ID: p.ID, Gen: p.Gen, Parent: p.Parent.ID, Name: path[1:], Size: size, Layout: hemera.Plain()}
			if size > 0 {
				c.Pieces = []hemera.Piece{{Disk: 1}}
			}
			if _, err := n.Commit(ctx, c); err != nil {
				t.Fatal(err)
			}
			return c
		}
		remove := func(path string) {
			if err := n.Remove(ctx, who, path, hemera.KindFile); err != nil {
				t.Fatal(err)
			}
			gone, err := n.Unlinked(ctx, 1, 10)
			if err == nil {
				err = n.Forget(ctx, 1, gone)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		c := make("/a")
		remove("/a")
		for range 2 {
			if _, err := n.Commit(ctx, c); !errors.Is(err, errs.Conflict) {
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
		if problems, err := n.Check(ctx); err != nil || len(problems) > 0 {
			t.Errorf("check: %v %v", problems, err)
		}
	}
}
