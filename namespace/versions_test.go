package namespace_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/rules/recycle"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// versions returns the sizes of a file's versions, oldest first. Commits of these tests have one time, so ids say which.
func versions(t testing.TB, n *namespace.Namespace, p string) (sizes []int64) {
	t.Helper()
	dir, _ := recycle.VersionDir(path.Base(p))
	var all []hemera.Entry
	err := n.Tree.List(t.Context(), system(), path.Join(path.Dir(p), dir), func(e hemera.Entry) error {
		if e.Name != recycle.VersionName(e.Mtime, e.ID) || e.Xattrs["sys.versions"] != nil {
			t.Errorf("version %s of %s is %+v", e.Name, p, e)
		}
		all = append(all, e)
		return nil
	})
	if err != nil && errs.KindOf(err) != errs.NotFound && errs.KindOf(err) != errs.TooLarge {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b hemera.Entry) int { return int(int64(a.ID) - int64(b.ID)) })
	for _, e := range all {
		sizes = append(sizes, e.Size)
	}
	return sizes
}

func wantVersions(t testing.TB, n *namespace.Namespace, p string, want ...int64) {
	t.Helper()
	if got := versions(t, n, p); !slices.Equal(got, want) {
		t.Errorf("%s has versions %v, not %v", p, got, want)
	}
	checked(t, n)
}

// versioned returns a directory that keeps versions of its files.
func versioned(t testing.TB, keep string) *namespace.Namespace {
	n := fresh(t)
	people(t, n, "/doc")
	good(t, n.Tree.SetXattr(t.Context(), system(), "/doc", "sys.versioning", []byte(keep), false))
	return n
}

func TestVersionsAreKept(t *testing.T) {
	n, ctx := versioned(t, "2"), t.Context()
	old := put(t, n, alice(), "/doc/f", 1)
	good(t, n.Tree.SetXattr(ctx, alice(), "/doc/f", "user.note", []byte("mine"), false))
	good(t, n.Tree.SetMode(ctx, alice(), "/doc/f", 0o666))
	for size := int64(2); size <= 5; size++ {
		put(t, n, bob(), "/doc/f", size)
	}
	wantVersions(t, n, "/doc/f", 3, 4)
	e := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/doc/f"))
	if e.ID == old.ID || e.UID != old.UID || e.Mode != 0o666 || string(e.Xattrs["user.note"]) != "mine" || e.Size != 5 {
		t.Errorf("the name has %+v", e)
	}
	if _, _, err := n.Inspection.Resolve(ctx, old.ID); errs.KindOf(err) != errs.NotFound {
		t.Errorf("the version that was too many: %v", err)
	}
	// An update is of the same content, and of no other version.
	u, err := n.Writes.Prepare(ctx, bob(), hemera.OpenRequest{Path: "/doc/f", Access: hemera.AccessUpdate})
	if err != nil || u.Keeps || u.Versioned {
		t.Fatalf("%+v, %v", u, err)
	}
	c := commitOf(u, "/doc/f", bob())
	c.Size = 6
	must[hemera.Entry](t)(n.Writes.Commit(ctx, c))
	wantVersions(t, n, "/doc/f", 3, 4)
	// A lower number holds from the next content on, none keeps those that there are.
	good(t, n.Tree.SetXattr(ctx, system(), "/doc", "sys.versioning", []byte("1"), false))
	put(t, n, bob(), "/doc/f", 7)
	wantVersions(t, n, "/doc/f", 6)
	good(t, n.Tree.SetXattr(ctx, system(), "/doc", "sys.versioning", []byte("0"), false))
	put(t, n, bob(), "/doc/f", 8)
	wantVersions(t, n, "/doc/f", 6)
	good(t, n.Tree.Rename(ctx, alice(), "/doc/f", "/doc/g"))
	wantVersions(t, n, "/doc/g", 6)
	wantVersions(t, n, "/doc/f")
}

// TestWhichAttributeCounts: the nearest of the system's, else the user's of the file's own directory.
func TestWhichAttributeCounts(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	people(t, n, "/a/b/c")
	set := func(p, name, value string) { good(t, n.Tree.SetXattr(ctx, system(), p, name, []byte(value), false)) }
	keeps := func(p string, want int) {
		t.Helper()
		put(t, n, alice(), p, 1)
		for size := range 5 {
			put(t, n, alice(), p, int64(size))
		}
		if got := len(versions(t, n, p)); got != want {
			t.Errorf("%s has %d versions, not %d", p, got, want)
		}
	}
	set("/a/b", "user.versioning", "2")
	keeps("/a/b/own", 2)
	keeps("/a/b/c/below", 0)
	set("/a", "sys.versioning", "3")
	keeps("/a/b/forced", 3)
	set("/a/b/c", "sys.versioning", "0")
	keeps("/a/b/c/none", 0)
	keeps("/a/"+strings.Repeat("x", hemera.NameMax-3), 0) // its directory would have too long a name
	checked(t, n)
}

