package tables_test

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hemera/namespace/accounts"
	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/platform/kv/memkv"
	"hemera/test/fixture/records"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// twin is a tree as a list of paths: -1 for a directory, else the size of a file.
type twin map[string]int64

// totals adds up all that is below a directory.
func (w twin) totals(dir string) (out hemera.TreeTotals) {
	for p, size := range w {
		switch {
		case !records.Below(p, dir) || p == dir:
		case size < 0:
			out.Dirs++
		default:
			out.Files, out.Bytes, out.Physical = out.Files+1, out.Bytes+size, out.Physical+2*size
		}
	}
	return out
}

// depth returns the number of directories above one another below a directory.
func (w twin) depth(dir string) (deepest int64) {
	for p, size := range w {
		if size < 0 && records.Below(p, dir) && p != dir {
			deepest = max(deepest, int64(strings.Count(strings.TrimPrefix(p, strings.TrimSuffix(dir, "/")), "/")))
		}
	}
	return deepest
}

// TestTotalsAndDepthAreThoseOfTheTree makes, moves and removes at random, and compares each directory's record with a count of all paths. The
// depth is a bound: it may be too large, when directories were moved away, but never above their number.
func TestTotalsAndDepthAreThoseOfTheTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		tr, w := records.New(t, memkv.New()), twin{"/": -1}
		var dirs []string
		moved := false
		for range rapid.IntRange(1, 15).Draw(r, "steps") {
			dirs = dirs[:0]
			for _, p := range sorted(w) {
				if w[p] < 0 {
					dirs = append(dirs, p)
				}
			}
			p := path.Join(rapid.SampledFrom(dirs).Draw(r, "dir"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "name"))
			size, there := w[p]
			what := rapid.IntRange(0, 4).Draw(r, "what")
			switch {
			case !there && what < 3:
				tr.Mkdir(p)
				w[p] = -1
			case !there:
				w[p] = rapid.Int64Range(0, 9).Draw(r, "size")
				tr.Put(p, records.File{Size: w[p], Disks: []hemera.DiskID{1, 2}})
			case size >= 0 && what < 2:
				tr.Remove(p)
				delete(w, p)
			default:
				to := path.Join(rapid.SampledFrom(dirs).Draw(r, "to"), rapid.SampledFrom([]string{"a", "b", "d"}).Draw(r, "new name"))
				if _, taken := w[to]; taken || to == p || records.Below(to, p) {
					continue
				}
				if err := tr.Move(p, to); err != nil {
					r.Fatal(err)
				}
				moved = moved || size < 0
				for old, size := range w {
					if old == p || records.Below(old, p) {
						delete(w, old)
						w[to+strings.TrimPrefix(old, p)] = size
					}
				}
			}
		}
		for p, size := range w {
			if size >= 0 {
				continue
			}
			e := tr.Find(p)
			tr.View(func(l accounts.Ledger) error {
				s, err := l.Directory(e.ID)
				if err != nil {
					return err
				}
				bound, err := l.Depth(e)
				if exact := w.depth(p); s.Tree != w.totals(p) || bound < exact || bound > s.Tree.Dirs || !moved && bound != exact {
					r.Fatalf("%s: %+v, depth %d, want %+v, %d", p, s, bound, w.totals(p), exact)
				}
				weight, weightErr := l.Weight(e)
				if want := w.totals(p).Add(hemera.TreeTotals{Dirs: 1}); weight != want {
					r.Fatalf("%s weighs %+v, want %+v", p, weight, want)
				}
				chain, found, aboveErr := l.Above(e)
				if found != strings.TrimSuffix(p, "/") || len(chain) != len(strings.FieldsFunc(p, func(c rune) bool { return c == '/' }))+1 || chain[0].ID != hemera.RootID || chain[len(chain)-1].ID != e.ID {
					r.Fatalf("%s: found as %s below %+v", p, found, chain)
				}
				byID, byErr := l.ByID(e.ID)
				if byErr == nil && (byID == nil || byID.Name != e.Name || byID.Parent != e.Parent) {
					r.Fatalf("%s: %+v by its id", p, byID)
				}
				return errors.Join(err, weightErr, aboveErr, byErr)
			})
		}
	})
}

