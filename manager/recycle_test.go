package manager

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// recycledPaths returns the former paths of the entries of all bins, in the order of the list.
func (r *rig) recycledPaths() (paths []string, ids []hemera.FileID) {
	r.t.Helper()
	err := r.m.Recycle.ListRecycled(r.t.Context(), hemera.SystemIdentity(), adminapi.RecycleQuery{All: true}, func(e adminapi.Recycled) error {
		paths, ids = append(paths, e.Path), append(ids, e.Entry.ID)
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return paths, ids
}

// TestLifeInABin: what was removed or replaced keeps its pieces, is moved off a drained disk, is read on by readers that
// had it, and comes back, or goes when its time is over.
func TestLifeInABin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, r := t.Context(), &rig{t: t, store: memkv.New(), lost: 20 * time.Second, hold: 10 * time.Minute}
		r.restart()
		r.addNodes(3, 1)
		stop := r.start()
		defer func() { stop() }()
		wantKind(t, r.m.Admin.SetSpace(ctx, "default", "policy.recycle", "soon"), errs.Invalid)
		if err := r.m.Admin.SetSpace(ctx, "default", "policy.recycle", "5h"); err != nil {
			t.Fatal(err)
		}
		old := r.write("/f", 10)
		again := r.mustOpen("/f", hemera.AccessRead).Permit.Content()
		g := r.mustOpen("/f", hemera.AccessCreate)
		if g.Permit.Replaces != old.ID || g.Permit.File == old.ID || g.Permit.BaseGen != old.Gen {
			t.Fatalf("granted %+v", g.Permit.Capability)
		}
		if _, err := r.commit(r.seal(g, 20)); err != nil {
			t.Fatal(err)
		}
		if err := r.m.Names.Remove(ctx, alice, "/f", 0); err != nil {
			t.Fatal(err)
		}
		if paths, _ := r.recycledPaths(); !slices.Equal(paths, []string{"/f", "/f"}) || r.stored() != 4 {
			t.Errorf("%q is in bins, %d pieces on disks", paths, r.stored())
		}
		disk := old.Pieces[0].Disk
		if err := r.m.Admin.SetDisk(ctx, disk, "configstatus", "drain"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if now, _, err := r.m.Control.Resolve(ctx, old.ID); err != nil || len(now.Pieces) != 2 || slices.ContainsFunc(now.Pieces, func(p hemera.Piece) bool { return p.Disk == disk }) {
			t.Errorf("after the drain it is %+v, %v", now, err)
		}
		if report, err := r.m.Maint.Fsck(ctx, true); err != nil || len(report.Problems) != 0 {
			t.Errorf("fsck says %+v, %v", report.Problems, err)
		}
		if g, err := r.open("/f", hemera.AccessRead, comesBack(again)); err != nil || g.Permit.File != old.ID || g.Permit.Size != 10 {
			t.Errorf("its reader is granted %+v, %v", g.Permit, err)
		}
		if path, err := r.m.Recycle.Restore(ctx, alice, adminapi.RestoreRequest{ID: old.ID}); err != nil || path != "/f" {
			t.Errorf("%q, %v", path, err)
		}
		r.wantFile(t, "/f", 10)
		if bins, err := r.m.Recycle.ListBins(ctx, hemera.SystemIdentity()); err != nil || len(bins) != 1 || bins[0].Rule != "5h" || bins[0].Tree.Bytes != 20 {
			t.Errorf("%+v, %v", bins, err)
		}
		time.Sleep(4 * time.Hour)
		if paths, _ := r.recycledPaths(); len(paths) != 0 || r.stored() != 2 {
			t.Errorf("%q stays in bins, %d pieces on disks", paths, r.stored())
		}
		if err := r.m.Recycle.Erase(ctx, hemera.SystemIdentity(), "/f", 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := r.stored(); n != 0 {
			t.Errorf("%d pieces stay of what was removed for good", n)
		}
		if problems, err := r.m.tree.CheckWith(ctx, namespace.CheckOptions{}); err != nil || !problems.Healthy() {
			t.Errorf("%+v, %v", problems, err)
		}
	})
}

// TestBinsOfDirectories: rules are checked when they are set, and users restore and purge what is theirs.
func TestBinsOfDirectories(t *testing.T) {
	holding(t, 0, func(t *testing.T, r *rig) {
		ctx := t.Context()
		if _, err := r.m.Names.Mkdir(ctx, alice, "/d", 0o777, false); err != nil {
			t.Fatal(err)
		}
		set := func(name, value string) error {
			return r.m.Attributes.SetXattr(ctx, alice, "/d", name, []byte(value), false)
		}
		for name, value := range map[string]string{"sys.recycle": "/eos/recycle", "sys.versioning": "many", "user.versioning": "-1", "sys.recycle.path": "/d"} {
			wantKind(t, set(name, value), errs.Invalid)
		}
		if err := set("sys.recycle", "1h"); err != nil {
			t.Fatal(err)
		}
		e := r.write("/d/f", 10)
		r.write("/d/f", 11)
		_, ids := r.recycledPaths()
		if !slices.Equal(ids, []hemera.FileID{e.ID}) {
			t.Errorf("%v is in bins", ids)
		}
		wantKind(t, r.m.Recycle.Purge(ctx, hemera.Identity{Name: "eve", UID: 666}, e.ID), errs.NotFound)
		if err := r.m.Recycle.Purge(ctx, alice, e.ID); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if n := r.stored(); n != 2 {
			t.Errorf("%d pieces on disks", n)
		}
	})
}
