package namespace_test

import (
	"errors"
	"strings"
	"testing"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// chain returns a path of so many directories of the name.
func chain(name string, depth int) string { return strings.Repeat("/"+name, depth) }

// TestDepthIsBounded: nothing is made below too many directories, and no tree moves there, so that a change is never
// written to more directories than that.
func TestDepthIsBounded(t *testing.T) {
	ctx := t.Context()
	n := open(t, memkv.New(), namespace.Options{})
	if _, err := n.Tree.Mkdir(ctx, alice(), chain("d", hemera.DepthMax+1), 0o755, true); !errors.Is(err, errs.TooLarge) {
		t.Errorf("mkdir too deep: %v", err)
	}
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), chain("d", hemera.DepthMax), 0o755, true))
	if _, err := n.Writes.Prepare(ctx, alice(), hemera.OpenRequest{Path: chain("d", hemera.DepthMax) + "/f", Access: hemera.AccessCreate}); !errors.Is(err, errs.TooLarge) {
		t.Errorf("a file too deep: %v", err)
	}
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), chain("e", 10), 0o755, true))
	low, high := chain("d", hemera.DepthMax-9), chain("d", hemera.DepthMax-10)
	if err := n.Tree.Rename(ctx, alice(), "/e", low+"/e"); !errors.Is(err, errs.TooLarge) {
		t.Errorf("a tree moves too deep: %v", err)
	}
	if err := n.Tree.Rename(ctx, alice(), "/e", high+"/e"); err != nil {
		t.Errorf("a tree moves as deep as may be: %v", err)
	}
	if err := n.Tree.Rename(ctx, alice(), "/d", "/dd"); err != nil {
		t.Errorf("the deepest tree gets another name: %v", err)
	}
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), "/top", 0o755, false))
	if err := n.Tree.Rename(ctx, alice(), "/dd", "/top/dd"); !errors.Is(err, errs.TooLarge) {
		t.Errorf("the deepest tree moves deeper: %v", err)
	}
}

// TestDepthAfterRemoval: a tree that was deep and is not any more moves as others do.
func TestDepthAfterRemoval(t *testing.T) {
	ctx := t.Context()
	n := open(t, memkv.New(), namespace.Options{})
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), chain("d", 200), 0o755, true))
	for depth := 200; depth > 1; depth-- {
		if err := n.Tree.Remove(ctx, alice(), chain("d", depth), hemera.KindDirectory); err != nil {
			t.Fatal(err)
		}
	}
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), "/d/small", 0o755, false))
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), chain("e", 150), 0o755, true))
	if err := n.Tree.Rename(ctx, alice(), "/d", chain("e", 150)+"/d"); err != nil {
		t.Errorf("an empty tree that was deep: %v", err)
	}
}

// TestDepthAfterMoves: a tree that was deep, moved when it was not, and got deep again counts in full where it is now.
func TestDepthAfterMoves(t *testing.T) {
	ctx := t.Context()
	n := open(t, memkv.New(), namespace.Options{})
	low := chain("e", hemera.DepthMax-3)
	for _, p := range []string{"/a/c/b", "/top", low} {
		must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), p, 0o755, true))
	}
	for _, m := range [][2]string{{"/a/c/b", "/b"}, {"/a", low + "/a"}} {
		if err := n.Tree.Rename(ctx, alice(), m[0], m[1]); err != nil {
			t.Fatal(err)
		}
	}
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), low+"/a/c/y", 0o755, false))
	if err := n.Tree.Rename(ctx, alice(), "/e", "/top/e"); !errors.Is(err, errs.TooLarge) {
		t.Errorf("the deepest tree moves deeper: %v", err)
	}
}

// TestNewNamesAreWhatDoorsTake: no door makes a name that another cannot show, not even for an admin.
func TestNewNamesAreWhatDoorsTake(t *testing.T) {
	ctx := t.Context()
	n := open(t, memkv.New(), namespace.Options{})
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), "/a", 0o755, false))
	for _, name := range []string{"a\nfake.root", "\x1b[31m", "x?y", "\x7f", "a\u009bb"} {
		if _, err := n.Tree.Mkdir(ctx, alice(), "/"+name, 0o755, false); !errors.Is(err, errs.Invalid) {
			t.Errorf("mkdir %q: %v", name, err)
		}
		if _, err := n.Writes.Prepare(ctx, alice(), hemera.OpenRequest{Path: "/" + name, Access: hemera.AccessCreate}); !errors.Is(err, errs.Invalid) {
			t.Errorf("open %q: %v", name, err)
		}
		if err := n.Tree.Rename(ctx, alice(), "/a", "/"+name); !errors.Is(err, errs.Invalid) {
			t.Errorf("rename to %q: %v", name, err)
		}
		if _, err := n.Tree.Stat(ctx, alice(), "/"+name); !errors.Is(err, errs.NotFound) {
			t.Errorf("stat %q: %v", name, err)
		}
	}
}

// TestMoveNeedsTheRightToChange: who moves a directory elsewhere changes its "..", as under POSIX.
func TestMoveNeedsTheRightToChange(t *testing.T) {
	ctx := t.Context()
	n := open(t, memkv.New(), namespace.Options{})
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), "/a", 0o755, false))
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), "/fixed", 0o555, false))
	if err := n.Tree.Rename(ctx, alice(), "/fixed", "/a/fixed"); !errors.Is(err, errs.Denied) {
		t.Errorf("elsewhere: %v", err)
	}
	if err := n.Tree.Rename(ctx, alice(), "/fixed", "/other"); err != nil {
		t.Errorf("another name in place: %v", err)
	}
}
