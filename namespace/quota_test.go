package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"hemera/measure/nsload"
	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// ample limits nothing a test does.
var ample = hemera.QuotaAmount{Files: 1 << 40, Bytes: 1 << 50, Physical: 1 << 50}

func limit(t testing.TB, n *namespace.Namespace, path string, kind hemera.QuotaKind, id uint32, l hemera.QuotaAmount) {
	t.Helper()
	if err := n.Quotas.SetQuota(t.Context(), system(), hemera.QuotaKey{Path: path, Kind: kind, ID: id}, l); err != nil {
		t.Fatal(err)
	}
}

func counted(t testing.TB, n *namespace.Namespace) {
	t.Helper()
	if err := n.Quotas.CountQuotas(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// used returns the lines of quota ls, as text in their order; without limits.
func used(t testing.TB, n *namespace.Namespace, path string) (out []string) {
	t.Helper()
	for _, r := range must[[]hemera.QuotaRow](t)(n.Quotas.Quotas(t.Context(), system(), path)) {
		if r.Used != (hemera.QuotaAmount{}) {
			out = append(out, fmt.Sprintf("%s %s %d: %d %d %d", r.Path, r.Kind, r.ID, r.Used.Files, r.Used.Bytes, r.Used.Physical))
		}
	}
	return out
}

func wantUsed(t testing.TB, n *namespace.Namespace, want ...string) {
	t.Helper()
	if got := used(t, n, ""); !slices.Equal(got, want) {
		t.Errorf("used:\n%q\nwant:\n%q", got, want)
	}
	checked(t, n)
}

// people makes directories everybody may use.
func people(t testing.TB, n *namespace.Namespace, paths ...string) {
	t.Helper()
	for _, p := range paths {
		must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), system(), p, 0o777, true))
		if err := n.Tree.SetMode(t.Context(), system(), p, 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

func TestQuotaFollowsEveryChange(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	people(t, n, "/exp/a", "/exp/b", "/other")
	put(t, n, alice(), "/exp/a/old", 10)
	limit(t, n, "/exp", hemera.QuotaUser, 1000, ample)
	limit(t, n, "/exp", hemera.QuotaProject, 0, ample)
	wantUsed(t, n, "/exp project 0: 1 10 20")
	counted(t, n)
	wantUsed(t, n, "/exp project 0: 1 10 20", "/exp user 1000: 1 10 20", "/exp group 1000: 1 10 20")
	put(t, n, alice(), "/exp/a/old", 30)
	put(t, n, bob(), "/exp/b/f", 5)
	put(t, n, bob(), "/other/g", 7)
	steps := []struct {
		what string
		do   func() error
		want []string
	}{
		{"a replacement, a new file", func() error { return nil },
			[]string{"/exp project 0: 2 35 70", "/exp user 1000: 1 30 60", "/exp user 1001: 1 5 10", "/exp group 1000: 1 30 60", "/exp group 1001: 1 5 10"}},
		{"a move in", func() error { return n.Tree.Rename(ctx, system(), "/other/g", "/exp/g") },
			[]string{"/exp project 0: 3 42 84", "/exp user 1000: 1 30 60", "/exp user 1001: 2 12 24", "/exp group 1000: 1 30 60", "/exp group 1001: 2 12 24"}},
		{"a move over another's", func() error { return n.Tree.Rename(ctx, system(), "/exp/g", "/exp/a/old") },
			[]string{"/exp project 0: 2 12 24", "/exp user 1001: 2 12 24", "/exp group 1001: 2 12 24"}},
		{"a change of owner", func() error { return n.Tree.SetOwner(ctx, system(), "/exp/b/f", 1000, -1) },
			[]string{"/exp project 0: 2 12 24", "/exp user 1000: 1 5 10", "/exp user 1001: 1 7 14", "/exp group 1001: 2 12 24"}},
		{"a move out", func() error { return n.Tree.Rename(ctx, system(), "/exp/b/f", "/other/f") },
			[]string{"/exp project 0: 1 7 14", "/exp user 1001: 1 7 14", "/exp group 1001: 1 7 14"}},
		{"a lost piece", func() error {
			e := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/exp/a/old"))
			return n.Pieces.MovePieces(ctx, namespace.PieceMove{File: e.ID, Gen: e.Gen, Drop: e.Pieces[1:]})
		}, []string{"/exp project 0: 1 7 7", "/exp user 1001: 1 7 7", "/exp group 1001: 1 7 7"}},
		{"a removal", func() error { return n.Tree.Remove(ctx, system(), "/exp/a/old", 0) }, nil},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.what, err)
		}
		t.Log(s.what)
		wantUsed(t, n, s.want...)
	}
}

