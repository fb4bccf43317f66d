package maint

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hemera/words/hemera"
)

// fakeDirs is a tree in memory: names by directory, in byte order.
type fakeDirs struct {
	names map[hemera.FileID][]hemera.Entry
	pages int
}

// add makes a file, and the directories above it.
func (f *fakeDirs) add(path string) {
	at := hemera.RootID
	parts := strings.Split(path, "/")
	for i, name := range parts {
		list := f.names[at]
		j, found := slices.BinarySearchFunc(list, name, func(e hemera.Entry, n string) int { return strings.Compare(e.Name, n) })
		if !found {
			e := hemera.Entry{ID: hemera.FileID(len(f.names)*1000 + len(list) + 2), Parent: at, Name: name, Kind: hemera.KindFile}
			if i < len(parts)-1 {
				e.Kind = hemera.KindDirectory
				f.names[e.ID] = nil
			}
			f.names[at] = slices.Insert(list, j, e)
		}
		at = f.names[at][j].ID
	}
}

// Page implements hemera.Directories.
func (f *fakeDirs) Page(_ context.Context, _ hemera.Identity, r hemera.PageRequest) (page []hemera.Entry, next string, err error) {
	f.pages++
	for _, e := range f.names[r.Dir.ID] {
		if e.Name <= r.After {
			continue
		}
		if len(page) == r.Limit {
			return page, page[len(page)-1].Name, nil
		}
		page = append(page, e)
	}
	return page, "", nil
}

// paths walks the tree from a cursor, and returns what it visits.
func (f *fakeDirs) paths(t *testing.T, cursor string) (list []string) {
	t.Helper()
	w := walker{tree: f, visit: func(at string, _ hemera.Entry) error { list = append(list, at); return nil }}
	if err := w.walk(t.Context(), hemera.Entry{ID: hemera.RootID, Kind: hemera.KindDirectory}, "/", cursor); err != nil {
		t.Fatal(err)
	}
	return list
}

// A walk visits every file once, in an order in which a cursor splits it: from each file on, it visits just what is left. The
// slow twin is the list of all paths, sorted name by name.
func TestWalkFromEveryCursor(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	f := &fakeDirs{names: map[hemera.FileID][]hemera.Entry{hemera.RootID: nil}}
	var want []string
	for i := range 400 {
		path := fmt.Sprintf("f%d", i)
		for range rng.IntN(4) {
			// Names that sort around the slash, and one byte long.
			path = []string{"a", "a b", "a.", "a0", "\x01", "é", "zz"}[rng.IntN(7)] + "/" + path
		}
		want = append(want, path)
		f.add(path)
	}
	slices.SortFunc(want, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
	if got := f.paths(t, ""); !slices.Equal(got, want) {
		t.Fatalf("visited %d of %d files, or in another order", len(got), len(want))
	}
	for i, cursor := range want {
		if got := f.paths(t, cursor); !slices.Equal(got, want[i+1:]) {
			t.Fatalf("from %q: %d files, want %d", cursor, len(got), len(want)-i-1)
		}
	}
	// A cursor whose file, or directory, is gone is a place like any other.
	for _, cursor := range []string{"a/gone/f", "zzz", "a/a/a/a/a/a"} {
		at := strings.Split(cursor, "/")
		left := slices.DeleteFunc(slices.Clone(want), func(p string) bool { return slices.Compare(strings.Split(p, "/"), at) <= 0 })
		if got := f.paths(t, cursor); !slices.Equal(got, left) {
			t.Errorf("from %q: %d files, want %d", cursor, len(got), len(left))
		}
	}
	// Each page is read once, though directories among its entries are walked in between.
	f.pages = 0
	f.paths(t, "")
	pages := 0
	for _, list := range f.names {
		pages += max(1, (len(list)+walkPage-1)/walkPage)
	}
	if f.pages != pages {
		t.Errorf("%d pages were read, of %d", f.pages, pages)
	}
}

func TestWalkEndsAndLeavesOut(t *testing.T) {
	f := &fakeDirs{names: map[hemera.FileID][]hemera.Entry{hemera.RootID: nil}}
	for _, path := range []string{"a/x", "b/x", "c/x"} {
		f.add(path)
	}
	var seen []string
	enough := errors.New("enough")
	inside := 0
	w := walker{tree: f, enter: func(at string, _ hemera.Entry) bool { inside++; return at != "a" }, leave: func() { inside -= 2 },
		visit: func(at string, _ hemera.Entry) error {
			if seen = append(seen, at); at == "c/x" {
				return enough
			}
			return nil
		}}
	err := w.walk(t.Context(), hemera.Entry{ID: hemera.RootID, Kind: hemera.KindDirectory}, "/", "")
	if !errors.Is(err, enough) || !slices.Equal(seen, []string{"b/x", "c/x"}) || inside != 3-2*2 {
		t.Errorf("%v, %v, %d", err, seen, inside)
	}
}
