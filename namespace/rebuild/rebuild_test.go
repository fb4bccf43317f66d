package rebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/rules/layout"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

var began = time.Unix(1_700_000_000, 0)

// piece returns a piece of a file with 100 bytes, sealed some seconds after began.
func piece(disk, file, gen, index, seconds int, path string) found {
	return found{hemera.DiskID(disk), hemera.PieceStat{
		ID: hemera.PieceID{File: hemera.FileID(file), Gen: hemera.Generation(gen), Index: uint8(index)}, Size: 100, FileSize: 100,
		Layout: hemera.Replica(2), Path: path, Sealed: began.Add(time.Duration(seconds) * time.Second),
	}}
}

// coded returns a piece of a file with three blocks in layout rs:2+1.
func coded(disk, file, gen, index int) found {
	p := piece(disk, file, gen, index, 0, "/coded")
	p.Layout, p.FileSize = hemera.ReedSolomon(2, 1), 3<<20
	p.Size = layout.PieceSize(p.Layout, p.FileSize, p.ID.Index)
	return p
}

// late returns a piece that was sealed later.
func late(p found) found {
	p.Sealed = p.Sealed.Add(time.Hour)
	return p
}

// marked returns a piece that is kept for a person.
func marked(p found) found {
	p.Kept = true
	return p
}

func TestChoose(t *testing.T) {
	other := piece(1, 5, 1, 0, 0, "/f")
	other.FileSize, other.Size = 99, 99
	future := piece(1, 5, 9, 0, 0, "/f")
	future.Layout.Kind = 14
	long := piece(1, 5, 1, 0, 0, "/f")
	long.Size = 101
	cases := map[string]struct {
		pieces   []found
		gen      hemera.Generation // 0: none
		disks    []hemera.DiskID   // of the pieces that are taken, by index
		readable bool
		tags     []string
		path     string
		second   int64 // since began, of the content
	}{
		"two copies":              {[]found{piece(1, 5, 1, 0, 3, "/f"), piece(2, 5, 1, 1, 2, "/f")}, 1, []hemera.DiskID{1, 2}, true, nil, "/f", 2},
		"one copy":                {[]found{piece(2, 5, 1, 1, 0, "/f")}, 1, []hemera.DiskID{2}, true, nil, "/f", 0},
		"the newest content":      {[]found{piece(1, 5, 1, 0, 0, "/f"), piece(2, 5, 7, 1, 9, "/f")}, 7, []hemera.DiskID{2}, true, []string{"older"}, "/f", 9},
		"a copy that was renamed": {[]found{piece(1, 5, 1, 0, 0, "/old"), piece(2, 5, 1, 1, 9, "/new")}, 1, []hemera.DiskID{1, 2}, true, nil, "/new", 0},
		"a path that may be cut": {[]found{piece(1, 5, 1, 0, 0, "/old"), piece(2, 5, 1, 1, 9, "/"+strings.Repeat("x", hemera.PathMax-1))},
			1, []hemera.DiskID{1, 2}, true, nil, "/old", 0},
		"a copy of a recycled file": {[]found{piece(1, 5, 1, 0, 0, "/f"), piece(2, 5, 1, 1, 9, "recycle:/d00000002/1000/1.5")},
			1, []hemera.DiskID{1, 2}, true, nil, "/f", 0},
		"a new content that is kept":                {[]found{marked(piece(1, 5, 1, 0, 0, "/f")), marked(piece(2, 5, 1, 1, 0, "/f"))}, 0, nil, false, []string{"kept"}, "", 0},
		"an update that is kept":                    {[]found{piece(1, 5, 1, 0, 0, "/f"), marked(piece(2, 5, 7, 1, 9, "/f")), marked(piece(3, 5, 7, 0, 9, "/f"))}, 1, []hemera.DiskID{1}, true, []string{"kept"}, "/f", 0},
		"one that was committed without a piece":    {[]found{marked(piece(1, 5, 1, 0, 0, "/f")), piece(2, 5, 1, 1, 0, "/f")}, 1, []hemera.DiskID{1, 2}, true, nil, "/f", 0},
		"no path":                                   {[]found{piece(1, 5, 1, 0, 0, "")}, 1, []hemera.DiskID{1}, true, nil, "", 0},
		"a piece that was moved":                    {[]found{piece(1, 5, 1, 0, 0, "/f"), piece(3, 5, 1, 0, 5, "/f")}, 1, []hemera.DiskID{3}, true, nil, "/f", 5},
		"two pieces on one disk":                    {[]found{piece(1, 5, 1, 0, 0, "/f"), piece(1, 5, 1, 1, 5, "/f")}, 1, []hemera.DiskID{1}, true, nil, "/f", 5},
		"enough of a code":                          {[]found{coded(1, 5, 1, 2), coded(2, 5, 1, 0)}, 1, []hemera.DiskID{2, 1}, true, nil, "/coded", 0},
		"the newest copy is where another piece is": {[]found{late(coded(1, 5, 1, 0)), coded(1, 5, 1, 1), coded(2, 5, 1, 0)}, 1, []hemera.DiskID{2, 1}, true, nil, "/coded", 0},
		"too few of a code":                         {[]found{coded(1, 5, 1, 2)}, 1, []hemera.DiskID{1}, false, nil, "/coded", 0},
		"the newest is too few":                     {[]found{coded(1, 5, 8, 2), coded(1, 5, 1, 0), coded(2, 5, 1, 1)}, 1, []hemera.DiskID{1, 2}, true, []string{"unreadable"}, "/coded", 0},
		"all are too few":                           {[]found{coded(1, 5, 8, 2), coded(1, 5, 1, 0)}, 8, []hemera.DiskID{1}, false, []string{"older"}, "/coded", 0},
		"pieces that disagree":                      {[]found{other, piece(2, 5, 1, 1, 0, "/f"), piece(3, 5, 1, 0, 0, "/f")}, 1, []hemera.DiskID{3, 2}, true, []string{"differs"}, "/f", 0},
		"a layout of the future":                    {[]found{future, piece(2, 5, 1, 1, 0, "/f")}, 1, []hemera.DiskID{2}, true, []string{"unknown"}, "/f", 0},
		"only the future":                           {[]found{future}, 0, nil, false, []string{"unknown"}, "", 0},
		"a piece that is no size":                   {[]found{long}, 0, nil, false, []string{"differs"}, "", 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			for range 20 {
				random.Shuffle(len(c.pieces), func(i, j int) { c.pieces[i], c.pieces[j] = c.pieces[j], c.pieces[i] })
				got, findings, ok := choose(c.pieces)
				var tags []string
				for _, f := range findings {
					tags = append(tags, f.Tag)
				}
				if !slices.Equal(tags, c.tags) || ok != (c.gen != 0) {
					t.Fatalf("findings %+v, %t", findings, ok)
				}
				if !ok {
					continue
				}
				var disks []hemera.DiskID
				for _, p := range got.pieces {
					disks = append(disks, p.disk)
				}
				if got.about().ID.Gen != c.gen || !slices.Equal(disks, c.disks) || got.readable != c.readable || got.path() != c.path ||
					got.written().Sealed.Unix() != began.Unix()+c.second {
					t.Fatalf("generation %d, disks %v, readable %t, path %q, written %s", got.about().ID.Gen, disks, got.readable, got.path(), got.written().Sealed)
				}
			}
		})
	}
}