func TestNearestNodeCounts(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	people(t, n, "/exp/in/side", "/exp/out")
	put(t, n, alice(), "/exp/f", 1)
	put(t, n, alice(), "/exp/in/f", 10)
	put(t, n, alice(), "/exp/in/side/f", 100)
	limit(t, n, "/exp", hemera.QuotaUser, 1000, ample)
	counted(t, n)
	wantUsed(t, n, "/exp user 1000: 3 111 222", "/exp group 1000: 3 111 222")
	limit(t, n, "/exp/in", hemera.QuotaGroup, 1000, ample)
	put(t, n, alice(), "/exp/in/g", 1000) // belongs to /exp until it is counted
	wantUsed(t, n, "/exp user 1000: 4 1111 2222", "/exp group 1000: 4 1111 2222")
	counted(t, n)
	wantUsed(t, n, "/exp user 1000: 1 1 2", "/exp group 1000: 1 1 2", "/exp/in user 1000: 3 1110 2220", "/exp/in group 1000: 3 1110 2220")

	err := n.Tree.Rename(ctx, system(), "/exp/in/side", "/exp/out/side")
	wantKind(t, "moving a tree between nodes", err, errs.Unsupported)
	if err := n.Tree.Rename(ctx, system(), "/exp/in/side", "/exp/in/aside"); err != nil {
		t.Error("moving a tree within its node:", err)
	}
	if err := n.Tree.Rename(ctx, system(), "/exp/out", "/exp/in/out"); err != nil {
		t.Error("moving an empty tree:", err)
	}
	if err := n.Tree.Rename(ctx, system(), "/exp/in", "/in"); err != nil {
		t.Error("moving a node:", err)
	}
	wantUsed(t, n, "/exp user 1000: 1 1 2", "/exp group 1000: 1 1 2", "/in user 1000: 3 1110 2220", "/in group 1000: 3 1110 2220")
	if err := n.Tree.Rename(ctx, system(), "/in", "/exp/in"); err != nil {
		t.Error("moving a node back:", err)
	}
	if err := n.Quotas.RemoveQuota(ctx, system(), hemera.QuotaKey{Path: "/exp/in"}); err != nil {
		t.Error(err)
	}
	counted(t, n)
	wantUsed(t, n, "/exp user 1000: 4 1111 2222", "/exp group 1000: 4 1111 2222")
	if e := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/exp/in")); e.Quota {
		t.Error("a directory without limits is still a node")
	}
}

func TestQuotaRefusals(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	people(t, n, "/exp/d", "/out")
	put(t, n, alice(), "/out/f", 60)
	key := func(path string, kind hemera.QuotaKind, id uint32) hemera.QuotaKey {
		return hemera.QuotaKey{Path: path, Kind: kind, ID: id}
	}
	wantKind(t, "no limit", n.Quotas.SetQuota(ctx, system(), key("/exp", hemera.QuotaUser, 1), hemera.QuotaAmount{}), errs.Invalid)
	wantKind(t, "a negative limit", n.Quotas.SetQuota(ctx, system(), key("/exp", hemera.QuotaUser, 1), hemera.QuotaAmount{Bytes: -2}), errs.Invalid)
	wantKind(t, "no kind", n.Quotas.SetQuota(ctx, system(), key("/exp", 0, 1), ample), errs.Invalid)
	wantKind(t, "a file", n.Quotas.SetQuota(ctx, system(), key("/out/f", hemera.QuotaUser, 1), ample), errs.NotDirectory)
	wantKind(t, "nothing there", n.Quotas.SetQuota(ctx, system(), key("/none", hemera.QuotaUser, 1), ample), errs.NotFound)
	wantKind(t, "no node to end", n.Quotas.RemoveQuota(ctx, system(), key("/exp", 0, 0)), errs.NotFound)

	limit(t, n, "/exp/d", hemera.QuotaUser, hemera.QuotaDefault, hemera.QuotaAmount{Bytes: 100})
	counted(t, n)
	wantKind(t, "a limit nobody set", n.Quotas.RemoveQuota(ctx, system(), key("/exp/d", hemera.QuotaUser, 1)), errs.NotFound)
	wantKind(t, "removing a node", n.Tree.Remove(ctx, system(), "/exp/d", 0), errs.Denied)
	if err := n.Tree.Rename(ctx, alice(), "/out/f", "/exp/d/f"); err != nil {
		t.Error("moving a file in:", err)
	}
	put(t, n, alice(), "/out/g", 60)
	wantKind(t, "moving a file in above the limit", n.Tree.Rename(ctx, alice(), "/out/g", "/exp/d/g"), errs.OverQuota)
	put(t, n, bob(), "/exp/d/b", 70)
	wantKind(t, "giving a file away above the limit", n.Tree.SetOwner(ctx, system(), "/exp/d/b", 1000, -1), errs.OverQuota)
	limit(t, n, "/exp", hemera.QuotaProject, 0, hemera.QuotaAmount{Physical: 300})
	people(t, n, "/out/tree")
	put(t, n, alice(), "/out/tree/f", 30)
	counted(t, n)
	limit(t, n, "/out/tree", hemera.QuotaProject, 0, ample) // its realm moves with it
	counted(t, n)
	wantKind(t, "moving a tree into a full project", n.Tree.Rename(ctx, system(), "/out/tree", "/exp/tree"), errs.OverQuota)
	checked(t, n)
}

