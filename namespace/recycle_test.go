package namespace_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// binned returns the entries that a user sees in recycle bins, as "path size", in the order of the list.
func binned(t testing.TB, n *namespace.Namespace, who hemera.Identity, below string) (out []string) {
	t.Helper()
	err := n.Bins.ListRecycled(t.Context(), who, adminapi.RecycleQuery{All: true, Below: below}, func(r adminapi.Recycled) error {
		out = append(out, fmt.Sprint(r.Path, " ", r.Entry.Size))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantBinned(t testing.TB, n *namespace.Namespace, who hemera.Identity, want ...string) {
	t.Helper()
	if got := binned(t, n, who, ""); !slices.Equal(got, want) {
		t.Errorf("%s sees %q, not %q", who.Name, got, want)
	}
	checked(t, n)
}

func setRule(t testing.TB, n *namespace.Namespace, path, rule string) {
	t.Helper()
	if err := n.Tree.SetXattr(t.Context(), system(), path, "sys.recycle", []byte(rule), false); err != nil {
		t.Fatal(err)
	}
}

func good(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func restoreAt(t testing.TB, n *namespace.Namespace, who hemera.Identity, id hemera.FileID, to string) error {
	t.Helper()
	_, err := n.Bins.Restore(t.Context(), who, adminapi.RestoreRequest{ID: id, To: to})
	return err
}

// TestRemovedFilesAreKept: with everything that is known of them, and for their owner and admins alone.
func TestRemovedFilesAreKept(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	people(t, n, "/exp/sub", "/exp/scratch", "/other")
	setRule(t, n, "/exp", "30d")
	setRule(t, n, "/exp/scratch", "off")
	f := put(t, n, alice(), "/exp/sub/f", 100)
	good(t, n.Tree.SetXattr(ctx, alice(), "/exp/sub/f", "user.note", []byte("mine"), false))
	for _, p := range []string{"/exp/scratch/f", "/other/f"} {
		put(t, n, alice(), p, 7)
		good(t, n.Tree.Remove(ctx, alice(), p, 0))
	}
	put(t, n, bob(), "/exp/sub/g", 5)
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, bob(), "/exp/sub/dir", 0o711, false))
	before := n.Inspection.Stats().Unlinked
	good(t, n.Tree.Remove(ctx, system(), "/exp/sub/f", 0))
	good(t, n.Tree.Remove(ctx, bob(), "/exp/sub/g", 0))
	good(t, n.Tree.Remove(ctx, bob(), "/exp/sub/dir", 0))
	wantBinned(t, n, alice(), "/exp/sub/f 100")
	wantBinned(t, n, bob(), "/exp/sub/g 5", "/exp/sub/dir 0")
	wantBinned(t, n, system(), "/exp/sub/f 100", "/exp/sub/g 5", "/exp/sub/dir 0")
	if got := binned(t, n, system(), "/exp/su"); got != nil {
		t.Errorf("below a name that is only the beginning: %q", got)
	}
	if s := n.Inspection.Stats(); s.Unlinked != before || s.Totals.Files != 0 || s.Recycled.Files != 2 || s.Recycled.Bytes != 105 || s.Recycled.Physical != 210 {
		t.Errorf("%+v", s)
	}
	e, path, err := n.Inspection.Resolve(ctx, f.ID)
	if err != nil || e.Gen != f.Gen || !slices.Equal(e.Pieces, f.Pieces) || path[0] == '/' {
		t.Errorf("%+v at %q, %v", e, path, err)
	}
	// Its pieces go on to be moved and repaired.
	good(t, n.Pieces.MovePieces(ctx, namespace.PieceMove{File: f.ID, Gen: f.Gen, Drop: f.Pieces[1:], Add: []hemera.Piece{{Index: 1, Disk: 9}}}))
	wantKind(t, "another's", restoreAt(t, n, bob(), f.ID, ""), errs.NotFound)
	wantKind(t, "another's", n.Bins.Purge(ctx, bob(), f.ID), errs.NotFound)
	wantKind(t, "by its name", n.Tree.Remove(ctx, system(), path, 0), errs.Invalid)
	wantKind(t, "a user's erasing", n.Bins.Erase(ctx, alice(), "/exp/sub", 0), errs.Denied)
	put(t, n, bob(), "/exp/sub/f", 1)
	wantKind(t, "a taken name", restoreAt(t, n, alice(), f.ID, ""), errs.Exists)
	missing := restoreAt(t, n, alice(), f.ID, "/exp/gone/f")
	wantKind(t, "no directory", missing, errs.NotFound)
	if remedy := errs.RemedyOf(missing); !strings.Contains(remedy, "-p") {
		t.Errorf("without a directory: %q", remedy)
	}
	wantKind(t, "without the right", restoreAt(t, n, alice(), f.ID, "/exp/f\x01"), errs.Invalid)
	good(t, n.Tree.SetMode(ctx, system(), "/other", 0o755))
	wantKind(t, "without the right", restoreAt(t, n, alice(), f.ID, "/other/f"), errs.Denied)
	at, err := n.Bins.Restore(ctx, alice(), adminapi.RestoreRequest{ID: f.ID, To: "/exp/new/way/f", Parents: true})
	if err != nil || at != "/exp/new/way/f" {
		t.Fatal(at, err)
	}
	e = must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), at))
	if e.ID != f.ID || e.Gen != f.Gen || len(e.Xattrs) != 1 || string(e.Xattrs["user.note"]) != "mine" || e.Mode != f.Mode || !e.Mtime.Equal(f.Mtime) || e.Pieces[1].Disk != 9 {
		t.Errorf("restored as %+v", e)
	}
	wantKind(t, "twice", restoreAt(t, n, alice(), f.ID, "/exp/again"), errs.NotFound)
	wantKind(t, "of the living", n.Bins.Purge(ctx, system(), f.ID), errs.NotFound)
	good(t, n.Bins.Erase(ctx, system(), at, 0))
	wantBinned(t, n, alice())
	if n.Inspection.Stats().Unlinked != before+3 { // one of them since the move
		t.Errorf("%d pieces are to be removed", n.Inspection.Stats().Unlinked-before)
	}
}

