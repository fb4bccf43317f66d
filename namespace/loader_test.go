package namespace_test

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/measure/nsload"
	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/platform/kv/pebblekv"
	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

func shapes() map[string]nsload.Shape {
	disks := []hemera.DiskID{1, 2, 3, 7, 5}
	return map[string]nsload.Shape{
		"one file":     {Files: 1, Size: 100, Disks: disks},
		"wide":         {Files: 1500, FilesPerDir: 2000, Size: 1, Disks: disks, Replicas: 1},
		"deep":         {Files: 300, FilesPerDir: 3, DirsPerDir: 2, Size: 1000, Disks: disks, Replicas: 5, Seed: 9},
		"odd":          {Files: 1001, FilesPerDir: 7, DirsPerDir: 5, Size: 1 << 40, Disks: disks, Replicas: 2, UID: 7, GID: 8},
		"without disk": {Files: 100, FilesPerDir: 9},
	}
}

func fixed() time.Time { return time.Unix(1_700_000_000, 12345).UTC() }

// prepared returns a store with a few things in it.
func prepared(t *testing.T, s kv.Store) kv.Store {
	t.Helper()
	n := open(t, s, namespace.Options{Clock: fixed})
	must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/a", 0o755, false))
	must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/a/b", 0o755, false))
	put(t, n, alice(), "/a/f", 77)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

func loadTree(t *testing.T, s kv.Store, at string, shape nsload.Shape) hemera.TreeTotals {
	t.Helper()
	return must[hemera.TreeTotals](t)(nsload.Load(t.Context(), s,
		nsload.Options{Options: namespace.Options{Clock: fixed}, Path: at, Shape: shape}))
}

// TestLoadIsWhatCommitsMake holds a loaded store against one in which each entry of it was made by
// the namespace's own operations.
func TestLoadIsWhatCommitsMake(t *testing.T) {
	for name, shape := range shapes() {
		t.Run(name, func(t *testing.T) {
			loaded := prepared(t, memkv.New())
			tree := loadTree(t, loaded, "/a/b/load", shape)
			n := open(t, loaded, namespace.Options{Clock: fixed})
			checked(t, n)
			top := must[hemera.Entry](t)(n.Tree.Stat(t.Context(), boss(), "/a/b/load"))
			if top.Tree != tree || tree.Files != shape.Files {
				t.Errorf("totals %+v, %+v said, for %d files", top.Tree, tree, shape.Files)
			}
			made := prepared(t, memkv.New())
			remake(t, n, open(t, made, namespace.Options{Clock: fixed}), top)
			same(t, loaded, made)
		})
	}
}

// TestLoadWithTapes has the checker compare copies, tapes, jobs and queues of a loaded tree, and takes jobs as a mount does.
func TestLoadWithTapes(t *testing.T) {
	s := prepared(t, memkv.New())
	shape := nsload.Shape{Files: 1000, FilesPerDir: 30, Size: 1000, Disks: []hemera.DiskID{1, 2, 3}, UID: 7,
		Tape: &nsload.TapeShape{Class: "default", Pool: "default", FilesPerTape: 77, Archive: 100, Recall: 333, Users: 4}}
	tree := loadTree(t, s, "/a/b/load", shape)
	n := open(t, s, namespace.Options{Clock: fixed})
	checked(t, n)
	if tree.Files != 1000 || tree.Physical >= tree.Bytes {
		t.Errorf("totals %+v: what is on tape only takes no disk", tree)
	}
	jobs := map[tapeapi.JobKind]int{}
	for _, q := range must[[]catalogue.Queue](t)(n.Parts().Tapes.Queues(t.Context())) {
		list := must[[]tapeapi.Job](t)(n.Parts().Tapes.Jobs(t.Context(), q, 1000, nil))
		if int64(len(list)) != q.Files || q.Oldest.IsZero() {
			t.Errorf("queue %+v has %d jobs", q, len(list))
		}
		jobs[q.Kind] += len(list)
	}
	if jobs[tapeapi.Archive] != 100 || jobs[tapeapi.Recall] != 333 {
		t.Errorf("jobs %v", jobs)
	}
	// One that was recalled is removed: rows of tapes, jobs and sums follow.
	path := must[func(int64) string](t)(shape.Paths("/a/b/load"))
	if err := n.Tree.Remove(t.Context(), boss(), path(150), hemera.KindFile); err != nil {
		t.Fatal(err)
	}
	checked(t, n)
}

// remake makes what is below the directory of one namespace in another, in the order of ids.
func remake(t *testing.T, from, to *namespace.Namespace, top hemera.Entry) {
	t.Helper()
	must[hemera.Entry](t)(to.Tree.Mkdir(t.Context(), owner(top), "/a/b/load", top.Mode, false))
	level := []string{"/a/b/load"}
	for len(level) > 0 {
		var next []string
		for _, dir := range level {
			if err := from.Tree.List(t.Context(), boss(), dir, func(e hemera.Entry) error {
				p := path.Join(dir, e.Name)
				if e.IsDir() {
					next = append(next, p)
					_, err := to.Tree.Mkdir(t.Context(), owner(e), p, e.Mode, false)
					return err
				}
				c := prepare(t, to, owner(e), p)
				c.Size, c.Layout, c.Space, c.Sums, c.Pieces, c.Mtime = e.Size, e.Layout, e.Space, e.Checksums, e.Pieces, e.Mtime
				_, err := to.Writes.Commit(t.Context(), c)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		level = next
	}
}

func boss() hemera.Identity { return hemera.Identity{Name: "root", Admin: true} }

// owner may write anywhere, and makes things that belong to the entry's owner.
func owner(e hemera.Entry) hemera.Identity {
	return hemera.Identity{Name: "owner", UID: e.UID, GID: e.GID, Admin: true}
}

// same compares two stores but for the event log and the reserve of ids.
func same(t *testing.T, a, b kv.Reader) {
	t.Helper()
	x, y := dump(t, a), dump(t, b)
	for k, v := range x {
		if w, ok := y[k]; !ok || v != w {
			t.Errorf("%q is %q in one and %q (%t) in the other", k, v, w, ok)
		}
	}
	if len(x) != len(y) {
		t.Errorf("%d records and %d", len(x), len(y))
	}
}

func dump(t *testing.T, s kv.Reader) map[string]string {
	t.Helper()
	out := make(map[string]string)
	if err := s.Scan(t.Context(), nil, nil, func(k, v []byte) bool {
		if !bytes.HasPrefix(k, []byte("nl")) && !bytes.HasPrefix(k, []byte("nm")) {
			out[string(k)] = string(v)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLoadedTreeIsUsed(t *testing.T) {
	s, err := pebblekv.Open("db", pebblekv.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	loadTree(t, s, "/one", shapes()["odd"])
	loadTree(t, s, "/two", shapes()["deep"])
	n := open(t, s, namespace.Options{})
	put(t, n, boss(), "/one/new", 5)
	if err := n.Tree.Rename(t.Context(), boss(), "/one", "/two/one"); err != nil {
		t.Fatal(err)
	}
	var files []string
	if err := n.Tree.List(t.Context(), boss(), "/two/one/set000000/set000000/set000000/run000003", func(e hemera.Entry) error {
		files = append(files, e.Name)
		return nil
	}); err != nil {
		t.Error(err)
	}
	if got := strings.Join(files, " "); !strings.HasPrefix(got, "evt-000000.root evt-000001.root") || len(files) != 7 {
		t.Errorf("listed %s", got)
	}
	checked(t, n)
}

func TestPathsOfALoadedTree(t *testing.T) {
	for name, shape := range shapes() {
		s := memkv.New()
		loadTree(t, s, "/load", shape)
		n := open(t, s, namespace.Options{})
		path, err := shape.Paths("/load")
		if err != nil {
			t.Fatal(err)
		}
		for i := range shape.Files {
			if e, err := n.Tree.Stat(t.Context(), boss(), path(i)); err != nil || e.IsDir() {
				t.Fatalf("%s: file %d at %s: %v", name, i, path(i), err)
			}
		}
	}
}

func TestLoadIsRefused(t *testing.T) {
	s := prepared(t, memkv.New())
	before := dump(t, s)
	good := shapes()["odd"]
	for _, c := range []struct {
		path   string
		change func(*nsload.Shape)
		kind   errs.Kind
	}{
		{"/a", nil, errs.Exists},
		{"/", nil, errs.Exists},
		{"/none/x", nil, errs.NotFound},
		{"/a/f/x", nil, errs.NotDirectory},
		{"x", nil, errs.Invalid},
		{"/x", func(s *nsload.Shape) { s.Files = 0 }, errs.Invalid},
		{"/x", func(s *nsload.Shape) { s.DirsPerDir = 1 }, errs.Invalid},
		{"/x", func(s *nsload.Shape) { s.FilesPerDir = -1 }, errs.Invalid},
		{"/x", func(s *nsload.Shape) { s.Size = -1 }, errs.Invalid},
		{"/x", func(s *nsload.Shape) { s.Replicas = 17 }, errs.Invalid},
		{"/x", func(s *nsload.Shape) { s.Disks = s.Disks[:1] }, errs.Invalid},
		{"/x", func(s *nsload.Shape) { s.Tape = &nsload.TapeShape{Class: "a", Pool: "b", Archive: s.Files + 1} }, errs.Invalid},
		{"/x", func(s *nsload.Shape) { s.Tape = &nsload.TapeShape{} }, errs.Invalid},
	} {
		shape := good
		if c.change != nil {
			c.change(&shape)
		}
		_, err := nsload.Load(t.Context(), s, nsload.Options{Path: c.path, Shape: shape})
		wantKind(t, fmt.Sprintf("%s %+v", c.path, shape), err, c.kind)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := nsload.Load(ctx, s, nsload.Options{Path: "/x", Shape: nsload.Shape{Files: 100_000}, Progress: func(int64) { cancel() }})
	if err == nil {
		t.Error("a load whose context ended went on")
	}
	if after := dump(t, s); len(after) != len(before) {
		t.Errorf("%d records after refusals, %d before", len(after), len(before))
	}
}

// meter is a store that knows the longest scan.
type meter struct {
	kv.Store
	longest int
}

func (m *meter) Scan(ctx context.Context, lo, hi []byte, visit func(k, v []byte) bool) error {
	n := 0
	err := m.Store.Scan(ctx, lo, hi, func(k, v []byte) bool { n++; return visit(k, v) })
	m.longest = max(m.longest, n)
	return err
}

// TestListOfAWideDirectoryHoldsAPage: what a listing reads at a time does not follow the directory, and a
// visitor has all names of the page before it reads on.
func TestListOfAWideDirectoryHoldsAPage(t *testing.T) {
	m := &meter{Store: memkv.New()}
	loadTree(t, m, "/wide", nsload.Shape{Files: 50_000, FilesPerDir: 50_000})
	n := open(t, m, namespace.Options{})
	m.longest = 0
	seen := 0
	if err := n.Tree.List(t.Context(), boss(), "/wide", func(hemera.Entry) error { seen++; return nil }); err != nil || seen != 50_000 {
		t.Errorf("%d names, %v", seen, err)
	}
	if m.longest > 1025 {
		t.Errorf("one step of the listing read %d records", m.longest)
	}
}