// TestStandings: an open hears of the limits that hold for its file.
func TestStandings(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	people(t, n, "/exp/d")
	open := func(who hemera.Identity, path string) (out []string) {
		t.Helper()
		p := must[namespace.Prepared](t)(n.Writes.Prepare(ctx, who, hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Mode: 0o644}))
		for _, s := range p.Quota {
			out = append(out, fmt.Sprintf("%s %s %d: %d of %d", s.Path, s.Kind, s.ID, s.Used.Bytes, s.Limits.Bytes))
		}
		return out
	}
	expect := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("standings %q, want %q", got, want)
		}
	}
	expect(open(alice(), "/exp/d/f"))
	limit(t, n, "/", hemera.QuotaProject, 0, hemera.QuotaAmount{Bytes: 1000})
	limit(t, n, "/exp", hemera.QuotaUser, 1000, hemera.QuotaAmount{Bytes: 100})
	limit(t, n, "/exp", hemera.QuotaUser, hemera.QuotaDefault, hemera.QuotaAmount{Bytes: 50})
	limit(t, n, "/exp", hemera.QuotaGroup, 1001, hemera.QuotaAmount{Bytes: 200})
	expect(open(alice(), "/exp/d/f"), "/ project 0: 0 of 1000") // users wait for the counter
	counted(t, n)
	put(t, n, alice(), "/exp/d/f", 7)
	expect(open(alice(), "/exp/d/g"), "/ project 0: 7 of 1000", "/exp user 1000: 7 of 100")
	expect(open(bob(), "/exp/d/g"), "/ project 0: 7 of 1000", "/exp user 1001: 0 of 50", "/exp group 1001: 0 of 200")
	expect(open(system(), "/exp/d/f"), "/ project 0: 7 of 1000", "/exp user 1000: 7 of 100") // the file is alice's
}

// cutStore fails its batches from the given one on, and lets others in while a snapshot is read.
type cutStore struct {
	*memkv.Store
	left   int
	during func()
}

var errCut = errors.New("the power is out")

func (s *cutStore) Acquire(ctx context.Context, owner string) (kv.Writer, error) {
	w, err := s.Store.Acquire(ctx, owner)
	return &cutWriter{w, s}, err
}

type cutWriter struct {
	kv.Writer
	s *cutStore
}

func (w *cutWriter) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	if w.s.left--; w.s.left < 0 {
		return nil, errCut
	}
	return w.Writer.Enqueue(b)
}

func (s *cutStore) Snapshot(ctx context.Context) (kv.Snapshot, error) {
	snap, err := s.Store.Snapshot(ctx)
	return &busySnapshot{snap, s}, err
}

type busySnapshot struct {
	kv.Snapshot
	s *cutStore
}

func (b *busySnapshot) Scan(ctx context.Context, lo, hi []byte, visit func(k, v []byte) bool) error {
	if during := b.s.during; during != nil {
		b.s.during = nil
		during()
	}
	return b.Snapshot.Scan(ctx, lo, hi, visit)
}