// TestAPurgedFileDoesNotComeBack: the commit of a file that took another's place arrives once more, long after the other was restored
// elsewhere, and the file removed, purged, and gone from its disks.
func TestAPurgedFileDoesNotComeBack(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	people(t, n, "/exp")
	setRule(t, n, "/exp", "30d")
	old := put(t, n, alice(), "/exp/f", 100)
	c := prepare(t, n, alice(), "/exp/f")
	if c.Replaces != old.ID {
		t.Fatalf("%+v", c)
	}
	must[hemera.Entry](t)(n.Writes.Commit(ctx, c))
	good(t, restoreAt(t, n, alice(), old.ID, "/exp/back"))
	good(t, n.Tree.Remove(ctx, alice(), "/exp/f", 0))
	good(t, n.Bins.Purge(ctx, alice(), c.ID))
	for _, disk := range []hemera.DiskID{1, 2} {
		pieces := must[[]hemera.PieceID](t)(n.Pieces.Unlinked(ctx, disk, 10))
		good(t, n.Pieces.ConfirmRemoved(ctx, disk, pieces))
	}
	_, err := n.Writes.Commit(ctx, c)
	wantKind(t, "a late commit of what was purged", err, errs.Conflict)
	if e := must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/exp/back")); e.ID != old.ID {
		t.Errorf("in the place of the restored file is %+v", e)
	}
	wantBinned(t, n, alice())
	checked(t, n)
}