// TestVersionsFollowTheirFile: through renames, bins and back, across quota nodes.
func TestVersionsFollowTheirFile(t *testing.T) {
	for _, quotas := range []bool{false, true} {
		n, ctx := versioned(t, "5"), t.Context()
		people(t, n, "/doc/sub", "/other")
		if quotas {
			limit(t, n, "/doc", hemera.QuotaUser, 1000, ample)
			limit(t, n, "/other", hemera.QuotaUser, 1000, ample)
			counted(t, n)
		}
		uses := func(want ...string) {
			t.Helper()
			if quotas {
				wantUsed(t, n, want...)
			}
		}
		for size := int64(1); size <= 3; size++ {
			put(t, n, alice(), "/doc/f", size)
		}
		uses("/doc user 1000: 3 6 12", "/doc group 1000: 3 6 12")
		good(t, n.Tree.Rename(ctx, alice(), "/doc/f", "/other/g"))
		wantVersions(t, n, "/other/g", 1, 2)
		wantVersions(t, n, "/doc/f")
		uses("/other user 1000: 3 6 12", "/other group 1000: 3 6 12")
		good(t, n.Tree.Rename(ctx, alice(), "/other/g", "/doc/sub/f"))
		setRule(t, n, "/doc", "1d")
		f := must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/doc/sub/f"))
		good(t, n.Tree.Remove(ctx, alice(), "/doc/sub/f", 0))
		wantVersions(t, n, "/doc/sub/f")
		wantBinned(t, n, alice(), "/doc/sub/.sys.v#.f 0", "/doc/sub/f 3")
		uses()
		if s := n.Inspection.Stats(); s.Recycled.Files != 3 || s.Recycled.Bytes != 6 {
			t.Errorf("bins have %+v", s.Recycled)
		}
		good(t, restoreAt(t, n, alice(), f.ID, "/doc/h"))
		wantVersions(t, n, "/doc/h", 1, 2)
		uses("/doc user 1000: 3 6 12", "/doc group 1000: 3 6 12")
		wantBinned(t, n, alice())
		// What replaces it by a rename takes its place, and its versions.
		put(t, n, alice(), "/doc/new", 9)
		good(t, n.Tree.Rename(ctx, alice(), "/doc/new", "/doc/h"))
		wantVersions(t, n, "/doc/h", 1, 2, 3)
		// A file with versions of its own takes the place alone.
		put(t, n, alice(), "/doc/k", 20)
		put(t, n, alice(), "/doc/k", 21)
		good(t, n.Tree.Rename(ctx, alice(), "/doc/k", "/doc/h"))
		wantVersions(t, n, "/doc/h", 20)
		wantBinned(t, n, alice(), "/doc/.sys.v#.h 0", "/doc/h 9")
		// For good: nothing of it is left in the tree at once, and nothing at all a step later.
		good(t, n.Bins.Erase(ctx, system(), "/doc/h", 0))
		wantVersions(t, n, "/doc/h")
		wantBinned(t, n, alice(), "/doc/.sys.v#.h 0", "/doc/h 9")
		uses()
		checked(t, n)
	}
}