// TestCountingCutOffAnywhere makes and ends nodes in and above one another while files change, cuts
// the counter off at each of its batches, and requires exact usage in the end.
func TestCountingCutOffAnywhere(t *testing.T) {
	if cuts := countWithCut(t, 1<<30); cuts < 15 {
		t.Errorf("only %d batches", cuts)
	} else {
		for at := range cuts {
			countWithCut(t, at)
		}
	}
}

// countWithCut returns how many batches the counter wrote.
func countWithCut(t *testing.T, at int) (batches int) {
	s := &cutStore{Store: memkv.New(), left: 1 << 40}
	n := open(t, s, namespace.Options{})
	people(t, n, "/a/b/c", "/a/x", "/z")
	for i, p := range []string{"/a/f", "/a/b/f", "/a/b/c/f", "/a/x/f", "/z/f", "/a/b/g", "/a/b/c/g"} {
		put(t, n, []hemera.Identity{alice(), bob()}[i%2], p, int64(1)<<i)
	}
	limit(t, n, "/a", hemera.QuotaUser, 1, ample)
	counted(t, n)
	r := rand.New(rand.NewPCG(uint64(at), 7))
	stir := func() {
		for range 12 {
			p, q := stirPaths[r.IntN(len(stirPaths))], stirPaths[r.IntN(len(stirPaths))]
			switch r.IntN(4) {
			case 0:
				anyone := hemera.Identity{Name: "anyone", UID: uint32(1000 + r.IntN(3)), GID: 1000, Admin: true}
				pr, err := n.Writes.Prepare(t.Context(), anyone, hemera.OpenRequest{Path: p, Access: hemera.AccessCreate, Mode: 0o644})
				if err != nil { // the directory may have moved, the power be out
					continue
				}
				c := commitOf(pr, p, anyone)
				c.Size = int64(r.IntN(1000))
				_, _ = n.Writes.Commit(t.Context(), c)
			case 1:
				_ = n.Tree.Remove(t.Context(), system(), p, hemera.KindFile)
			case 2:
				_ = n.Tree.Rename(t.Context(), system(), p, q)
			case 3:
				_ = n.Tree.SetOwner(t.Context(), system(), p, int64(1000+r.IntN(3)), int64(1000+r.IntN(3)))
			}
		}
	}
	// Three rounds: a node below one, that one ends, a node that moves while it is counted.
	rounds := []func(){
		func() { limit(t, n, "/a/b", hemera.QuotaUser, 1, ample) },
		func() { _ = n.Quotas.RemoveQuota(t.Context(), system(), hemera.QuotaKey{Path: "/a"}) },
		func() { limit(t, n, "/a/b/c", hemera.QuotaGroup, 2, ample) },
		func() { limit(t, n, "/a", hemera.QuotaGroup, 2, ample) },
		func() { _ = n.Quotas.RemoveQuota(t.Context(), system(), hemera.QuotaKey{Path: "/a/b"}) },
	}
	s.left = 1 << 40
	total := 0
	for i, change := range rounds {
		change()
		during := stir
		if i == 2 {
			during = func() {
				stir()
				if err := n.Tree.Rename(t.Context(), system(), "/a/b/c", "/z/c"); !errors.Is(err, errs.Unsupported) && !errors.Is(err, errs.Unavailable) {
					t.Errorf("moving a node that is counted: %v", err)
				}
				stir()
			}
		}
		s.during = during
		start := at - total
		if start < 0 {
			start = 1 << 40
		}
		s.left = start
		err := n.Quotas.CountQuotas(t.Context())
		total += start - s.left
		if err != nil { // the manager dies, and the next one goes on
			s.left, s.during = 1<<40, nil
			n = open(t, s, namespace.Options{})
			checked(t, n)
			stir()
			counted(t, n)
		}
		s.left, s.during = 1<<40, nil
		if i == 2 {
			if err := n.Tree.Rename(t.Context(), system(), "/a/b/c", "/z/c"); err != nil {
				t.Error("moving a node that was counted:", err)
			}
		}
		stir()
		if got, want := used(t, n, ""), recounted(t, n); !slices.Equal(got, want) {
			t.Fatalf("cut at %d, round %d: used\n%q, recounted\n%q", at, i, got, want)
		}
		checked(t, n)
	}
	return total
}