// TestReplacedContentIsKept: by a rewrite and by a rename, while the name keeps owner, mode and attributes.
func TestReplacedContentIsKept(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	people(t, n, "/exp")
	old := put(t, n, alice(), "/exp/f", 100)
	good(t, n.Tree.SetXattr(ctx, alice(), "/exp/f", "user.note", []byte("mine"), false))
	good(t, n.Tree.SetMode(ctx, alice(), "/exp/f", 0o666))
	before := prepare(t, n, alice(), "/exp/f") // opened before the rule was set
	setRule(t, n, "/exp", "30d")
	c := prepare(t, n, bob(), "/exp/f")
	c.Size = 30
	if c.ID == old.ID || c.Replaces != old.ID || c.BaseGen != old.Gen {
		t.Fatalf("%+v", c)
	}
	late := prepare(t, n, bob(), "/exp/f")
	fresh := must[hemera.Entry](t)(n.Writes.Commit(ctx, c))
	if again := must[hemera.Entry](t)(n.Writes.Commit(ctx, c)); again.ID != c.ID { // the answer was lost
		t.Errorf("%+v", again)
	}
	if fresh.ID != c.ID || fresh.UID != 1000 || fresh.Mode != 0o666 || string(fresh.Xattrs["user.note"]) != "mine" || fresh.Size != 30 {
		t.Errorf("the name has %+v now", fresh)
	}
	wantBinned(t, n, alice(), "/exp/f 100")
	_, err := n.Writes.Commit(ctx, late)
	wantKind(t, "the loser of two writers", err, errs.Conflict)
	_, err = n.Writes.Commit(ctx, before)
	wantKind(t, "a write of the file that is in the bin", err, errs.Conflict)
	put(t, n, bob(), "/exp/g", 5)
	good(t, n.Tree.Rename(ctx, system(), "/exp/g", "/exp/f"))
	wantBinned(t, n, alice(), "/exp/f 100", "/exp/f 30")
	if e := must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/exp/f")); e.UID != bob().UID || len(e.Xattrs) != 0 {
		t.Errorf("a rename takes its own along: %+v", e)
	}
	// An update keeps nothing: it is the same file.
	u, err := n.Writes.Prepare(ctx, bob(), hemera.OpenRequest{Path: "/exp/f", Access: hemera.AccessUpdate})
	if err != nil || u.Keeps {
		t.Fatalf("%+v, %v", u, err)
	}
	must[hemera.Entry](t)(n.Writes.Commit(ctx, commitOf(u, "/exp/f", bob())))
	wantBinned(t, n, bob())
	// The file was renamed while it was written: the new content follows it.
	c = prepare(t, n, bob(), "/exp/f")
	good(t, n.Tree.Rename(ctx, bob(), "/exp/f", "/exp/h"))
	if e := must[hemera.Entry](t)(n.Writes.Commit(ctx, c)); e.Name != "h" {
		t.Errorf("%+v", e)
	}
	// It was removed: the write has lost, and with it whatever would bring it back.
	c = prepare(t, n, bob(), "/exp/h")
	good(t, n.Tree.Remove(ctx, bob(), "/exp/h", 0))
	_, err = n.Writes.Commit(ctx, c)
	wantKind(t, "a write of a removed file", err, errs.Conflict)
	c = prepare(t, n, bob(), "/exp/new")
	good(t, n.Bins.Erase(ctx, system(), "/exp", 0))
	_, err = n.Writes.Commit(ctx, c)
	wantKind(t, "a write in a removed directory", err, errs.Conflict)
	checked(t, n)
}

// TestForcedWritesOfKeptFiles: the one that was opened last wins, in whatever order they end.
func TestForcedWritesOfKeptFiles(t *testing.T) {
	for _, first := range []int{0, 1} {
		n, ctx := fresh(t), t.Context()
		people(t, n, "/exp")
		setRule(t, n, "/exp", "1T")
		put(t, n, alice(), "/exp/f", 100)
		writes := []namespace.Commit{prepare(t, n, alice(), "/exp/f"), prepare(t, n, alice(), "/exp/f")}
		for i := range writes {
			writes[i].Force, writes[i].Size = true, int64(i)
		}
		must[hemera.Entry](t)(n.Writes.Commit(ctx, writes[first]))
		_, err := n.Writes.Commit(ctx, writes[1-first])
		if first == 0 {
			good(t, err)
		} else {
			wantKind(t, "the one that was opened first", err, errs.Conflict)
		}
		if e := must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/exp/f")); e.Size != 1 {
			t.Errorf("%+v", e)
		}
		good(t, n.Tree.Remove(ctx, alice(), "/exp/f", 0))
		late := writes[1]
		late.ID, late.Gen = 0, 0
		_, err = n.Writes.Commit(ctx, late)
		wantKind(t, "a write that is none", err, errs.Invalid)
		checked(t, n)
	}
}

