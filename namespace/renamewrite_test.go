package namespace_test

import (
	"strings"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// renames returns the number of names that are kept for commits in the store.
func renames(t *testing.T, s *memkv.Store) (count int) {
	t.Helper()
	if err := s.Scan(t.Context(), []byte("nv"), []byte("nw"), func(_, _ []byte) bool { count++; return true }); err != nil {
		t.Fatal(err)
	}
	return count
}

// TestARenamedWriteIsCommittedAtItsNewName, once, whatever was restarted; then nothing is kept of it.
func TestARenamedWriteIsCommittedAtItsNewName(t *testing.T) {
	for _, restart := range []bool{false, true} {
		store := memkv.New()
		n := open(t, store, namespace.Options{})
		c := prepare(t, n, alice(), "/f")
		c.Size = 10
		now := c
		for _, name := range []string{"g", "h"} {
			if err := n.Writes.RenameWrite(t.Context(), alice(), now, "/"+name); err != nil {
				t.Fatal(err)
			}
			now.Name = name
		}
		checked(t, n)
		if restart {
			n = open(t, store, namespace.Options{})
		}
		if name, err := n.Writes.NameOf(t.Context(), c); err != nil || name != "h" {
			t.Errorf("its name is %q: %v", name, err)
		}
		put(t, n, alice(), "/f", 5) // the old name is free
		for range 2 {
			if e, err := n.Writes.Commit(t.Context(), c); err != nil || e.Name != "h" || e.ID != c.ID {
				t.Fatalf("%+v, %v", e, err)
			}
		}
		if count := renames(t, store); count != 0 {
			t.Errorf("%d names are kept", count)
		}
		if name, err := n.Writes.NameOf(t.Context(), c); err != nil || name != "f" {
			t.Errorf("then its name is %q: %v", name, err)
		}
		checked(t, n)
		if err := n.Tree.Remove(t.Context(), alice(), "/h", 0); err != nil {
			t.Fatal(err)
		}
		_, err := n.Writes.Commit(t.Context(), c)
		wantKind(t, "once more, after its removal", err, errs.Conflict)
		if got := strings.Join(paths(t, n), " "); got != "/f" {
			t.Errorf("there are %s", got)
		}
		checked(t, n)
	}
}

// TestRenamesOfWritesThatAreRefused leave everything as it was.
func TestRenamesOfWritesThatAreRefused(t *testing.T) {
	store := memkv.New()
	n := open(t, store, namespace.Options{})
	ctx := t.Context()
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), "/d", 0o755, false))
	put(t, n, alice(), "/taken", 1)
	refused := func(what string, c namespace.Commit, who hemera.Identity, to string, kind errs.Kind) {
		t.Helper()
		wantKind(t, what, n.Writes.RenameWrite(ctx, who, c, to), kind)
		if count := renames(t, store); count != 0 {
			t.Errorf("%s: %d names are kept", what, count)
		}
	}
	c := prepare(t, n, alice(), "/d/f")
	refused("another directory", c, alice(), "/f", errs.Conflict)
	refused("a name that no door takes", c, alice(), "/d/g\n", errs.Invalid)
	refused("who may not", c, bob(), "/d/g", errs.Denied)
	refused("no directory", c, alice(), "/e/g", errs.NotFound)
	refused("the name is taken", prepare(t, n, alice(), "/f"), alice(), "/taken", errs.Exists)

	taken := prepare(t, n, alice(), "/late")
	put(t, n, alice(), "/late", 1)
	refused("another file has the old name", taken, alice(), "/g", errs.Conflict)

	done := prepare(t, n, alice(), "/done")
	done.Size = 10
	must[hemera.Entry](t)(n.Writes.Commit(ctx, done))
	refused("it is committed", done, alice(), "/g", errs.Conflict)

	barred := prepare(t, n, alice(), "/barred")
	must[bool](t)(n.Writes.ClaimOrphan(ctx, 1, pieceOf(barred)))
	refused("an audit removed its pieces", barred, alice(), "/g", errs.Conflict)
	gone := prepare(t, n, alice(), "/gone")
	must[bool](t)(n.Writes.Discard(ctx, gone))
	refused("it was discarded", gone, alice(), "/g", errs.Conflict)
	checked(t, n)
}

// TestARenamedWriteThatIsOver before its commit: refused for good, under either name, and no name is kept.
func TestARenamedWriteThatIsOver(t *testing.T) {
	for what, end := range map[string]func(n *namespace.Namespace, c namespace.Commit){
		"discarded": func(n *namespace.Namespace, c namespace.Commit) { must[bool](t)(n.Writes.Discard(t.Context(), c)) },
		"barred": func(n *namespace.Namespace, c namespace.Commit) {
			must[bool](t)(n.Writes.ClaimOrphan(t.Context(), 1, pieceOf(c)))
		},
		"name taken": func(n *namespace.Namespace, _ namespace.Commit) { put(t, n, alice(), "/g", 7) },
	} {
		for _, restart := range []bool{false, true} {
			store := memkv.New()
			n := open(t, store, namespace.Options{})
			c := prepare(t, n, alice(), "/f")
			c.Size = 10
			if err := n.Writes.RenameWrite(t.Context(), alice(), c, "/g"); err != nil {
				t.Fatal(err)
			}
			end(n, c)
			if restart {
				n = open(t, store, namespace.Options{})
			}
			for range 2 {
				_, err := n.Writes.Commit(t.Context(), c)
				wantKind(t, what, err, errs.Conflict)
			}
			if e, err := n.Tree.Stat(t.Context(), alice(), "/g"); what == "name taken" && (err != nil || e.Size != 7) || what != "name taken" && err == nil {
				t.Errorf("%s: %+v, %v", what, e, err)
			}
			if _, err := n.Tree.Stat(t.Context(), alice(), "/f"); err == nil {
				t.Errorf("%s: it is at its old name", what)
			}
			if count := renames(t, store); count != 0 {
				t.Errorf("%s: %d names are kept", what, count)
			}
			checked(t, n)
		}
	}
}

// TestNamesOfWritesEnd: what was renamed and never committed is forgotten when no commit of it is taken any more, and
// there is a bound until then.
func TestNamesOfWritesEnd(t *testing.T) {
	store, now := memkv.New(), time.Unix(1_700_000_000, 0)
	n := open(t, store, namespace.Options{Clock: func() time.Time { return now }})
	rename := func(from string) error {
		return n.Writes.RenameWrite(t.Context(), alice(), prepare(t, n, alice(), from), from+"2")
	}
	for i, want := range []int{1, 2, 2} {
		if err := rename([]string{"/a", "/b", "/c"}[i]); err != nil {
			t.Fatal(err)
		}
		if count := renames(t, store); count != want {
			t.Errorf("%d names are kept, not %d", count, want)
		}
		now = now.Add((hemera.CapabilityLifetime + hemera.CommitLifetime + 2*time.Hour) / 2)
	}
	n.SetRenames(1 << 18)
	wantKind(t, "too many", rename("/d"), errs.Conflict)
	checked(t, n)
}