// TestVersionsGoInTheBackground: those of a file that is removed for good, and those in a bin whose time is over.
func TestVersionsGoInTheBackground(t *testing.T) {
	n, pass := ticking(t)
	ctx := t.Context()
	people(t, n, "/doc", "/gone")
	setRule(t, n, "/doc", "1h")
	for _, dir := range []string{"/doc", "/gone"} {
		good(t, n.Tree.SetXattr(ctx, system(), dir, "sys.versioning", []byte("100"), false))
		for size := range 60 {
			put(t, n, alice(), dir+"/f", int64(size))
		}
		good(t, n.Tree.Remove(ctx, alice(), dir+"/f", 0))
	}
	wantBinned(t, n, system(), "/doc/.sys.v#.f 0", "/doc/f 59")
	if bins := must[[]adminapi.Bin](t)(n.Bins.ListBins(ctx, system())); len(bins) != 1 {
		t.Errorf("%+v", bins)
	}
	pass(2 * time.Second)
	must[int](t)(n.Bins.Expire(ctx, 1000))
	if s := n.Inspection.Stats(); s.Recycled.Files != 60 {
		t.Errorf("bins have %+v", s.Recycled)
	}
	dir := func() (id hemera.FileID) {
		good(t, n.Bins.ListRecycled(ctx, system(), adminapi.RecycleQuery{All: true}, func(r adminapi.Recycled) error {
			if r.Entry.IsDir() {
				id = r.Entry.ID
			}
			return nil
		}))
		return id
	}()
	good(t, n.Bins.Purge(ctx, alice(), dir))
	wantBinned(t, n, system(), "/doc/f 59")
	pass(time.Hour)
	for must[int](t)(n.Bins.Expire(ctx, 1000)) > 0 {
	}
	must[int](t)(n.Bins.Expire(ctx, 1000))
	if s := n.Inspection.Stats(); s.Recycled != (hemera.TreeTotals{}) {
		t.Errorf("bins have %+v", s.Recycled)
	}
	checked(t, n)
}

// TestRestoreOfAVersion: the content changes places, the name keeps its mode and attributes.
func TestRestoreOfAVersion(t *testing.T) {
	n, ctx := versioned(t, "3"), t.Context()
	first := put(t, n, alice(), "/doc/f", 1)
	put(t, n, alice(), "/doc/f", 2)
	good(t, n.Tree.SetMode(ctx, alice(), "/doc/f", 0o600))
	name := recycle.VersionName(first.Mtime, first.ID)
	wantKind(t, "another's", n.Bins.RestoreVersion(ctx, bob(), "/doc/f", name), errs.Denied)
	for _, bad := range []string{"", "..", "1.2", name + "x", "a/b"} {
		wantKind(t, "version "+bad, n.Bins.RestoreVersion(ctx, alice(), "/doc/f", bad), errs.NotFound)
	}
	wantKind(t, "of a directory", n.Bins.RestoreVersion(ctx, alice(), "/doc", name), errs.IsDirectory)
	wantKind(t, "of nothing", n.Bins.RestoreVersion(ctx, alice(), "/doc/g", name), errs.NotFound)
	good(t, n.Bins.RestoreVersion(ctx, alice(), "/doc/f", name))
	wantVersions(t, n, "/doc/f", 2)
	if e := must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/doc/f")); e.ID != first.ID || e.Size != 1 || e.Mode != 0o600 {
		t.Errorf("%+v", e)
	}
	put(t, n, alice(), "/doc/f", 3)
	wantVersions(t, n, "/doc/f", 1, 2)
}

// TestWhatUsersPutAmongVersions stays theirs, and nothing of it is lost unseen.
func TestWhatUsersPutAmongVersions(t *testing.T) {
	n, ctx := versioned(t, "1"), t.Context()
	put(t, n, alice(), "/doc/.sys.v#.a", 7) // a file with the name of the directory
	put(t, n, alice(), "/doc/a", 1)
	put(t, n, alice(), "/doc/a", 2)
	if e := must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/doc/a")); e.Size != 2 || e.Xattrs["sys.versions"] != nil {
		t.Errorf("%+v", e)
	}
	f := put(t, n, alice(), "/doc/f", 1)
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), "/doc/.sys.v#.f/dir", 0o755, true))
	put(t, n, alice(), "/doc/.sys.v#.f/note", 9)
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), "/doc/.sys.v#.f/"+recycle.VersionName(f.Mtime, f.ID), 0o755, false))
	for size := int64(2); size <= 4; size++ {
		put(t, n, alice(), "/doc/f", size)
	}
	var names []string
	good(t, n.Tree.List(ctx, system(), "/doc/.sys.v#.f", func(e hemera.Entry) error { names = append(names, fmt.Sprint(e.Name[:3], e.Size)); return nil }))
	if !slices.Equal(names, []string{"1703", "dir0", "not9"}) {
		t.Errorf("%q", names)
	}
	// The link is a user's to break: then the directory stays.
	good(t, n.Tree.RemoveXattr(ctx, system(), "/doc/f", "sys.versions"))
	good(t, n.Tree.Rename(ctx, alice(), "/doc/f", "/doc/g"))
	good(t, n.Tree.SetXattr(ctx, system(), "/doc/g", "sys.versions", []byte("1"), false))
	good(t, n.Tree.Remove(ctx, alice(), "/doc/g", 0))
	must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/doc/.sys.v#.f/note"))
	checked(t, n)
}