// cluster is the pieces of some disks.
type cluster map[hemera.DiskID][]hemera.PieceStat

func (c cluster) add(pieces ...found) {
	for _, p := range pieces {
		c[p.disk] = append(c[p.disk], p.PieceStat)
	}
}

// list implements Inventory. It answers short pages, as a disk does that leaves out bad pieces.
func (c cluster) list(_ context.Context, disk hemera.DiskID, after hemera.PieceID, limit int) (page []hemera.PieceStat, err error) {
	all := slices.Clone(c[disk])
	slices.SortFunc(all, func(a, b hemera.PieceStat) int { return compareIDs(a.ID, b.ID) })
	for _, p := range all {
		if compareIDs(p.ID, after) > 0 && len(page) < min(limit, 3) {
			page = append(page, p)
		}
	}
	return page, nil
}

func compareIDs(a, b hemera.PieceID) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Gen, b.Gen), cmp.Compare(a.Index, b.Index))
}

func (c cluster) disks() (list []hemera.Disk) {
	for id, pieces := range c {
		list = append(list, hemera.Disk{ID: id, Space: "default", DiskStats: hemera.DiskStats{Pieces: int64(len(pieces))}})
	}
	return list
}

// TestMerge compares with a list that is sorted.
// TestAContentThatMayNotBeCommittedIsNamed: a head that died between seal and commit leaves a newer content, which is taken as
// one that was acknowledged; what speaks against it is that nothing of the older one was removed.
func TestAContentThatMayNotBeCommittedIsNamed(t *testing.T) {
	was := []found{piece(1, 5, 1, 0, 0, "/f"), piece(2, 5, 1, 1, 0, "/f")}
	cases := map[string]struct {
		pieces []found
		doubt  bool
	}{
		"sealed, with all of the older one":    {append(slices.Clone(was), piece(1, 5, 7, 0, 9, "/f"), piece(2, 5, 7, 1, 9, "/f")), true},
		"half sealed":                          {append(slices.Clone(was), piece(1, 5, 7, 0, 9, "/f")), true},
		"the older one is being removed":       {append(slices.Clone(was[:1]), piece(1, 5, 7, 0, 9, "/f"), piece(2, 5, 7, 1, 9, "/f")), false},
		"a code, with all of the older one":    {[]found{coded(1, 5, 1, 0), coded(2, 5, 1, 1), coded(3, 5, 1, 2), coded(1, 5, 7, 0), coded(2, 5, 7, 1)}, true},
		"a code, and the older one is leaving": {[]found{coded(1, 5, 1, 0), coded(3, 5, 1, 2), coded(1, 5, 7, 0), coded(2, 5, 7, 1)}, false},
	}
	for name, c := range cases {
		got, findings, ok := choose(c.pieces)
		if !ok || got.about().ID.Gen != 7 || len(findings) != 1 || findings[0].Tag != adminapi.RebuildOlder || (findings[0].Why != "") != c.doubt {
			t.Errorf("%s: generation %d, %+v", name, got.about().ID.Gen, findings)
		}
	}
}