// TestRemovedDirectoryTakesNoFiles: a file that was opened in a directory which is in a bin now.
func TestRemovedDirectoryTakesNoFiles(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	people(t, n, "/exp/d")
	setRule(t, n, "/exp", "1d")
	c := prepare(t, n, alice(), "/exp/d/f")
	d := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/exp/d"))
	good(t, n.Tree.Remove(ctx, system(), "/exp/d", 0))
	_, err := n.Writes.Commit(ctx, c)
	wantKind(t, "a file of it", err, errs.Conflict)
	good(t, restoreAt(t, n, system(), d.ID, ""))
	_, err = n.Writes.Commit(ctx, c)
	wantKind(t, "what was refused", err, errs.Conflict)
	limit(t, n, "/exp/d", hemera.QuotaProject, 0, ample)
	wantKind(t, "a quota node", n.Tree.Remove(ctx, system(), "/exp/d", 0), errs.Denied)
	checked(t, n)
}

// TestBinsAndQuotas: what is in a bin counts for nobody, and what comes back counts again.
func TestBinsAndQuotas(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	people(t, n, "/exp/a")
	setRule(t, n, "/exp", "30d")
	limit(t, n, "/exp", hemera.QuotaUser, 1000, hemera.QuotaAmount{Bytes: 100})
	limit(t, n, "/exp", hemera.QuotaProject, 0, ample)
	counted(t, n)
	f := put(t, n, alice(), "/exp/a/f", 80)
	wantUsed(t, n, "/exp project 0: 1 80 160", "/exp user 1000: 1 80 160", "/exp group 1000: 1 80 160")
	good(t, n.Tree.Remove(ctx, alice(), "/exp/a/f", 0))
	wantUsed(t, n)
	put(t, n, alice(), "/exp/a/f", 50)
	c := prepare(t, n, alice(), "/exp/a/f")
	c.Size = 60
	must[hemera.Entry](t)(n.Writes.Commit(ctx, c))
	wantUsed(t, n, "/exp project 0: 1 60 120", "/exp user 1000: 1 60 120", "/exp group 1000: 1 60 120")
	over := restoreAt(t, n, alice(), f.ID, "/exp/a/g")
	wantKind(t, "beyond the limit", over, errs.OverQuota)
	// The command prints the operation and the last text: together they say what was refused, by whose quota, and by how much.
	for _, part := range []string{"namespace.Restore", "the quota of uid 1000 in /exp", "too many"} {
		if !strings.Contains(over.Error(), part) {
			t.Errorf("no %q in %v", part, over)
		}
	}
	good(t, n.Tree.Remove(ctx, alice(), "/exp/a/f", 0))
	good(t, restoreAt(t, n, alice(), f.ID, "/exp/a/g"))
	wantUsed(t, n, "/exp project 0: 1 80 160", "/exp user 1000: 1 80 160", "/exp group 1000: 1 80 160")
}

// follow has the namespace follow views in which the space "default" has a rule.
func follow(n *namespace.Namespace, rule string) *hemera.Views {
	views := new(hemera.Views)
	views.Publish(&hemera.View{Spaces: []hemera.Space{{Name: "default", Recycle: rule}}})
	n.Bins.FollowSpaces(views)
	return views
}

// TestSpaceRules: files go by their space's rule where no directory has one, and directories stay out of it.
func TestSpaceRules(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	views := follow(n, "1d")
	people(t, n, "/a/d", "/b")
	setRule(t, n, "/b", "off")
	for _, p := range []string{"/a/f", "/b/f"} {
		put(t, n, alice(), p, 3)
		good(t, n.Tree.Remove(ctx, alice(), p, 0))
	}
	good(t, n.Tree.Remove(ctx, system(), "/a/d", 0))
	wantBinned(t, n, system(), "/a/f 3")
	bins := must[[]adminapi.Bin](t)(n.Bins.ListBins(ctx, system()))
	if len(bins) != 1 || bins[0].Of != "space default" || bins[0].Rule != "1d" || bins[0].Tree.Files != 1 || bins[0].Tree.Dirs != 0 || bins[0].Owners != 1 || bins[0].Oldest.IsZero() {
		t.Errorf("%+v", bins)
	}
	_, err := n.Bins.ListBins(ctx, alice())
	wantKind(t, "a user's look", err, errs.Denied)
	views.Publish(&hemera.View{Spaces: []hemera.Space{{Name: "default"}}}) // what is there goes on under the last rule
	if bins := must[[]adminapi.Bin](t)(n.Bins.ListBins(ctx, system())); bins[0].Rule != "1d" {
		t.Errorf("%+v", bins)
	}
}