// TestOnlyTheListThatChangedGetsATime: Relist sets the times of the last directory alone, Adjust of none, and Touch changes no totals.
func TestOnlyTheListThatChangedGetsATime(t *testing.T) {
	t.Parallel()
	old := time.Unix(5, 0)
	for name, c := range map[string]struct {
		change   func(l accounts.Ledger, dirs []*hemera.Entry) error
		touched  bool
		addFiles int64
	}{
		"relist": {func(l accounts.Ledger, dirs []*hemera.Entry) error {
			return l.Relist(dirs, hemera.TreeTotals{Files: 2})
		}, true, 2},
		"relist of the same size": {func(l accounts.Ledger, dirs []*hemera.Entry) error {
			return l.Relist(dirs, hemera.TreeTotals{})
		}, true, 0},
		"adjust": {func(l accounts.Ledger, dirs []*hemera.Entry) error {
			return l.Adjust(dirs, hemera.TreeTotals{Files: 2})
		}, false, 2},
		"touch": {func(l accounts.Ledger, dirs []*hemera.Entry) error { return l.Touch(dirs[2].ID) }, true, 0},
	} {
		tr := records.New(t, memkv.New())
		tr.Mkdir("/a")
		tr.Mkdir("/a/b")
		tr.Change(func(l accounts.Ledger) error {
			dirs, err := records.Walk(l, "/a/b")
			for _, dir := range dirs {
				l.PutDirectory(dir.ID, schema.Directory{Mtime: old, Ctime: old, Tree: hemera.TreeTotals{Files: 1, Dirs: 7}, Depth: 3})
			}
			return errors.Join(err, c.change(l, dirs))
		})
		tr.View(func(l accounts.Ledger) error {
			dirs, err := records.Walk(l, "/a/b")
			for i, dir := range dirs {
				s, readErr := l.Directory(dir.ID)
				if readErr != nil {
					return readErr
				}
				now := c.touched && i == 2
				add := c.addFiles
				if s.Mtime.Equal(records.Now()) != now || s.Ctime.Equal(records.Now()) != now || s.Tree.Files != 1+add || s.Depth != 3 {
					t.Errorf("%s: directory %d is %+v", name, i, s)
				}
			}
			return err
		})
	}
}

// TestDeepenRaisesTheBoundsThatAreTooSmall: up to the top, and it lowers none.
func TestDeepenRaisesTheBoundsThatAreTooSmall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before [3]int64 // from the root down
		depth  int64
		after  [3]int64
	}{
		{[3]int64{0, 0, 0}, 0, [3]int64{3, 2, 1}},
		{[3]int64{0, 0, 0}, 4, [3]int64{7, 6, 5}},
		{[3]int64{9, 1, 0}, 1, [3]int64{9, 3, 2}},
		{[3]int64{0, 3, 1}, 1, [3]int64{4, 3, 2}}, // the one in the middle was moved when less was below it
		{[3]int64{0, 0, 1}, 0, [3]int64{3, 2, 1}},
		{[3]int64{5, 0, 1}, 0, [3]int64{5, 2, 1}},
	} {
		tr := records.New(t, memkv.New())
		tr.Mkdir("/a")
		tr.Mkdir("/a/b")
		var after [3]int64
		tr.Change(func(l accounts.Ledger) error {
			dirs, err := records.Walk(l, "/a/b")
			if err != nil {
				return err
			}
			for i, dir := range dirs {
				l.PutDirectory(dir.ID, schema.Directory{Tree: hemera.TreeTotals{Dirs: 20}, Depth: c.before[i]})
			}
			if err := l.Deepen(dirs, c.depth); err != nil {
				return err
			}
			for i, dir := range dirs {
				s, err := l.Directory(dir.ID)
				if err != nil {
					return err
				}
				after[i] = s.Depth
			}
			return nil
		})
		if after != c.after {
			t.Errorf("%v and %d below: %v, want %v", c.before, c.depth, after, c.after)
		}
	}
}

// TestDepthIsNeverAboveTheNumberOfDirectories: a bound that removals have made too large says less than the totals.
func TestDepthIsNeverAboveTheNumberOfDirectories(t *testing.T) {
	t.Parallel()
	tr := records.New(t, memkv.New())
	dir := tr.Mkdir("/a")
	file := tr.Put("/f", records.File{})
	for _, c := range []struct{ depth, dirs, want int64 }{{5, 2, 2}, {2, 5, 2}, {3, 3, 3}} {
		tr.Change(func(l accounts.Ledger) error {
			l.PutDirectory(dir.ID, schema.Directory{Tree: hemera.TreeTotals{Dirs: c.dirs}, Depth: c.depth})
			got, err := l.Depth(&dir)
			if none, fileErr := l.Depth(&file); got != c.want || none != 0 || fileErr != nil {
				t.Errorf("%+v: %d, of a file %d, %v", c, got, none, fileErr)
			}
			return err
		})
	}
}

