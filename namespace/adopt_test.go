package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// rebuilding returns an empty namespace to which everything is lost that was before now.
func rebuilding(t *testing.T) *namespace.Namespace {
	t.Helper()
	s := memkv.New()
	if err := open(t, s, namespace.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	w := must[kv.Writer](t)(s.Acquire(t.Context(), "prepare"))
	if _, err := namespace.Restored(t.Context(), s, w, time.Time{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	return open(t, s, namespace.Options{})
}

// lost returns a content with two copies.
func lost(id hemera.FileID, gen hemera.Generation, path string) namespace.Adoption {
	return namespace.Adoption{
		ID: id, Gen: gen, Path: path, Mode: 0o640, UID: 1000, GID: 100, Size: 100 * int64(id), Layout: hemera.Replica(2), Space: "default",
		Pieces: []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}}, Mtime: time.Unix(1_700_000_000, 0),
	}
}

// adopt adopts, and checks that it is one of the outcomes.
func adopt(t *testing.T, n *namespace.Namespace, a namespace.Adoption, want namespace.Outcome, path string) namespace.Adopted {
	t.Helper()
	out, err := n.Recovery.Adopt(t.Context(), a)
	if err != nil || out.Outcome != want || out.Path != path {
		t.Errorf("adopt %d.%d %s: %+v, %v", a.ID, a.Gen, a.Path, out, err)
	}
	return out
}

func stat(t *testing.T, n *namespace.Namespace, path string) hemera.Entry {
	t.Helper()
	return must[hemera.Entry](t)(n.Tree.Stat(t.Context(), system(), path))
}

func TestAdoptMakesAFileAsItWas(t *testing.T) {
	n := rebuilding(t)
	a := lost(5, 1, "/exp/run1/data")
	adopt(t, n, a, namespace.AdoptedHere, a.Path)
	e := stat(t, n, a.Path)
	if e.ID != 5 || e.Gen != 1 || e.Size != 500 || e.Mode != 0o640 || e.UID != 1000 || e.GID != 100 || e.Layout != a.Layout || e.Space != "default" ||
		!e.Mtime.Equal(a.Mtime) || !slices.Equal(e.Pieces, a.Pieces) {
		t.Errorf("%+v", e)
	}
	if d := stat(t, n, "/exp"); d.Mode != 0o755 || d.UID != 0 || d.Tree.Files != 1 || d.Tree.Bytes != 500 {
		t.Errorf("%+v", d)
	}
	adopt(t, n, a, namespace.AdoptedBefore, a.Path)
	if next := n.Inspection.Stats().NextID; next <= 5 || !n.Past.Lost(hemera.PieceID{File: 5, Gen: 1}, time.Unix(1, 0)) || n.Past.Lost(hemera.PieceID{File: next, Gen: 1}, time.Unix(1, 0)) {
		t.Errorf("the next id is %d", next)
	}
	checked(t, n)
}

// TestAdoptTakesPiecesAsTheyCome: a disk comes later.
func TestAdoptTakesPiecesAsTheyCome(t *testing.T) {
	n := rebuilding(t)
	all := lost(5, 1, "/f")
	first, second := all, all
	first.Pieces, second.Pieces = all.Pieces[1:], all.Pieces[:1]
	adopt(t, n, first, namespace.AdoptedHere, "/f")
	if list := must[[]hemera.Entry](t)(n.Pieces.Incomplete(t.Context(), 0, 10)); len(list) != 1 {
		t.Errorf("incomplete: %v", list)
	}
	adopt(t, n, second, namespace.AdoptedPieces, "/f")
	if e := stat(t, n, "/f"); !slices.Equal(e.Pieces, all.Pieces) {
		t.Errorf("%+v", e.Pieces)
	}
	// Another copy of a piece, and another piece on a disk that has one, say nothing new.
	all.Pieces = []hemera.Piece{{Index: 0, Disk: 3}, {Index: 1, Disk: 1}}
	adopt(t, n, all, namespace.AdoptedBefore, "/f")
	checked(t, n)
}

// TestTheNewestContentHasThePath tries every order in which contents may come.
func TestTheNewestContentHasThePath(t *testing.T) {
	contents := []namespace.Adoption{
		lost(5, 1, "/dir/f"), lost(9, 1, "/dir/f"), lost(5, 7, "/dir/f"), // rewritten, then another file
		lost(4, 1, "/dir"),                            // a file before it was a directory
		lost(12, 1, "/dir/f/below"), lost(11, 1, "/"), // and the other way round; a name that cannot be
	}
	want := []string{"/dir", "/dir/f", "/dir/f/below", "/lost+found", "/lost+found/00000004", "/lost+found/00000005", "/lost+found/00000009", "/lost+found/0000000b"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		n := rebuilding(t)
		random.Shuffle(len(contents), func(i, j int) { contents[i], contents[j] = contents[j], contents[i] })
		for range 2 { // the second time nothing is left to do, but for what the order had in the way
			for _, c := range contents {
				if _, err := n.Recovery.Adopt(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := paths(t, n); !slices.Equal(got, want) {
			t.Errorf("%q of %v", got, contents)
		}
		if e := stat(t, n, "/lost+found/00000005"); e.Gen != 7 {
			t.Errorf("generation %d", e.Gen)
		}
		checked(t, n)
	}
}

func TestWhatHasNoPath(t *testing.T) {
	n := rebuilding(t)
	for i, path := range []string{"", "relative", "/a//b", "/a/../b", "/", "/lost+found", "/lost+found/x", "/bad\x01name", strings.Repeat("/d", 300)} {
		a := lost(hemera.FileID(20+i), 1, path)
		if out := adopt(t, n, a, namespace.AdoptedLost, namespace.LostDir+"/"+a.ID.Hex()); out.Why == "" {
			t.Errorf("%q: it does not say why", path)
		}
		adopt(t, n, a, namespace.AdoptedBefore, namespace.LostDir+"/"+a.ID.Hex())
	}
	if d := stat(t, n, namespace.LostDir); d.Mode != 0o700 {
		t.Errorf("%o", d.Mode)
	}
	checked(t, n)
}

// TestAFileThatCannotBeReadYet gets its path when its pieces come.
func TestAFileThatCannotBeReadYet(t *testing.T) {
	n := rebuilding(t)
	a := lost(5, 1, "/dir/coded")
	a.Layout = hemera.ReedSolomon(2, 1)
	a.Size = 10 << 20
	a.Pieces = []hemera.Piece{{Index: 2, Disk: 3}}
	adopt(t, n, a, namespace.AdoptedLost, "/lost+found/00000005")
	a.Pieces = []hemera.Piece{{Index: 0, Disk: 1}}
	adopt(t, n, a, namespace.AdoptedMove, "/dir/coded")
	checked(t, n)

	// A newer content that cannot be read does not take the place of one that can.
	newer := a
	newer.Gen, newer.Pieces = 8, []hemera.Piece{{Index: 1, Disk: 4}}
	adopt(t, n, newer, namespace.AdoptedNot, "")
	newer.Pieces = append(newer.Pieces, hemera.Piece{Index: 2, Disk: 5})
	adopt(t, n, newer, namespace.AdoptedContent, "/dir/coded")
	adopt(t, n, a, namespace.AdoptedNot, "")
	if e := stat(t, n, "/dir/coded"); e.Gen != 8 || len(e.Pieces) != 2 {
		t.Errorf("%+v", e)
	}
	// The old pieces stay where they are.
	if list := must[[]hemera.PieceID](t)(n.Pieces.Unlinked(t.Context(), 1, 10)); len(list) != 0 {
		t.Errorf("to be removed: %v", list)
	}
	checked(t, n)
}

// TestWhatAUserRemovedStaysRemoved while its disks still have the pieces.
func TestWhatAUserRemovedStaysRemoved(t *testing.T) {
	n := rebuilding(t)
	a := lost(5, 1, "/f")
	adopt(t, n, a, namespace.AdoptedHere, "/f")
	if err := n.Tree.Remove(t.Context(), system(), "/f", hemera.KindFile); err != nil {
		t.Fatal(err)
	}
	adopt(t, n, a, namespace.AdoptedNot, "")
	// A file that was written meanwhile is newer than all that was lost.
	put(t, n, system(), "/g", 10)
	out := adopt(t, n, lost(6, 1, "/g"), namespace.AdoptedLost, "/lost+found/00000006")
	if !strings.Contains(out.Why, "newer") {
		t.Errorf("%+v", out)
	}
	if _, err := n.Recovery.Adopt(t.Context(), namespace.Adoption{ID: 7, Gen: 1, Layout: hemera.Layout{Kind: 14}}); !errors.Is(err, errs.Invalid) {
		t.Errorf("a layout of a later version: %v", err)
	}
	checked(t, n)
}

// TestWhatIsForgottenIsAnOrphan: nothing is kept any more for a rebuild that could still find it.
func TestWhatIsForgottenIsAnOrphan(t *testing.T) {
	n := rebuilding(t)
	adopt(t, n, lost(5, 1, "/f"), namespace.AdoptedHere, "/f")
	piece := hemera.PieceID{File: 6, Gen: 1}
	if !n.Past.Restored() || !n.Past.Lost(piece, time.Now()) || !n.Past.NewerThanRestore(piece, time.Now()) {
		t.Error("nothing was lost")
	}
	if err := n.Past.ForgetLost(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n.Past.Restored() || n.Past.Lost(piece, time.Now()) || n.Past.NewerThanRestore(piece, time.Now()) {
		t.Error("it is not forgotten")
	}
	wantKind(t, "again", n.Past.ForgetLost(t.Context()), errs.NotFound)
	if orphan, err := n.Writes.ClaimOrphan(t.Context(), 1, piece); err != nil || !orphan {
		t.Errorf("%t, %v", orphan, err)
	}
	if orphan, err := n.Writes.ClaimOrphan(t.Context(), 1, hemera.PieceID{File: 5, Gen: 1}); err != nil || orphan {
		t.Errorf("a piece of a file: %t, %v", orphan, err)
	}
	checked(t, n)
}

// TestAdoptSideBySide adopts many files below the same new directories at once.
func TestAdoptSideBySide(t *testing.T) {
	n := rebuilding(t)
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			for i := range 50 {
				// Every path has two contents, by different goroutines.
				id := hemera.FileID(100 + 50*w + i)
				if _, err := n.Recovery.Adopt(context.WithoutCancel(t.Context()), lost(id, 1, fmt.Sprintf("/a/b%d/c/%d", w/2, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if tree := n.Inspection.Stats().Totals; tree.Files != 400 {
		t.Errorf("%+v", tree)
	}
	if e := stat(t, n, "/a/b0/c/3"); e.ID != 153 {
		t.Errorf("the older content %d won", e.ID)
	}
	checked(t, n)
}
