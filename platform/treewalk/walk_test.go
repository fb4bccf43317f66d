package treewalk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"hemera/namespace"
	"hemera/test/fixture"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// listed lists a tree by simple recursion.
func listed(t *testing.T, n *namespace.Namespace, at string, depth int) (all []string) {
	t.Helper()
	all = []string{at}
	if depth == 0 {
		return all
	}
	err := n.Tree.List(t.Context(), hemera.SystemIdentity(), at, func(e hemera.Entry) error {
		all = append(all, listed(t, n, strings.TrimSuffix(at, "/")+"/"+e.Name, depth-1)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// walked returns the paths that a walk visits. A path that could not be listed has a mark in front.
func walked(t *testing.T, n *namespace.Namespace, who hemera.Identity, top string, depth int) (all []string) {
	t.Helper()
	e, err := n.Tree.Stat(t.Context(), hemera.SystemIdentity(), top)
	if err != nil {
		t.Fatal(err)
	}
	visit := func(path string, _ hemera.Entry, failure error) error {
		if failure != nil {
			if !strings.HasPrefix(failure.Error(), "namespace.List "+path+": ") {
				t.Errorf("the error of %s does not name it: %v", path, failure)
			}
			path = "!" + path
		}
		all = append(all, path)
		return nil
	}
	if err := Walk(t.Context(), top, e, visit, Options{Dirs: n.Tree, Who: who, Depth: depth}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWalkIsInOrder compares walks of wide, deep and random trees with plain listings.
func TestWalkIsInOrder(t *testing.T) {
	system := hemera.SystemIdentity()
	trees := map[string]func(n *namespace.Namespace){
		"nothing": func(*namespace.Namespace) {},
		"wide": func(n *namespace.Namespace) {
			for i := range 3*pageSize + 1 {
				fixture.MakeDirs(t, n.Tree, system, fmt.Sprintf("/d%d", i), 0o755)
			}
			fixture.MakeDirs(t, n.Tree, system, "/d9/a/b", 0o755)
		},
		"deep": func(n *namespace.Namespace) { // each level is read again when the walk comes back
			path := ""
			for i := range 3 * pageDepth {
				path += "/m"
				for _, name := range []string{"a", "z", "z0"} {
					fixture.MakeDirs(t, n.Tree, system, fmt.Sprintf("%s/%s%d", path, name, i), 0o755)
				}
			}
		},
		"random": func(n *namespace.Namespace) {
			r := rand.New(rand.NewPCG(7, 8))
			all := []string{""}
			for range 2000 {
				at := all[r.IntN(len(all))] + fmt.Sprintf("/%c%d", 'a'+rune(r.IntN(26)), r.IntN(1000))
				fixture.MakeDirs(t, n.Tree, system, at, 0o755)
				all = append(all, at)
			}
		},
	}
	for name, fill := range trees {
		n := fixture.NewNamespace(t)
		fill(n)
		for depth := range 4 {
			plain := depth
			if depth == 0 {
				plain = -1
			}
			if got, want := walked(t, n, system, "/", depth), listed(t, n, "/", plain); !slices.Equal(got, want) {
				t.Errorf("%s to depth %d: %d entries, want %d", name, depth, len(got), len(want))
			}
		}
	}
}

func TestWalkSaysWhatItMayNotSee(t *testing.T) {
	n := fixture.NewNamespace(t)
	owner, guest := hemera.Identity{Name: "owner", UID: 1}, hemera.Identity{Name: "guest", UID: 2}
	fixture.MakeDirs(t, n.Tree, owner, "/open/sub", 0o755)
	fixture.MakeDirs(t, n.Tree, owner, "/secret/sub", 0o755)
	fixture.MakeDirs(t, n.Tree, owner, "/names/sub/below", 0o755)
	for path, mode := range map[string]uint32{"/secret": 0o700, "/names": 0o744} {
		if err := n.Tree.SetMode(t.Context(), owner, path, mode); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"/", "/names", "/names/sub", "!/names/sub", "/open", "/open/sub", "/secret", "!/secret"}
	if got := walked(t, n, guest, "/", 0); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestWalkEndsWithItsListener: a walk whose visitor blocks reads a bounded number of pages, and a cancelled walk leaves
// no reader.
func TestWalkEndsWithItsListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := fixture.NewNamespace(t)
		for i := range 100 {
			fixture.MakeDirs(t, n.Tree, hemera.SystemIdentity(), fmt.Sprintf("/a/d%d", i), 0o755)
		}
		s := fixture.NewGatedDirectories(n.Tree)
		ctx, cancel := context.WithCancel(t.Context())
		top, err := n.Tree.Stat(ctx, hemera.SystemIdentity(), "/")
		if err != nil {
			t.Fatal(err)
		}
		visit := func(string, hemera.Entry, error) error { return nil }
		done := make(chan error, 1)
		go func() { done <- Walk(ctx, "/", top, visit, Options{Dirs: s, Who: hemera.SystemIdentity()}) }()
		for range 2 { // the root's page and that of /a; then pages of d… are requested
			s.Gate <- struct{}{}
		}
		synctest.Wait()
		if most := s.Most.Load(); most > readersMax || most < 2 {
			t.Errorf("%d pages were read at a time", most)
		}
		cancel()
		if err := <-done; !errors.Is(err, errs.Cancelled) && !errors.Is(err, context.Canceled) {
			t.Errorf("a walk whose listener went away: %v", err)
		}
		if left := s.Readers.Load(); left != 0 {
			t.Errorf("%d pages are still being read", left)
		}
	})
}