func TestMerge(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		c, byFile := cluster{}, map[hemera.FileID]int{}
		for disk := range 1 + random.IntN(9) {
			c[hemera.DiskID(disk)] = nil // it may stay empty
			for range random.IntN(20) {
				p := piece(disk, 1+random.IntN(12), 1+random.IntN(3), random.IntN(2), 0, "")
				if !slices.ContainsFunc(c[p.disk], func(s hemera.PieceStat) bool { return s.ID == p.ID }) {
					c.add(p)
					byFile[p.ID.File]++
				}
			}
		}
		delete(byFile, 7)
		ended := 0
		m := newMerge(t.Context(), slices.Collect(func(yield func(hemera.DiskID) bool) {
			for id := range c {
				if !yield(id) {
					return
				}
			}
		}), c.list, merge{ended: func(*cursor) { ended++ }, skip: func(p found) bool { return p.ID.File == 7 }})
		last := hemera.FileID(0)
		for pieces := m.group(); len(pieces) > 0; pieces = m.group() {
			file := pieces[0].ID.File
			if file <= last || len(pieces) != byFile[file] {
				t.Fatalf("file %d after %d with %d pieces, not %d", file, last, len(pieces), byFile[file])
			}
			last = file
			delete(byFile, file)
		}
		if len(byFile) > 0 || ended != len(c) {
			t.Fatalf("left %v, %d of %d disks ended", byFile, ended, len(c))
		}
	}
}