// ticking returns a namespace whose clock moves on when told.
func ticking(t testing.TB) (*namespace.Namespace, func(time.Duration)) {
	var mu sync.Mutex
	now := time.Unix(1_800_000_000, 0)
	n := open(t, memkv.New(), namespace.Options{Clock: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	return n, func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
}

// TestBinsAreBounded by time and by size on disks, over all owners, oldest first, in steps of any size.
func TestBinsAreBounded(t *testing.T) {
	for _, step := range []int{1, 3, 1000} {
		n, pass := ticking(t)
		ctx := t.Context()
		people(t, n, "/exp", "/big")
		setRule(t, n, "/exp", "1d")
		setRule(t, n, "/big", "100d,2K")
		expire := func() (sum int) {
			for {
				purged := must[int](t)(n.Bins.Expire(ctx, step))
				if sum += purged; purged < step {
					return sum
				}
			}
		}
		for i := range 8 {
			who := []hemera.Identity{alice(), bob()}[i%2]
			for _, dir := range []string{"/exp", "/big"} {
				p := fmt.Sprint(dir, "/", i)
				put(t, n, who, p, 300) // 600 on disks
				good(t, n.Tree.Remove(ctx, who, p, 0))
			}
			pass(time.Hour)
		}
		if purged := expire(); purged != 5 {
			t.Errorf("%d were purged, for their size", purged)
		}
		wantBinned(t, n, alice(), "/exp/0 300", "/exp/2 300", "/exp/4 300", "/exp/6 300", "/big/6 300")
		wantBinned(t, n, bob(), "/exp/1 300", "/exp/3 300", "/exp/5 300", "/exp/7 300", "/big/5 300", "/big/7 300")
		pass(19 * time.Hour) // the first four were removed a day ago
		if purged := expire(); purged != 4 {
			t.Errorf("%d were purged, for their age", purged)
		}
		wantBinned(t, n, alice(), "/exp/4 300", "/exp/6 300", "/big/6 300")
		setRule(t, n, "/exp", "1h") // it holds for what is there
		good(t, n.Bins.Erase(ctx, system(), "/big", 0))
		if purged := expire(); purged != 4 {
			t.Errorf("%d were purged under the new rule", purged)
		}
		pass(200 * 24 * time.Hour) // its directory is gone, its rule is not
		if purged := expire(); purged != 3 {
			t.Errorf("%d were purged of the bin without a directory", purged)
		}
		expire()
		expire()
		if s := n.Inspection.Stats(); s.Recycled != (hemera.TreeTotals{}) || len(must[[]adminapi.Bin](t)(n.Bins.ListBins(ctx, system()))) != 0 {
			t.Errorf("left are %+v", s.Recycled)
		}
		checked(t, n)
	}
}

// TestBinsBesideEachOther: removals, restores, purges and steps of the background at once, over directories of the bin
// that come and go.
func TestBinsBesideEachOther(t *testing.T) {
	n := open(t, memkv.New(), namespace.Options{CacheBytes: 1 << 20})
	people(t, n, "/exp")
	setRule(t, n, "/exp", "1s,1K")
	ctx, stop := context.WithCancel(t.Context())
	var wg, background sync.WaitGroup
	background.Go(func() {
		for ctx.Err() == nil {
			if _, err := n.Bins.Expire(ctx, 10); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	for g := range 4 {
		wg.Go(func() {
			for i := range 100 {
				who := hemera.Identity{Name: "u", UID: uint32(g*1000 + i%3), GID: 1, Admin: true}
				p := fmt.Sprintf("/exp/%d", i%5)
				pr, err := n.Writes.Prepare(ctx, who, hemera.OpenRequest{Path: p, Access: hemera.AccessCreate, Mode: 0o644, Force: true})
				if err != nil {
					t.Error(err)
					return
				}
				c := commitOf(pr, p, who)
				c.Size, c.Force = 100, true
				e, err := n.Writes.Commit(ctx, c)
				if err == nil {
					err = n.Tree.Remove(ctx, who, p, 0)
				}
				if err == nil {
					_, err = n.Bins.Restore(ctx, who, adminapi.RestoreRequest{ID: e.ID, To: fmt.Sprintf("/exp/%d.%d", g, i)})
				}
				switch errs.KindOf(err) {
				case errs.Conflict, errs.NotFound, errs.Exists:
				default:
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	stop()
	background.Wait()
	checked(t, n)
}

// TestCheckOfBins: damage in bins is found as anywhere.
func TestCheckOfBins(t *testing.T) {
	for name, damage := range map[string]func(bins, bin, owner hemera.Entry) change{
		"an entry gone":      func(_, _, owner hemera.Entry) change { return gone("ni" + be(uint64(owner.ID))) },
		"the bins' location": func(bins, _, _ hemera.Entry) change { return gone("ni" + be(uint64(bins.ID))) },
		"another top":        func(_, _, _ hemera.Entry) change { return gone("ne" + be(0) + "recycle") },
		"totals": func(_, bin, _ hemera.Entry) change {
			return change{"nt" + be(uint64(bin.ID)), func(v string) string { return v[:len(v)-2] + string([]byte{v[len(v)-2] + 2, v[len(v)-1]}) }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := memkv.New()
			n := open(t, s, namespace.Options{})
			people(t, n, "/exp")
			setRule(t, n, "/exp", "1d")
			f := put(t, n, alice(), "/exp/f", 10)
			good(t, n.Tree.Remove(t.Context(), alice(), "/exp/f", 0))
			checked(t, n)
			at := func(id hemera.FileID) hemera.Entry {
				e, _, err := n.Inspection.Resolve(t.Context(), id)
				good(t, err)
				return e
			}
			owner := at(at(f.ID).Parent)
			bin := at(owner.Parent)
			plant(t, s, []change{damage(at(bin.Parent), bin, owner)})
			if problems := must[[]string](t)(open(t, s, namespace.Options{}).Inspection.Check(t.Context())); len(problems) == 0 {
				t.Error("nothing was found")
			}
		})
	}
}

// TestABinThatAUserSwitchesOnTakesNoRoomBesideQuotas: what is in a bin counts nowhere, so below limits only an admin switches one
// on. A rule that a user set before there were limits keeps nothing there.
func TestABinThatAUserSwitchesOnTakesNoRoomBesideQuotas(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	people(t, n, "/p/mine")
	good(t, n.Tree.SetOwner(ctx, system(), "/p/mine", 1000, 1000))
	good(t, n.Tree.SetXattr(ctx, alice(), "/p/mine", "sys.recycle", []byte("30d"), false))
	put(t, n, alice(), "/p/mine/f", 9)
	good(t, n.Tree.Remove(ctx, alice(), "/p/mine/f", 0))
	wantBinned(t, n, alice(), "/p/mine/f 9")
	limit(t, n, "/p", hemera.QuotaUser, 1000, hemera.QuotaAmount{Bytes: 10})
	counted(t, n)
	for range 5 {
		put(t, n, alice(), "/p/mine/g", 9)
		good(t, n.Tree.Remove(ctx, alice(), "/p/mine/g", 0))
	}
	wantBinned(t, n, alice(), "/p/mine/f 9")
	wantKind(t, "a bin below limits", n.Tree.SetXattr(ctx, alice(), "/p/mine", "sys.recycle", []byte("60d"), false), errs.Denied)
	good(t, n.Tree.SetXattr(ctx, alice(), "/p/mine", "sys.recycle", []byte("off"), false))
	good(t, n.Tree.SetXattr(ctx, system(), "/p/mine", "sys.recycle", []byte("30d"), false))
	put(t, n, alice(), "/p/mine/h", 9)
	good(t, n.Tree.Remove(ctx, alice(), "/p/mine/h", 0))
	wantBinned(t, n, alice(), "/p/mine/f 9", "/p/mine/h 9")
	checked(t, n)
}