// TestRecordsThatContradictAreCorrupt: each lookup that needs two records, or one that must exist, says so.
func TestRecordsThatContradictAreCorrupt(t *testing.T) {
	t.Parallel()
	const dir, below, file = 2, 3, 4
	location := func(id hemera.FileID) string { return string(schema.IDKey(schema.TableLocation, id)) }
	entry := func(parent hemera.FileID, name string) string { return string(schema.EntryKey(parent, name)) }
	byID := func(id hemera.FileID) func(l accounts.Ledger) error {
		return func(l accounts.Ledger) error { _, err := l.ByID(id); return err }
	}
	above := func(l accounts.Ledger) error {
		_, _, err := l.Above(&hemera.Entry{ID: below, Parent: dir, Name: "b", Kind: hemera.KindDirectory})
		return err
	}
	at := schema.Location{Parent: hemera.RootID, Name: "other"}
	for name, c := range map[string]struct {
		plant map[string][]byte
		call  func(l accounts.Ledger) error
		want  errs.Kind
	}{
		"all is well":                 {nil, byID(file), 0},
		"an id without location":      {map[string][]byte{location(file): nil}, byID(file), 0},
		"a location without an entry": {map[string][]byte{entry(below, "f"): nil}, byID(file), errs.Corrupt},
		"a location of another entry": {map[string][]byte{location(file): schema.EncodeLocation(&at)}, byID(file), errs.Corrupt},
		"a location that is garbage":  {map[string][]byte{location(file): []byte("x")}, byID(file), errs.Corrupt},
		"no root":                     {map[string][]byte{entry(0, ""): nil}, func(l accounts.Ledger) error { _, err := l.Root(); return err }, errs.Corrupt},
		"no root, by its id":          {map[string][]byte{entry(0, ""): nil}, byID(hemera.RootID), errs.Corrupt},
		"no totals":                   {map[string][]byte{string(schema.IDKey(schema.TableDirectory, dir)): nil}, func(l accounts.Ledger) error { _, err := l.Directory(dir); return err }, errs.Corrupt},
		"no totals, of the full entry": {map[string][]byte{string(schema.IDKey(schema.TableDirectory, dir)): nil}, func(l accounts.Ledger) error {
			_, err := l.Full(&hemera.Entry{ID: dir, Kind: hemera.KindDirectory})
			return err
		}, errs.Corrupt},
		"a parent": {nil, func(l accounts.Ledger) error { _, err := l.Parent(&hemera.Entry{ID: file, Parent: below}); return err }, 0},
		"a parent that is gone": {map[string][]byte{location(below): nil}, func(l accounts.Ledger) error {
			_, err := l.Parent(&hemera.Entry{ID: file, Parent: below})
			return err
		}, errs.Corrupt},
		"a parent that is a file": {nil, func(l accounts.Ledger) error { _, err := l.Parent(&hemera.Entry{ID: 9, Parent: file}); return err }, errs.Corrupt},
		"a chain":                 {nil, above, 0},
		"a chain that ends":       {map[string][]byte{location(dir): nil}, above, errs.Corrupt},
		"a chain below a file": {nil, func(l accounts.Ledger) error {
			_, _, err := l.Above(&hemera.Entry{ID: 9, Parent: file, Name: "x", Kind: hemera.KindDirectory})
			return err
		}, errs.Corrupt},
	} {
		tr := records.New(t, memkv.New())
		tr.Mkdir("/a")
		tr.Mkdir("/a/b")
		tr.Put("/a/b/f", records.File{})
		tr.Put("/other", records.File{})
		tr.Plant(c.plant)
		again := records.Reopen(t, tr.Engine)
		if err := again.Try(c.call); errs.KindOf(err) != c.want || c.want == 0 && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestACircleOfDirectoriesEnds, as only damage can make one.
func TestACircleOfDirectoriesEnds(t *testing.T) {
	t.Parallel()
	tr := records.New(t, memkv.New())
	a := tr.Mkdir("/a")
	b := tr.Mkdir("/a/b")
	tr.Change(func(l accounts.Ledger) error {
		turned := a
		turned.Parent = b.ID
		l.PutEntry(&turned)
		l.PutLocation(&turned)
		return nil
	})
	if err := tr.Try(func(l accounts.Ledger) error { _, _, err := l.Above(&b); return err }); errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), "too many directories") {
		t.Error(err)
	}
}

// TestAPathInABinBeginsWithItsMark: its chain ends at the directory of all bins, which has no parent.
func TestAPathInABinBeginsWithItsMark(t *testing.T) {
	t.Parallel()
	tr := records.New(t, memkv.New())
	bins := hemera.Entry{ID: hemera.FileID(tr.Take()), Name: schema.BinName, Kind: hemera.KindDirectory}
	inside := hemera.Entry{ID: hemera.FileID(tr.Take()), Parent: bins.ID, Name: "7", Kind: hemera.KindDirectory}
	tr.Change(func(l accounts.Ledger) error {
		for _, e := range []*hemera.Entry{&bins, &inside} {
			l.PutEntry(e)
			l.PutLocation(e)
			l.PutDirectory(e.ID, schema.Directory{})
		}
		return nil
	})
	root := tr.Find("/")
	for e, want := range map[*hemera.Entry]string{&inside: tables.BinPath + "/7", &bins: tables.BinPath, root: ""} {
		tr.View(func(l accounts.Ledger) error {
			chain, p, err := l.Above(e)
			if p != want || len(chain) == 0 || !tables.IsTop(chain[0]) || tables.IsTop(&inside) {
				t.Errorf("%q is %q, below %+v", want, p, chain)
			}
			return err
		})
	}
}