var stirPaths = []string{"/a/f", "/a/b/f", "/a/b/c/f", "/a/x/f", "/z/f", "/a/b/g", "/a/b/c/g", "/z/new", "/a/b/new"}

// recounted walks the tree and sums what users and groups have at the nearest node above each file.
func recounted(t *testing.T, n *namespace.Namespace) []string {
	t.Helper()
	type row struct {
		path string
		kind hemera.QuotaKind
		id   uint32
	}
	sums := make(map[row]hemera.QuotaAmount)
	var walk func(path, node string)
	walk = func(path, node string) {
		var below []hemera.Entry
		if err := n.Tree.List(t.Context(), system(), max(path, "/"), func(e hemera.Entry) error { below = append(below, e); return nil }); err != nil {
			t.Fatal(err)
		}
		for _, e := range below {
			switch name := path + "/" + e.Name; {
			case e.IsDir() && e.Quota:
				walk(name, name)
			case e.IsDir():
				walk(name, node)
			case node != "":
				used := hemera.QuotaAmount{Files: 1, Bytes: e.Size, Physical: e.Size * int64(len(e.Pieces))}
				u, g := row{node, hemera.QuotaUser, e.UID}, row{node, hemera.QuotaGroup, e.GID}
				sums[u], sums[g] = sums[u].Add(used), sums[g].Add(used)
			}
		}
	}
	walk("", "")
	var out []string
	for _, r := range slices.SortedFunc(maps.Keys(sums), func(a, b row) int {
		if a.path != b.path {
			return map[bool]int{true: -1, false: 1}[a.path < b.path]
		}
		return int(a.kind)*10000 + int(a.id) - int(b.kind)*10000 - int(b.id)
	}) {
		u := sums[r]
		out = append(out, fmt.Sprintf("%s %s %d: %d %d %d", r.path, r.kind, r.id, u.Files, u.Bytes, u.Physical))
	}
	return out
}

// TestManyAccounts moves more accounts than one change takes.
func TestManyAccounts(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	people(t, n, "/d/e")
	for i := range uint32(700) {
		put(t, n, hemera.Identity{Name: "u", UID: 5000 + i, GID: 100}, fmt.Sprintf("/d/e/f%d", i), 3)
	}
	limit(t, n, "/d", hemera.QuotaUser, 1, ample)
	counted(t, n)
	for i := range uint32(300) {
		limit(t, n, "/d/e", hemera.QuotaUser, i, ample)
	}
	counted(t, n)
	want := recounted(t, n)
	if got := used(t, n, ""); len(got) != 701 || !slices.Equal(got, want) {
		t.Errorf("%d rows, recounted %d", len(got), len(want))
	}
	if err := n.Quotas.RemoveQuota(ctx, system(), hemera.QuotaKey{Path: "/d/e"}); err != nil {
		t.Fatal(err)
	}
	counted(t, n)
	if got, want := used(t, n, "/d/e"), recounted(t, n); len(got) != 701 || !slices.Equal(got, want) {
		t.Errorf("%d rows, recounted %d", len(got), len(want))
	}
	checked(t, n)
}

// TestLoadKeepsAwayFromQuotas: a load writes no accounts, so it may not be below a node; what it made is
// counted when a quota is set on it.
func TestLoadKeepsAwayFromQuotas(t *testing.T) {
	s := memkv.New()
	n := open(t, s, namespace.Options{})
	people(t, n, "/a", "/b")
	limit(t, n, "/a", hemera.QuotaUser, 7, ample)
	counted(t, n)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	shape := nsload.Shape{Files: 5000, FilesPerDir: 30, DirsPerDir: 4, Size: 10, Disks: []hemera.DiskID{1, 2}, Replicas: 2, UID: 7, GID: 8}
	_, err := nsload.Load(t.Context(), s, nsload.Options{Path: "/a/load", Shape: shape})
	wantKind(t, "a load below a node", err, errs.Unsupported)
	loadTree(t, s, "/b/load", shape)
	n = open(t, s, namespace.Options{})
	limit(t, n, "/b", hemera.QuotaUser, 7, ample)
	counted(t, n)
	wantUsed(t, n, recounted(t, n)...)
	if got := used(t, n, "/b"); len(got) != 2 || got[0][:16] != "/b user 7: 5000 " {
		t.Errorf("used %q", got)
	}
}
