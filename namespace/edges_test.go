package namespace_test

import (
	"fmt"
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

func TestNamesAndPaths(t *testing.T) {
	n := fresh(t)
	long := strings.Repeat("n", hemera.NameMax)
	deep := strings.Repeat("/d", hemera.PathMax/2)
	for _, c := range []struct {
		path string
		kind errs.Kind
	}{
		{"/" + long, ok},
		{"/" + long + "n", errs.TooLarge},
		{"/\xff\xfe %=&", ok},
		{"/a\nb", errs.Invalid},
		{"/a\x00b", errs.Invalid},
		{"", errs.Invalid},
		{"a", errs.Invalid},
		{"/a/", ok},
		{"/a//", errs.Invalid},
		{"//a", errs.Invalid},
		{"/a/./b", errs.Invalid},
		{"/..", errs.Invalid},
		{"/...", ok},
		{deep + "/d", errs.TooLarge},
		{"/", errs.Exists},
	} {
		_, err := n.Tree.Mkdir(t.Context(), alice(), c.path, 0o755, false)
		if c.kind == ok && err != nil || c.kind != ok && (err == nil || errs.KindOf(err) != c.kind) {
			t.Errorf("%.40q: got %v", c.path, err)
		}
	}
	if _, err := n.Tree.Stat(t.Context(), alice(), deep); errs.KindOf(err) != errs.NotFound {
		t.Errorf("the longest path: %v", err)
	}
	checked(t, n)
}

func TestADeepTree(t *testing.T) {
	n := fresh(t)
	p := strings.Repeat("/d", 255)
	must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), p, 0o755, true))
	e := put(t, n, alice(), p+"/f", 1)
	if root := must[hemera.Entry](t)(n.Tree.Stat(t.Context(), alice(), "/")); root.Tree.Dirs != 255 || root.Tree.Files != 1 {
		t.Errorf("totals: %+v", root.Tree)
	}
	if _, path, err := n.Inspection.Resolve(t.Context(), e.ID); err != nil || path != p+"/f" {
		t.Errorf("resolve: %.20q, %v", path, err)
	}
	checked(t, n)
}

// A rename does not look at what is below the directory, so paths there can become longer than paths may
// be. Nobody can ask for those, but their files are written to the end, moved off disks and counted.
func TestATreeMovedDeeperThanPathsGo(t *testing.T) {
	n := fresh(t)
	half := strings.Repeat("/"+strings.Repeat("n", 249), 9)
	for _, top := range []string{"/a", "/b"} {
		must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), system(), top+half, 0o777, true))
	}
	e := put(t, n, alice(), "/a"+half+"/f", 100)
	if err := n.Quotas.SetQuota(t.Context(), system(), hemera.QuotaKey{Path: "/a" + half, Kind: hemera.QuotaProject}, hemera.QuotaAmount{Files: 5}); err != nil {
		t.Fatal(err)
	}
	if err := n.Quotas.CountQuotas(t.Context()); err != nil {
		t.Fatal(err)
	}
	writing := prepare(t, n, alice(), "/a"+half+"/g")
	if err := n.Tree.Rename(t.Context(), system(), "/a", "/b"+half+"/a"); err != nil {
		t.Fatal(err)
	}
	long := "/b" + half + "/a" + half
	if _, path, err := n.Inspection.Resolve(t.Context(), e.ID); err != nil || path != long+"/f" || len(path) <= hemera.PathMax {
		t.Errorf("resolve: %d bytes, %v", len(path), err)
	}
	must[hemera.Entry](t)(n.Writes.Commit(t.Context(), writing))
	if err := n.Pieces.MovePieces(t.Context(), namespace.PieceMove{File: e.ID, Gen: e.Gen, Drop: e.Pieces[:1], Add: []hemera.Piece{{Index: 0, Disk: 3}}}); err != nil {
		t.Errorf("move of a piece: %v", err)
	}
	if rows, err := n.Quotas.Quotas(t.Context(), system(), ""); err != nil || len(rows) == 0 || rows[0].Path != long {
		t.Errorf("quotas: %d rows, %v", len(rows), err)
	}
	_, err := n.Tree.Stat(t.Context(), alice(), long)
	wantKind(t, "a path that is too long", err, errs.TooLarge)
	checked(t, n)
	if err := n.Tree.Rename(t.Context(), system(), "/b"+half+"/a", "/a"); err != nil {
		t.Fatal(err)
	}
	if err := n.Tree.Remove(t.Context(), alice(), "/a"+half+"/g", hemera.KindFile); err != nil {
		t.Errorf("after it was moved back: %v", err)
	}
	checked(t, n)
}

func TestListPages(t *testing.T) {
	n := fresh(t)
	var want []string
	for i := range 1100 {
		want = append(want, fmt.Sprintf("%04d", i))
		must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/"+want[i], 0o755, false))
	}
	var got []string
	err := n.Tree.List(t.Context(), alice(), "/", func(e hemera.Entry) error { got = append(got, e.Name); return nil })
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d names, %v", len(got), err)
	}
	stop := fmt.Errorf("enough")
	if err := n.Tree.List(t.Context(), alice(), "/", func(hemera.Entry) error { return stop }); err != stop {
		t.Errorf("a visit's error: %v", err)
	}
}