// TestADirectoryShowsTheLaterChange: its mtime and totals are those of its list, its ctime the later one of list and entry.
func TestADirectoryShowsTheLaterChange(t *testing.T) {
	t.Parallel()
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	for _, c := range []struct{ entry, list, want int64 }{{10, 20, 20}, {20, 10, 20}, {15, 15, 15}} {
		e := tables.WithDirectory(hemera.Entry{Mtime: at(1), Ctime: at(c.entry)}, &schema.Directory{Mtime: at(7), Ctime: at(c.list), Tree: hemera.TreeTotals{Files: 3}})
		if !e.Mtime.Equal(at(7)) || !e.Ctime.Equal(at(c.want)) || e.Tree.Files != 3 {
			t.Errorf("%+v: %+v", c, e)
		}
	}
}

// TestEventsHaveNumbersAndBounds: consecutive numbers, the time of the change, paths without a slash at the end, names up to a length; of many the
// last ones are kept.
func TestEventsHaveNumbersAndBounds(t *testing.T) {
	t.Parallel()
	tr := records.New(t, memkv.New())
	for i := range 3 {
		tr.Change(func(l accounts.Ledger) error {
			l.Event(hemera.Event{Kind: hemera.EventRename, Path: "/from/", To: "/to/", Who: strings.Repeat("w", 255+i)})
			l.Event(hemera.Event{Kind: hemera.EventMkdir, Path: "/"})
			return nil
		})
	}
	if err := tr.Try(func(l accounts.Ledger) error { l.Event(hemera.Event{Kind: hemera.EventMkdir}); return errors.New("no") }); err == nil {
		t.Fatal("a change that fails succeeds")
	}
	seq := uint64(0)
	tr.Scan(schema.TableKey(schema.TableEvent), func(k, raw []byte) {
		seq++
		e, err := schema.DecodeEvent(k, raw)
		if err != nil {
			t.Fatal(err)
		}
		want := hemera.Event{Seq: seq, Kind: hemera.EventMkdir, Time: e.Time, Path: "/"}
		if seq%2 == 1 {
			want.Kind, want.Path, want.To, want.Who = hemera.EventRename, "/from", "/to", strings.Repeat("w", min(256, 255+int(seq/2)))
		}
		if *e != want || !e.Time.Equal(records.Now()) {
			t.Errorf("%+v, want %+v", e, want)
		}
	})
	if seq != 6 {
		t.Errorf("%d events", seq)
	}
	for range records.EventsMax {
		tr.Change(func(l accounts.Ledger) error { l.Event(hemera.Event{Kind: hemera.EventMkdir, Path: "/x"}); return nil })
	}
	if n := tr.Count(schema.TableEvent); n != records.EventsMax {
		t.Errorf("%d events are kept", n)
	}
}

// TestTheRootIsStoredWithoutAName, whatever its entry says of a parent.
func TestTheRootIsStoredWithoutAName(t *testing.T) {
	t.Parallel()
	tr := records.New(t, memkv.New())
	tr.Change(func(l accounts.Ledger) error {
		root, err := l.Root()
		if err != nil {
			return err
		}
		fresh := *root
		fresh.Mode = 0o700
		l.PutEntry(&fresh)
		return nil
	})
	again := records.Reopen(t, tr.Engine)
	if root := again.Find("/"); root.Mode != 0o700 || root.ID != hemera.RootID || again.Count(schema.TableEntry) != 1 {
		t.Errorf("%+v of %d entries", root, again.Count(schema.TableEntry))
	}
}

// TestSetsOfNamesAreByParent: the record engine learns that nothing is in a new directory by the keys of the schema.
func TestSetsOfNamesAreByParent(t *testing.T) {
	t.Parallel()
	s := tables.Schema(7)
	k := schema.EntryKey(77, "name")
	if k[1] != s.SetTable || string(k[:s.SetPrefix]) != string(schema.EntryKey(77, "")) || s.Log.Max != 7 || !s.Cached(k) || s.Cached(s.Log.Key(nil, 3)) {
		t.Errorf("%+v", s)
	}
	if got, want := fmt.Sprintf("%x", s.Log.Key([]byte("p"), 3)), fmt.Sprintf("%x", append([]byte("p"), schema.EventKey(3)...)); got != want {
		t.Errorf("event 3 is at %s, not at %s", got, want)
	}
}

func sorted(w twin) []string { return slices.Sorted(maps.Keys(w)) }