// document is a file of the slow twin: what it has now, and had before.
type document struct {
	size     int64
	versions []int64 // oldest first
}

// TestRandomDocuments holds files with versions, in two quota nodes and a bin, against a twin that is a few maps.
func TestRandomDocuments(t *testing.T) {
	for seed := uint64(1); seed <= 4; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			n, ctx := open(t, memkv.New(), namespace.Options{CacheBytes: []int64{1, 1 << 20}[seed%2]}), t.Context()
			const kept = 3
			for i, dir := range []string{"/a", "/b"} {
				people(t, n, dir)
				good(t, n.Tree.SetXattr(ctx, system(), dir, "sys.versioning", []byte(fmt.Sprint(kept)), false))
				if seed%3 > 0 {
					limit(t, n, dir, hemera.QuotaUser, uint32(i), ample)
				}
			}
			setRule(t, n, "/b", "1d")
			counted(t, n)
			live, bins := map[string]*document{}, map[hemera.FileID]*document{}
			at := func() string { return fmt.Sprintf("/%c/%c", 'a'+r.IntN(2), 'f'+r.IntN(3)) }
			remember := func(p string, d *document) { // what is removed in /b is in the bin
				if d != nil && path.Dir(p) == "/b" {
					bins[must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), p)).ID] = d
				}
			}
			replace := func(p string, size int64) {
				d := live[p]
				d.versions = append(d.versions, d.size)
				slices.Sort(d.versions) // the oldest content goes first, whenever it was replaced
				d.versions = d.versions[max(0, len(d.versions)-kept):]
				d.size = size
			}
			for step := range 300 {
				p, q, size := at(), at(), int64(step+1)
				switch r.IntN(6) {
				case 0, 1, 2:
					who := hemera.Identity{Name: "u", UID: uint32(r.IntN(2)), Admin: true}
					put(t, n, who, p, size)
					if live[p] != nil {
						replace(p, size)
					} else {
						live[p] = &document{size: size}
					}
				case 3:
					if d, target := live[p], live[q]; d != nil && p != q {
						if len(d.versions) > 0 {
							remember(q, target)
						}
						if target != nil && len(d.versions) == 0 {
							replace(q, d.size)
							d = target
						}
						good(t, n.Tree.Rename(ctx, system(), p, q))
						live[q] = d
						delete(live, p)
					}
				case 4:
					if live[p] != nil {
						remember(p, live[p])
						good(t, n.Tree.Remove(ctx, system(), p, 0))
						delete(live, p)
					}
				case 5:
					for id, d := range bins {
						if live[p] == nil {
							good(t, restoreAt(t, n, system(), id, p))
							live[p] = d
							delete(bins, id)
						}
						break
					}
				}
				for _, p := range []string{"/a/f", "/a/g", "/a/h", "/b/f", "/b/g", "/b/h"} {
					e, err := n.Tree.Stat(ctx, system(), p)
					var sizes []int64
					if err == nil {
						sizes = versions(t, n, p)
					}
					if d := live[p]; (d == nil) != (err != nil) || d != nil && (d.size != e.Size || !slices.Equal(d.versions, sizes)) {
						t.Fatalf("step %d: %s is %d with %v (%v), the twin has %+v", step, p, e.Size, sizes, err, d)
					}
				}
				if step%50 == 49 {
					must[int](t)(n.Bins.Expire(ctx, 100))
					counted(t, n)
					checked(t, n)
				}
			}
		})
	}
}

// A write that was opened to change a file in place, before its directory kept versions, must not end in a version that nobody reads: its file was
// replaced meanwhile.
func TestAWriteDoesNotEndInAVersion(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	_, err := n.Tree.Mkdir(ctx, system(), "/v", 0o777, true)
	good(t, err)
	old := put(t, n, alice(), "/v/f", 10)
	late := prepare(t, n, alice(), "/v/f")
	late.Size = 20
	good(t, n.Tree.SetXattr(ctx, system(), "/v", "sys.versioning", []byte("3"), false))
	now := put(t, n, alice(), "/v/f", 30)
	if now.ID == old.ID {
		t.Fatal("the file was not kept as a version")
	}
	_, err = n.Writes.Commit(ctx, late)
	wantKind(t, "a write of what is a version now", err, errs.Conflict)
	if e, err := n.Tree.Stat(ctx, alice(), "/v/f"); err != nil || e.ID != now.ID || e.Size != 30 {
		t.Errorf("%+v, %v", e, err)
	}
	checked(t, n)
}