func TestIDsAreNeverHandedOutTwice(t *testing.T) {
	s := memkv.New()
	var mu sync.Mutex
	seen := make(map[hemera.FileID]bool)
	for range 2 {
		n := open(t, s, namespace.Options{})
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 1500 {
					c := prepare(t, n, alice(), fmt.Sprintf("/%d.%d", g, i))
					mu.Lock()
					if seen[c.ID] {
						t.Errorf("id %s twice", c.ID)
					}
					seen[c.ID] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCacheKeepsItsBound(t *testing.T) {
	n := open(t, memkv.New(), namespace.Options{CacheBytes: 256 << 10})
	for i := range 3000 {
		must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), fmt.Sprintf("/d%d", i), 0o755, false))
	}
	if s := n.Inspection.Stats(); s.CacheBytes > s.CacheMax || s.CacheMax != 256<<10 || s.CacheBytes < s.CacheMax/2 {
		t.Errorf("cache %d of %d bytes", s.CacheBytes, s.CacheMax)
	}
	checked(t, n)
}

func TestALoweredEventBoundIsReached(t *testing.T) {
	s := memkv.New()
	clock := func() time.Time { return time.Unix(1, 0) }
	for _, limit := range []uint64{100, 10} {
		n := open(t, s, namespace.Options{EventsMax: limit, Clock: clock})
		for i := range 120 {
			must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), fmt.Sprintf("/%d-%d", limit, i), 0o755, false))
		}
		events := must[[]hemera.Event](t)(n.Inspection.Events(t.Context(), 0, 1000))
		if uint64(len(events)) != limit || events[len(events)-1].Seq != n.Inspection.Stats().Sequence {
			t.Errorf("%d events, the last %+v; sequence %d", len(events), events[len(events)-1], n.Inspection.Stats().Sequence)
		}
		if tail := must[[]hemera.Event](t)(n.Inspection.Events(t.Context(), n.Inspection.Stats().Sequence-3, 2)); len(tail) != 2 || tail[1].Seq != n.Inspection.Stats().Sequence-1 {
			t.Errorf("events after: %+v", tail)
		}
		checked(t, n)
	}
}

// raw changes a store behind the namespace's back.
func raw(t *testing.T, s kv.Store, key string, edit func([]byte) []byte) {
	t.Helper()
	w, err := s.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	value, err := s.Get(t.Context(), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	b := new(kv.Batch)
	if value = edit(value); value == nil {
		b.Delete([]byte(key))
	} else {
		b.Put([]byte(key), value)
	}
	if _, err := w.Enqueue(b); err != nil {
		t.Fatal(err)
	}
}

func TestCheckFindsWhatDoesNotAgree(t *testing.T) {
	const id = "\x00\x00\x00\x00\x00\x00\x00"
	gone := func([]byte) []byte { return nil }
	for key, edit := range map[string]func([]byte) []byte{
		"nt" + id + "\x01":                     func(b []byte) []byte { b[len(b)-2] += 2; return b }, // its depth comes last
		"nt" + id + "\x02":                     gone,
		"ne" + id + "\x01f":                    gone,
		"ni" + id + "\x03":                     gone,
		"nd\x00\x00\x00\x01" + id + "\x03\x00": gone,
		"ng\x00\x00\x00\x01":                   func(b []byte) []byte { b[1] += 2; return b },
		"nu\x00\x00\x00\x01" + id + "\x03" + id[:7] + "\x01\x00": gone,
		"nx" + id + "\x03": gone,
		"nl" + id + "\x01": gone,
	} {
		s := memkv.New()
		n := open(t, s, namespace.Options{})
		must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/d", 0o755, false))
		put(t, n, alice(), "/f", 100)
		c := prepare(t, n, alice(), "/f")
		c.Size, c.Pieces = 50, c.Pieces[:1]
		must[hemera.Entry](t)(n.Writes.Commit(t.Context(), c))
		checked(t, n)
		raw(t, s, key, edit)
		problems, err := open(t, s, namespace.Options{}).Inspection.Check(t.Context())
		if err != nil || len(problems) == 0 {
			t.Errorf("%q was damaged and nothing found, %v", key, err)
		}
	}
}

func TestAnotherFormatIsRefused(t *testing.T) {
	s := memkv.New()
	open(t, s, namespace.Options{})
	raw(t, s, "nmf", func(b []byte) []byte { b[3]++; return b })
	_, err := namespace.Open(t.Context(), s, namespace.Options{})
	wantKind(t, "a newer format", err, errs.Unsupported)
	raw(t, s, "nmf", func([]byte) []byte { return nil })
	_, err = namespace.Open(t.Context(), s, namespace.Options{})
	wantKind(t, "no format", err, errs.Corrupt)
}

func TestAttributesHaveBounds(t *testing.T) {
	n := fresh(t)
	must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/d", 0o755, false))
	set := func(name string, size int) error {
		return n.Tree.SetXattr(t.Context(), alice(), "/d", name, make([]byte, size), false)
	}
	if err := set("user.big", hemera.XattrValueMax); err != nil {
		t.Error(err)
	}
	wantKind(t, "a larger one", set("user.big", hemera.XattrValueMax+1), errs.TooLarge)
	wantKind(t, "a long name", set("user."+strings.Repeat("n", hemera.XattrNameMax), 1), errs.TooLarge)
	wantKind(t, "all together", func() error {
		if err := set("user.b2", hemera.XattrValueMax-100); err != nil {
			return err
		}
		return set("user.b3", 1000)
	}(), errs.TooLarge)
	if err := set("user.b2", 0); err != nil {
		t.Error(err)
	}
	for i := range hemera.XattrsMax + 1 {
		err := set(fmt.Sprintf("user.%d", i), 0)
		if i >= hemera.XattrsMax-2 != (err != nil) {
			t.Fatalf("attribute %d: %v", i, err)
		}
		if err != nil {
			break
		}
	}
	checked(t, n)
}