// prepared returns an empty namespace that lost everything.
func prepared(t *testing.T) *namespace.Namespace {
	t.Helper()
	s := memkv.New()
	n, err := namespace.Open(t.Context(), s, namespace.Options{})
	if err == nil {
		err = n.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Acquire(t.Context(), "prepare")
	if err == nil {
		_, err = namespace.Restored(t.Context(), s, w, time.Time{}, time.Now())
	}
	if err == nil {
		n, err = namespace.Open(t.Context(), s, namespace.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// rebuild runs a rebuild, and checks the namespace.
func rebuild(t *testing.T, n *namespace.Namespace, c cluster, o adminapi.RebuildOptions) (adminapi.RebuildReport, []adminapi.RebuildFinding) {
	t.Helper()
	var all []adminapi.RebuildFinding
	report, err := Run(t.Context(), Options{RebuildOptions: o, Disks: c.disks(), List: c.list, Names: n.Parts(), Next: n.Inspection.Stats().NextID, Now: time.Now,
		Tell: func(r adminapi.RebuildReport) error { all = append(all, r.Findings...); return nil }})
	if err != nil || !report.Done {
		t.Fatalf("%+v, %v", report, err)
	}
	if problems, err := n.Inspection.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Fatalf("%v, %v", problems, err)
	}
	return report, append(all, report.Findings...)
}

// tree returns the files of a namespace: for each path, the content and its pieces.
func tree(t *testing.T, n *namespace.Namespace) map[string]string {
	t.Helper()
	out := map[string]string{}
	var down func(at string)
	down = func(at string) {
		if err := n.Tree.List(t.Context(), hemera.SystemIdentity(), at, func(e hemera.Entry) error {
			path := strings.TrimSuffix(at, "/") + "/" + e.Name
			if e.IsDir() {
				down(path)
			} else {
				out[path] = fmt.Sprintf("%d.%d %d pieces", e.ID, e.Gen, len(e.Pieces))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	down("/")
	return out
}

func TestRun(t *testing.T) {
	c := cluster{}
	c.add(piece(1, 5, 1, 0, 0, "/a/f"), piece(2, 5, 1, 1, 0, "/a/f")) // whole
	c.add(piece(1, 6, 1, 0, 0, "/a/f"))                               // newer, of the same path, one copy
	c.add(piece(2, 7, 1, 0, 0, "/b"), piece(3, 7, 30, 0, 0, "/b"))    // rewritten
	c.add(piece(3, 8, 1, 0, 0, ""))
	c.add(coded(1, 9, 1, 0))
	c.add(piece(1, 10, 1, 0, 0, "/dir/.data.hemera-part"))
	n := prepared(t)
	beyond := piece(2, int(n.Inspection.Stats().NextID)+100_000, 1, 0, 0, "/future")
	c.add(beyond)

	dry, _ := rebuild(t, n, c, adminapi.RebuildOptions{DryRun: true, Mode: 0o600})
	if len(tree(t, n)) != 0 || dry.Made != 4 || dry.Lost != 2 || dry.Pieces != 9 || dry.PiecesTotal != 9 {
		t.Errorf("a dry run: %+v, %v", dry, tree(t, n))
	}
	report, findings := rebuild(t, n, c, adminapi.RebuildOptions{Mode: 0o600})
	want := map[string]string{
		"/a/f": "6.1 1 pieces", "/b": "7.30 1 pieces", "/dir/.data.hemera-part": "10.1 1 pieces",
		"/lost+found/00000005": "5.1 2 pieces", "/lost+found/00000008": "8.1 1 pieces", "/lost+found/00000009": "9.1 1 pieces",
	}
	if got := tree(t, n); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	problems := map[string]int64{"conflict": 1, "older": 1, "nameless": 1, "unreadable": 1, "part": 1, "beyond": 1}
	if !reflect.DeepEqual(report.Problems, problems) || len(findings) != 6 || report.Disks != 3 || report.DisksRead != 3 {
		t.Errorf("%+v, %+v", report, findings)
	}
	e, err := n.Tree.Stat(t.Context(), hemera.SystemIdentity(), "/b")
	if err != nil || e.Mode != 0o600 || !e.Mtime.Equal(began) {
		t.Errorf("%+v, %v", e, err)
	}

	// Again: nothing is left to do, and the findings are the same.
	again, _ := rebuild(t, n, c, adminapi.RebuildOptions{Mode: 0o600})
	if again.Made+again.Lost+again.Grown+again.Renewed+again.Moved != 0 || again.Before != 6 || !reflect.DeepEqual(again.Problems, problems) {
		t.Errorf("again: %+v", again)
	}
	// A disk comes that was away.
	c.add(coded(4, 9, 1, 1), piece(4, 6, 1, 1, 0, "/a/f"))
	more, _ := rebuild(t, n, c, adminapi.RebuildOptions{Mode: 0o600})
	if got := tree(t, n); more.Moved != 1 || more.Grown != 1 || got["/coded"] != "9.1 2 pieces" || got["/a/f"] != "6.1 2 pieces" {
		t.Errorf("with another disk: %+v, %v", more, got)
	}
	n = prepared(t)
	rebuild(t, n, c, adminapi.RebuildOptions{Parts: true})
	if got := tree(t, n); got["/dir/data"] != "10.1 1 pieces" {
		t.Errorf("with the names of copies: %v", got)
	}
}

// TestTheOrderOfDisksMakesNoDifference rebuilds clusters at once, and disk after disk.
func TestTheOrderOfDisksMakesNoDifference(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		c, sealed := cluster{}, map[hemera.PieceID]bool{}
		for range 40 {
			file := 2 + random.IntN(8)
			gen := 1
			if random.IntN(3) == 0 {
				gen = 50*file + random.IntN(3) // numbers of writes are unique
			}
			p := piece(1+random.IntN(5), file, gen, random.IntN(2), 0, fmt.Sprintf("/d/%d", file/2))
			if gen%2 == 0 { // pieces of one content agree about it
				name := p.Path
				p = coded(int(p.disk), file, gen, random.IntN(3))
				p.Path = name
			}
			if !sealed[p.ID] {
				sealed[p.ID] = true
				c.add(p)
			}
		}
		at := prepared(t)
		rebuild(t, at, c, adminapi.RebuildOptions{})
		rebuild(t, at, c, adminapi.RebuildOptions{})
		one := prepared(t)
		part := cluster{}
		for id, pieces := range c { // in any order
			part[id] = pieces
			rebuild(t, one, part, adminapi.RebuildOptions{})
		}
		rebuild(t, one, c, adminapi.RebuildOptions{}) // a displaced file may get its path when the newer one gets another content
		if a, b := tree(t, at), tree(t, one); !reflect.DeepEqual(a, b) {
			t.Fatalf("at once %v\none by one %v\nof %+v", a, b, c)
		}
	}
}

// A file that was closed by chmod after its write is not opened by a rebuild with a umask; the bits of the owner stay.
func TestAUmaskClosesFiles(t *testing.T) {
	for umask, want := range map[uint32]uint32{0: 0o644, 0o077: 0o600} {
		p := piece(1, 5, 1, 0, 0, "/f")
		p.Owner = &hemera.FileOwner{UID: 1000, GID: 100, Mode: 0o644}
		c := cluster{}
		c.add(p)
		n := prepared(t)
		rebuild(t, n, c, adminapi.RebuildOptions{Umask: umask})
		if e, err := n.Tree.Stat(t.Context(), hemera.SystemIdentity(), "/f"); err != nil || e.Mode != want || e.UID != 1000 {
			t.Errorf("umask %o: %+v, %v", umask, e, err)
		}
	}
}

func TestDisksThatDoNotAnswer(t *testing.T) {
	c := cluster{}
	for i := range 20 {
		c.add(piece(1, 5+i, 1, 0, 0, fmt.Sprintf("/%d", i)), piece(2, 5+i, 1, 1, 0, fmt.Sprintf("/%d", i)))
	}
	n := prepared(t)
	pages := 0
	list := func(ctx context.Context, disk hemera.DiskID, after hemera.PieceID, limit int) ([]hemera.PieceStat, error) {
		if disk == 2 {
			if pages++; pages > 2 {
				return nil, errs.New(errs.IO, "disk.Scan", "", "it is broken")
			}
		}
		return c.list(ctx, disk, after, limit)
	}
	report, err := Run(t.Context(), Options{Disks: c.disks(), Unread: []hemera.DiskID{9}, List: list, Names: n.Parts(), Next: n.Inspection.Stats().NextID, Now: time.Now,
		Tell: func(adminapi.RebuildReport) error { return nil }})
	if err != nil || report.Made != 20 || report.DisksRead != 1 || !slices.Equal(report.Unread, []hemera.DiskID{9, 2}) {
		t.Errorf("%+v, %v", report, err)
	}
	if more, _ := rebuild(t, n, c, adminapi.RebuildOptions{}); more.Grown != 14 || more.Before != 6 {
		t.Errorf("%+v", more)
	}
}

// TestManyFindings has more than wait for the caller, who ends it.
func TestManyFindings(t *testing.T) {
	c := cluster{}
	for i := range 3 * findingsMax {
		c.add(piece(1, 5+i, 1, 0, 0, ""))
	}
	n := prepared(t)
	var told int
	stop := errors.New("the admin is gone")
	_, err := Run(t.Context(), Options{RebuildOptions: adminapi.RebuildOptions{DryRun: true}, Disks: c.disks(), List: c.list, Names: n.Parts(), Next: n.Inspection.Stats().NextID, Now: time.Now,
		Tell: func(r adminapi.RebuildReport) error { told += len(r.Findings); return stop }})
	if !errors.Is(err, stop) || told == 0 || told > findingsMax {
		t.Errorf("%v after %d findings", err, told)
	}
	if _, findings := rebuild(t, n, c, adminapi.RebuildOptions{DryRun: true}); len(findings) != 3*findingsMax {
		t.Errorf("%d findings", len(findings))
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), Options{Disks: c.disks(), List: c.list, Names: n.Parts(), Next: 1 << 60, Now: time.Now, Tell: func(adminapi.RebuildReport) error { return nil }})
	if !errors.Is(err, errs.Unavailable) {
		t.Errorf("with a namespace that is closed: %v", err)
	}
}
