package exposed

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/hemera"
)

// fakeTree is a root with one directory in it, which has one file.
type fakeTree struct {
	file  hemera.Entry
	pages int
}

func (f *fakeTree) Resolve(context.Context, hemera.FileID) (hemera.Entry, string, error) {
	return hemera.Entry{ID: hemera.RootID, Kind: hemera.KindDirectory}, "/", nil
}

func (f *fakeTree) Page(_ context.Context, _ hemera.Identity, r hemera.PageRequest) ([]hemera.Entry, string, error) {
	f.pages++
	if r.Dir.ID == hemera.RootID {
		return []hemera.Entry{{ID: 2, Kind: hemera.KindDirectory, Name: "d"}}, "", nil
	}
	return []hemera.Entry{f.file}, "", nil
}

// view has two nodes in zone a and one in zone b, of two disks each.
func view() *hemera.View {
	v := &hemera.View{}
	for i, zone := range []string{"a", "a", "a", "a", "b", "b"} {
		v.Disks = append(v.Disks, hemera.Disk{ID: hemera.DiskID(i + 1), Node: hemera.NodeID(i/2 + 1), Zone: zone, Space: "default", Config: hemera.ConfigRW})
	}
	return v
}

// finder makes a finder with a file that has pieces 0, 1, … on the disks; 0 stands for a missing piece.
func finder(l hemera.Layout, disks ...hemera.DiskID) (*Finder, *fakeTree) {
	tree := &fakeTree{file: hemera.Entry{ID: 3, Kind: hemera.KindFile, Name: "f", Size: 20 << 20, Space: "default", Layout: l}}
	for i, d := range disks {
		if d != 0 {
			tree.file.Pieces = append(tree.file.Pieces, hemera.Piece{Index: uint8(i), Disk: d})
		}
	}
	return New(tree, view, time.Now), tree
}

// What a file survives follows from where its pieces are and not from the space's policy.
func TestExposedFilesAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		layout         hemera.Layout
		disks          []hemera.DiskID
		onNode, inZone int
	}{
		"more in a zone than parities": {hemera.ReedSolomon(3, 3), []hemera.DiskID{1, 2, 3, 4, 5, 6}, 0, 4},
		"more on a node too":           {hemera.ReedSolomon(2, 1), []hemera.DiskID{1, 2, 5}, 2, 2},
		"copies in two zones":          {hemera.Replica(2), []hemera.DiskID{1, 5}, 0, 0},
		"copies on one node":           {hemera.Replica(2), []hemera.DiskID{5, 6}, 2, 2},
		"copies in one zone":           {hemera.Replica(2), []hemera.DiskID{1, 3}, 0, 2},
		"without parity, as wanted":    {hemera.Plain(), []hemera.DiskID{1}, 0, 0},
		"a piece is still to be made":  {hemera.ReedSolomon(2, 1), []hemera.DiskID{1, 2, 0}, 0, 0},
	} {
		f, tree := finder(c.layout, c.disks...)
		file := tree.file
		if x := exposureOf(view(), file); x.node != c.onNode || x.zone != c.inZone {
			t.Errorf("%s: %+v", name, x)
		}
		f.due = time.Now()
		if _, err := f.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		found := f.Files()
		if c.inZone == 0 {
			if len(found) != 0 || len(Explain(view(), file)) != 0 {
				t.Errorf("%s: %+v, %+v", name, found, Explain(view(), file))
			}
			continue
		}
		if len(found) != 1 || found[0].PerZone != c.inZone || found[0].PerNode != c.onNode || found[0].Zone != 1 || found[0].Path != "/d/f" {
			t.Errorf("%s: %+v", name, found)
		}
		if why := Explain(view(), file); !strings.Contains(why[len(why)-1].Text, "in one zone") || (len(why) == 2) != (c.onNode > 0) {
			t.Errorf("%s: %+v", name, why)
		}
	}
}

// The walk waits after the start, comes again by itself, and a wake-up between does not begin it.
func TestExposedFilesAreLookedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tree := finder(hemera.Replica(2), 1, 3)
		for _, want := range []int{0, 0, 2, 2, 4} {
			if _, err := f.Step(t.Context()); err != nil || tree.pages != want {
				t.Errorf("%d pages, %v, want %d", tree.pages, err, want)
			}
			time.Sleep(40 * time.Second)
		}
		if len(f.Files()) != 1 {
			t.Errorf("%+v", f.Files())
		}
	})
}
