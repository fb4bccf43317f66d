package namespace_test

import (
	"errors"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// alice and bob are users without privileges; system is Hemera itself.
func alice() hemera.Identity  { return hemera.Identity{Name: "alice", UID: 1000, GID: 1000} }
func bob() hemera.Identity    { return hemera.Identity{Name: "bob", UID: 1001, GID: 1001} }
func system() hemera.Identity { return hemera.SystemIdentity() }

func open(t testing.TB, s kv.Store, o namespace.Options) *namespace.Namespace {
	t.Helper()
	n, err := namespace.Open(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func fresh(t testing.TB) *namespace.Namespace {
	return open(t, memkv.New(), namespace.Options{})
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantKind(t testing.TB, what string, err error, kind errs.Kind) {
	t.Helper()
	if !errors.Is(err, kind) || errs.KindOf(err) != kind {
		t.Errorf("%s: got %v, want %v", what, err, kind)
	}
}

func checked(t testing.TB, n *namespace.Namespace) {
	t.Helper()
	problems, err := n.Inspection.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// put writes a whole file of two replicas on disks 1 and 2.
func put(t testing.TB, n *namespace.Namespace, who hemera.Identity, path string, size int64) hemera.Entry {
	t.Helper()
	c := prepare(t, n, who, path)
	c.Size = size
	return must[hemera.Entry](t)(n.Writes.Commit(t.Context(), c))
}

func prepare(t testing.TB, n *namespace.Namespace, who hemera.Identity, path string) namespace.Commit {
	t.Helper()
	p, err := n.Writes.Prepare(t.Context(), who, hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Mode: 0o644})
	if err != nil {
		t.Fatal(err)
	}
	return commitOf(p, path, who)
}

func commitOf(p namespace.Prepared, path string, who hemera.Identity) namespace.Commit {
	c := namespace.Commit{ID: p.ID, Gen: p.Gen, Parent: p.Parent.ID, Name: base(path), Mode: 0o644, UID: who.UID, GID: who.GID,
		Layout: hemera.Replica(2), Space: "default", Mtime: time.Unix(1_700_000_000, 0), Who: who.Name,
		Pieces: []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}}}
	if p.Existing {
		c.BaseGen = p.Entry.Gen
	}
	if p.Keeps {
		c.Replaces = p.Entry.ID
	}
	return c
}

func base(path string) string {
	for i := len(path) - 1; ; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
}

func TestLifeOfAFile(t *testing.T) {
	n := fresh(t)
	ctx := t.Context()
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), "/a/b", 0o755, true))
	e := put(t, n, alice(), "/a/b/f", 100)
	if got := must[hemera.Entry](t)(n.Tree.Stat(ctx, bob(), "/a/b/f")); got.ID != e.ID || got.Size != 100 {
		t.Errorf("stat: %+v", got)
	}
	root := must[hemera.Entry](t)(n.Tree.Stat(ctx, bob(), "/"))
	if root.Tree != (hemera.TreeTotals{Files: 1, Dirs: 2, Bytes: 100, Physical: 200}) {
		t.Errorf("totals of the root: %+v", root.Tree)
	}
	_, path, err := n.Inspection.Resolve(ctx, e.ID)
	if err != nil || path != "/a/b/f" {
		t.Errorf("resolve: %q, %v", path, err)
	}
	if err := n.Tree.Rename(ctx, alice(), "/a/b", "/c"); err != nil {
		t.Fatal(err)
	}
	wantKind(t, "the old path", n.Tree.Remove(ctx, alice(), "/a/b/f", 0), errs.NotFound)
	wantKind(t, "removing another's file", n.Tree.Remove(ctx, bob(), "/c/f", 0), errs.Denied)
	wantKind(t, "removing a full directory", n.Tree.Remove(ctx, alice(), "/c", 0), errs.NotEmpty)
	checked(t, n)
	if err := n.Tree.Remove(ctx, alice(), "/c/f", hemera.KindFile); err != nil {
		t.Fatal(err)
	}
	for disk := hemera.DiskID(1); disk <= 2; disk++ {
		un := must[[]hemera.PieceID](t)(n.Pieces.Unlinked(ctx, disk, 10))
		if len(un) != 1 || un[0].File != e.ID {
			t.Errorf("disk %d is to remove %v", disk, un)
		}
		if err := n.Pieces.ConfirmRemoved(ctx, disk, un); err != nil {
			t.Error(err)
		}
	}
	if s := n.Inspection.Stats(); s.Unlinked != 0 || s.Totals.Dirs != 2 || s.Totals.Files != 0 {
		t.Errorf("stats: %+v", s)
	}
	checked(t, n)
}
