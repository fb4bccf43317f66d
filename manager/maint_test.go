package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/rules/condition"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// running executes f inside a bubble with a manager and nodes that run.
func running(t *testing.T, nodes, disks int, f func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nodes, disks)
		stop := r.start()
		f(t, r)
		stop()
	})
}

// start runs the manager and its nodes; the returned function stops them and waits.
func (r *rig) start() (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	r.ctx = ctx
	done := make(chan struct{}, len(r.nodes)+1)
	m := r.m // a restart has another
	go func() { _ = m.Run(ctx); done <- struct{}{} }()
	for _, n := range r.nodes {
		n.stop = n.start(ctx, done)
	}
	return func() {
		cancel()
		for range len(r.nodes) + 1 {
			<-done
		}
	}
}

func (n *fakeNode) start(ctx context.Context, done chan<- struct{}) context.CancelFunc {
	ctx, cancel := context.WithCancel(ctx)
	go func() { n.run(ctx); done <- struct{}{} }()
	return cancel
}

func (r *rig) entry(path string) hemera.Entry {
	r.t.Helper()
	e, err := r.m.Names.Stat(r.t.Context(), alice, path)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

// whole fails unless each piece of the file is where the namespace says, no two on one disk.
func (r *rig) whole(path string, pieces int) {
	r.t.Helper()
	e := r.entry(path)
	disks := map[hemera.DiskID]bool{}
	for _, p := range e.Pieces {
		d, ok := r.m.Cluster.View().Disk(p.Disk)
		if !ok {
			r.t.Errorf("%s: disk %d is not in the view", path, p.Disk)
			continue
		}
		if _, ok := r.node(d.Node).get(p.Disk, hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}); !ok || disks[p.Disk] {
			r.t.Errorf("%s: piece %+v is not there, or shares its disk", path, p)
		}
		disks[p.Disk] = true
	}
	if len(e.Pieces) != pieces {
		r.t.Errorf("%s: %d pieces, want %d", path, len(e.Pieces), pieces)
	}
}

// stored counts the pieces on all disks.
func (r *rig) stored() (n int) {
	for _, node := range r.nodes {
		for _, d := range node.disks {
			n += node.count(d.ID)
		}
	}
	return n
}

func TestRemovedFilesFreeTheirDisks(t *testing.T) {
	running(t, 2, 1, func(t *testing.T, r *rig) {
		for i := range 20 {
			r.write(fmt.Sprintf("/f%d", i), 10)
		}
		r.write("/f0", 11) // replaces
		for i := range 19 {
			if err := r.m.Names.Remove(t.Context(), alice, fmt.Sprintf("/f%d", i+1), 0); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		if n := r.stored(); n != 2 {
			t.Errorf("%d pieces left", n)
		}
		if s, _ := r.m.Observer.NamespaceStats(t.Context()); s.Unlinked != 0 {
			t.Errorf("%d unlinked", s.Unlinked)
		}
	})
}

func TestDrain(t *testing.T) {
	running(t, 4, 2, func(t *testing.T, r *rig) {
		ctx := t.Context()
		for i := range 60 {
			r.write(fmt.Sprintf("/f%d", i), 1000)
		}
		for _, id := range []hemera.DiskID{1, 2} { // both disks of one node at once
			if err := r.m.Admin.SetDisk(ctx, id, "configstatus", "drain"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Second)
		v := r.m.Cluster.View()
		jobs, err := r.m.Maint.Jobs(ctx)
		if err != nil || len(jobs) != 2 {
			t.Fatalf("%+v, %v", jobs, err)
		}
		for i, j := range jobs {
			if j.Kind != "drain" || j.State != "done" || j.FilesDone == 0 || j.BytesDone != 1000*j.FilesDone || j.FilesLeft != 0 || j.Failed != 0 {
				t.Errorf("job %+v", j)
			}
			if v.Disks[i].Config != hemera.ConfigEmpty || r.nodes[0].count(v.Disks[i].ID) != 0 {
				t.Errorf("disk %+v holds %d", v.Disks[i], r.nodes[0].count(v.Disks[i].ID))
			}
		}
		for i := range 60 {
			r.whole(fmt.Sprintf("/f%d", i), 2)
		}
		if err := r.m.Admin.RemoveDisk(ctx, 1, adminapi.Removal{}); err != nil {
			t.Error(err)
		}
	})
}

// A user's rename may make paths longer than paths may be; it must not keep a disk from being emptied.
func TestDrainOfFilesTooDeepToName(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		ctx := t.Context()
		half := strings.Repeat("/"+strings.Repeat("n", 249), 9)
		for _, top := range []string{"/a", "/b"} {
			if _, err := r.m.Names.Mkdir(ctx, hemera.SystemIdentity(), top+half, 0o777, true); err != nil {
				t.Fatal(err)
			}
		}
		e := r.write("/a"+half+"/f", 1000)
		if err := r.m.Names.Rename(ctx, hemera.SystemIdentity(), "/a", "/b"+half+"/a"); err != nil {
			t.Fatal(err)
		}
		if err := r.m.Admin.SetDisk(ctx, e.Pieces[0].Disk, "configstatus", "drain"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if jobs, _ := r.m.Maint.Jobs(ctx); len(jobs) != 1 || jobs[0].State != "done" {
			t.Errorf("%+v", jobs)
		}
		if err := r.m.Names.Rename(ctx, hemera.SystemIdentity(), "/b"+half+"/a", "/a"); err != nil {
			t.Fatal(err)
		}
		r.whole("/a"+half+"/f", 2)
	})
}

func TestDrainWithoutRoomSaysWhyAndGoesOnWhenThereIs(t *testing.T) {
	running(t, 2, 1, func(t *testing.T, r *rig) {
		ctx := t.Context()
		r.write("/f", 10)
		if err := r.m.Admin.SetDisk(ctx, 1, "configstatus", "drain"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		jobs, _ := r.m.Maint.Jobs(ctx)
		if len(jobs) != 1 || jobs[0].State != "stalled" || !strings.Contains(jobs[0].Why, "already hold") || jobs[0].FilesLeft != 1 {
			t.Fatalf("%+v", jobs)
		}
		if err := r.m.Admin.SetDisk(ctx, 1, "configstatus", "rw"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if jobs, _ := r.m.Maint.Jobs(ctx); jobs[0].State != "done" || !strings.Contains(jobs[0].Why, "in use again") {
			t.Errorf("%+v", jobs)
		}
		r.whole("/f", 2)
	})
}

func TestDrainRetriesFailedCopies(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		for i := range 10 {
			r.write(fmt.Sprintf("/f%d", i), 10)
		}
		for _, n := range r.nodes {
			n.failCopies = 3
		}
		if err := r.m.Admin.SetDisk(t.Context(), 1, "configstatus", "drain"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if jobs, _ := r.m.Maint.Jobs(t.Context()); len(jobs) != 1 || jobs[0].Failed == 0 || jobs[0].Why == "" {
			t.Errorf("after the first pass: %+v", jobs)
		}
		time.Sleep(time.Minute)
		jobs, _ := r.m.Maint.Jobs(t.Context())
		if len(jobs) != 1 || jobs[0].State != "done" || jobs[0].Failed != 0 || jobs[0].Why != "" {
			t.Errorf("%+v", jobs)
		}
		if d := r.m.Cluster.View().Disks[0]; d.Config != hemera.ConfigEmpty {
			t.Errorf("disk is %s", d.Config)
		}
	})
}

func TestLostNodeIsRepairedAndReconciledWhenItReturns(t *testing.T) {
	running(t, 4, 1, func(t *testing.T, r *rig) {
		ctx := t.Context()
		for i := range 30 {
			r.write(fmt.Sprintf("/f%d", i), 10)
		}
		dead := r.nodes[0]
		before := dead.count(dead.disks[0].ID)
		dead.stop()
		time.Sleep(hemera.HeartbeatTimeout + 2*time.Second)
		jobs, _ := r.m.Maint.Jobs(ctx)
		if len(jobs) != 1 || jobs[0].State != "waiting" || jobs[0].Why == "" {
			t.Fatalf("%+v", jobs)
		}
		if info, err := r.m.Maint.FileInfo(ctx, hemera.SystemIdentity(), "/f0"); err != nil || info.Status == "" {
			t.Error(err)
		}
		time.Sleep(r.lost + 5*time.Second)
		for i := range 30 {
			r.whole(fmt.Sprintf("/f%d", i), 2)
		}
		if n := dead.count(dead.disks[0].ID); n != before || n == 0 {
			t.Fatalf("the dead node had %d pieces, has %d", before, n)
		}
		dead.register()
		go dead.run(r.ctx)
		time.Sleep(10 * time.Second)
		if n := dead.count(dead.disks[0].ID); n != 0 {
			t.Errorf("%d replaced pieces are still on the node that came back", n)
		}
	})
}

func TestShortAbsenceMovesNothing(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		r.write("/f", 10)
		dead := r.nodes[0]
		dead.stop()
		time.Sleep(hemera.HeartbeatTimeout + 3*time.Second)
		dead.register()
		go dead.run(r.ctx)
		time.Sleep(2 * r.lost)
		for _, n := range r.nodes {
			if n.copies != 0 {
				t.Errorf("node %d made %d copies", n.id, n.copies)
			}
		}
		if jobs, _ := r.m.Maint.Jobs(t.Context()); len(jobs) != 0 {
			t.Errorf("%+v", jobs)
		}
	})
}

func TestNodeSwitchedOffIsNotRepairedAround(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		r.write("/f", 10)
		if err := r.m.Admin.SetNode(t.Context(), 1, "status", "off"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * r.lost)
		if jobs, _ := r.m.Maint.Jobs(t.Context()); len(jobs) != 0 {
			t.Errorf("%+v", jobs)
		}
	})
}

func TestForcedRemovalIsRepaired(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		ctx := t.Context()
		for i := range 10 {
			r.write(fmt.Sprintf("/f%d", i), 10)
		}
		err := r.m.Admin.RemoveDisk(ctx, 1, adminapi.Removal{})
		if !errors.Is(err, errs.NotEmpty) || errs.RemedyOf(err) == "" {
			t.Error(err)
		}
		if err := r.m.Admin.RemoveDisk(ctx, 1, adminapi.Removal{Force: true, Lose: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		for i := range 10 {
			r.whole(fmt.Sprintf("/f%d", i), 2)
		}
		time.Sleep(2 * hemera.UnsealedLifetime)
		if left := r.m.Cluster.Admin.Removed(); len(left) != 0 {
			t.Errorf("%v not forgotten", left)
		}
	})
}

func TestIncompleteFilesAreCompletedWhenADiskAppears(t *testing.T) {
	running(t, 1, 1, func(t *testing.T, r *rig) {
		ctx := t.Context()
		for i := range 5 {
			r.write(fmt.Sprintf("/f%d", i), 10)
			r.whole(fmt.Sprintf("/f%d", i), 1)
		}
		info, err := r.m.Maint.FileInfo(ctx, hemera.SystemIdentity(), "/f0")
		if err != nil || info.Status != "incomplete: 1 of 2 pieces" {
			t.Errorf("%q, %v", info.Status, err)
		}
		time.Sleep(6 * time.Second)
		jobs, _ := r.m.Maint.Jobs(ctx)
		if len(jobs) != 1 || jobs[0].State != "stalled" || jobs[0].FilesLeft != 5 || jobs[0].Why == "" {
			t.Errorf("%+v", jobs)
		}
		n := &fakeNode{rig: r, addr: "late:1095", pieces: map[hemera.DiskID]map[hemera.PieceID]hemera.PieceStat{}}
		n.disks = []hemera.NodeDisk{{UUID: "late", Path: "/d", Health: hemera.HealthOK, DiskStats: hemera.DiskStats{Capacity: 1 << 40, Free: 1 << 39}}}
		n.register()
		r.nodes = append(r.nodes, n)
		go n.run(r.ctx)
		time.Sleep(10 * time.Second)
		for i := range 5 {
			r.whole(fmt.Sprintf("/f%d", i), 2)
		}
		r.nodes = r.nodes[:1]
	})
}

func TestManagerRestartResumesADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		for i := range 20 {
			r.write(fmt.Sprintf("/f%d", i), 10)
		}
		if err := r.m.Admin.SetDisk(t.Context(), 1, "configstatus", "drain"); err != nil {
			t.Fatal(err)
		}
		r.restart()
		for _, n := range r.nodes {
			n.register()
		}
		stop := r.start()
		time.Sleep(10 * time.Second)
		if d := r.m.Cluster.View().Disks[0]; d.Config != hemera.ConfigEmpty {
			t.Errorf("disk is %s", d.Config)
		}
		for i := range 20 {
			r.whole(fmt.Sprintf("/f%d", i), 2)
		}
		stop()
	})
}

func TestFsck(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		ctx := t.Context()
		for i := range 10 {
			r.write(fmt.Sprintf("/f%d", i), 10)
		}
		report, err := r.m.Maint.Fsck(ctx, true)
		if err != nil || len(report.Problems) != 0 || report.Files != 10 || report.Pieces != 20 {
			t.Fatalf("a healthy cluster: %+v, %v", report, err)
		}
		gone := r.entry("/f0")
		place := gone.Pieces[0]
		holder := func(p hemera.Piece) *fakeNode {
			d, _ := r.m.Cluster.View().Disk(p.Disk)
			return r.node(d.Node)
		}
		holder(place).drop(place.Disk, hemera.PieceID{File: gone.ID, Gen: gone.Gen, Index: place.Index})
		wrong := r.entry("/f1")
		stat, _ := holder(wrong.Pieces[0]).get(wrong.Pieces[0].Disk, hemera.PieceID{File: wrong.ID, Gen: wrong.Gen, Index: wrong.Pieces[0].Index})
		stat.FileSize = 11
		holder(wrong.Pieces[0]).put(wrong.Pieces[0].Disk, stat)
		removed := r.write("/removed", 10)
		if err := r.m.Names.Remove(ctx, hemera.SystemIdentity(), "/removed", 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		old := hemera.PieceStat{ID: hemera.PieceID{File: removed.ID, Gen: 1, Index: 7}, Sealed: time.Now().Add(-48 * time.Hour)}
		young := hemera.PieceStat{ID: hemera.PieceID{File: removed.ID, Gen: 1, Index: 8}, Sealed: time.Now()}
		newer := hemera.PieceStat{ID: hemera.PieceID{File: 99999, Gen: 1}, Path: "/made/later", Sealed: time.Now().Add(-48 * time.Hour)}
		r.nodes[0].put(r.nodes[0].disks[0].ID, newer)
		r.nodes[0].put(r.nodes[0].disks[0].ID, old)
		r.nodes[0].put(r.nodes[0].disks[0].ID, young)

		report, err = r.m.Maint.Fsck(ctx, false)
		if err != nil || len(report.Problems) != 4 || !slices.Equal(r.entry("/f0").Pieces, gone.Pieces) {
			t.Errorf("a report that is to change nothing: %+v, %v", report, err)
		}
		report, err = r.m.Maint.Fsck(ctx, true)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]hemera.FileID{}
		paths := map[string]string{"missing": "/f0", "size_mismatch": "/f1", "newer": "/made/later"}
		for _, p := range report.Problems {
			found[p.Tag] = p.Files[0]
			if p.Paths[p.Files[0]] != paths[p.Tag] {
				t.Errorf("%s is called %v, want %s", p.Tag, p.Paths, paths[p.Tag])
			}
			if p.Count != 1 {
				t.Errorf("%+v", p)
			}
		}
		want := map[string]hemera.FileID{"missing": gone.ID, "size_mismatch": wrong.ID, "orphan": removed.ID, "newer": 99999}
		if len(found) != len(want) {
			t.Errorf("found %v", report.Problems)
		}
		for tag, id := range want {
			if found[tag] != id {
				t.Errorf("%s: %d, want %d", tag, found[tag], id)
			}
		}
		if _, ok := r.nodes[0].get(r.nodes[0].disks[0].ID, old.ID); !ok {
			t.Error("the orphan was removed on its node's word")
		}
		if _, ok := r.nodes[0].get(r.nodes[0].disks[0].ID, young.ID); !ok {
			t.Error("a young piece was removed: its commit may be under way")
		}
		time.Sleep(10 * time.Second)
		r.whole("/f0", 2)
		time.Sleep(3 * hemera.PendingHold) // in which the manager knows of the orphan
		if _, ok := r.nodes[0].get(r.nodes[0].disks[0].ID, old.ID); ok {
			t.Error("the orphan is still there")
		}
		if _, ok := r.nodes[0].get(r.nodes[0].disks[0].ID, newer.ID); !ok {
			t.Error("a piece was removed that the namespace is too old to know")
		}
	})
}

// TestFileInfoOfPiecesThatNobodyKnows asks by id for what only disks have: after a restore, a piece says
// what it is and whose it was.
func TestFileInfoOfPiecesThatNobodyKnows(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		ctx := t.Context()
		known := r.write("/f", 10)
		on := func(n int) hemera.DiskID { return r.nodes[n].disks[0].ID }
		for gen, n := range []int{0, 1} {
			r.nodes[n].put(on(n), hemera.PieceStat{ID: hemera.PieceID{File: 99999, Gen: hemera.Generation(gen + 1)}, FileSize: 5, Path: "/made/later", Sealed: time.Now()})
		}
		report, err := r.m.Maint.FileInfo(ctx, hemera.SystemIdentity(), "fxid:1869f")
		if err != nil || report.Path != "/made/later" || report.Entry.ID != 99999 || !strings.Contains(report.Status, "is kept") || len(report.Strays) != 2 {
			t.Fatalf("%+v, %v", report, err)
		}
		if s := report.Strays[0]; s.Tag != "newer" || s.Disk != on(1) || s.Host != "node2" || s.Piece.ID.Gen != 2 {
			t.Errorf("the newest piece: %+v", s)
		}
		// What only disks have has no owner who may see it.
		if report, err := r.m.Maint.FileInfo(ctx, alice, "fxid:1869f"); !errors.Is(err, errs.NotFound) || len(report.Strays) != 0 || report.Path != "" {
			t.Errorf("a user sees %+v, %v", report, err)
		}
		if report, err = r.m.Maint.FileInfo(ctx, hemera.SystemIdentity(), "fid:"+fmt.Sprint(uint64(known.ID))); err != nil || len(report.Strays) != 0 || len(report.Pieces) != 2 {
			t.Errorf("a file that is well: %+v, %v", report, err)
		}
		if _, err = r.m.Maint.FileInfo(ctx, hemera.SystemIdentity(), "fid:88888"); !errors.Is(err, errs.NotFound) {
			t.Errorf("an id that nobody knows: %v", err)
		}
		r.nodes[2].stop()
		time.Sleep(time.Minute)
		if _, err = r.m.Maint.FileInfo(ctx, hemera.SystemIdentity(), "fid:88888"); !errors.Is(err, errs.NotFound) || !strings.Contains(err.Error(), "do not answer: 1") {
			t.Errorf("an id that nobody knows, with a disk out of reach: %v", err)
		}
	})
}

func TestCheckFile(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		ctx := t.Context()
		e := r.write("/f", 10)
		for _, ref := range []string{"/f", "fid:" + e.ID.String(), "fxid:" + e.ID.Hex(), "inode:" + e.ID.String(), "pxid:" + e.ID.Hex()} {
			checks, err := r.m.Maint.CheckFile(ctx, ref, false)
			if err != nil || len(checks) != 2 || !checks[0].OK || !checks[1].OK {
				t.Errorf("%s: %+v, %v", ref, checks, err)
			}
		}
		bad := e.Pieces[0]
		d, _ := r.m.Cluster.View().Disk(bad.Disk)
		id := hemera.PieceID{File: e.ID, Gen: e.Gen, Index: bad.Index}
		stat, _ := r.node(d.Node).get(bad.Disk, id)
		stat.Checksums = slices.Clone(stat.Checksums)
		stat.Checksums[0].Value[0] ^= 1
		r.node(d.Node).put(bad.Disk, stat)
		checks, err := r.m.Maint.CheckFile(ctx, "/f", true)
		if err != nil || checks[0].OK || !checks[0].Repaired || checks[0].Error == "" || !checks[1].OK {
			t.Errorf("%+v, %v", checks, err)
		}
		time.Sleep(time.Second)
		r.whole("/f", 2)
		if slices.Contains(r.entry("/f").Pieces, bad) {
			t.Error("the bad piece is still in the file")
		}
		for _, p := range r.entry("/f").Pieces[:1] {
			d, _ := r.m.Cluster.View().Disk(p.Disk)
			r.node(d.Node).stop()
		}
		time.Sleep(2 * hemera.HeartbeatTimeout)
		if checks, err := r.m.Maint.CheckFile(ctx, "/f", false); err != nil || checks[0].OK || !checks[0].Offline || checks[0].Error == "" || checks[1].Offline {
			t.Errorf("a node is away: %+v, %v", checks, err)
		}
		for _, ref := range []string{"/none", "fid:77777", "fxid:zz"} {
			if _, err := r.m.Maint.CheckFile(ctx, ref, false); err == nil {
				t.Errorf("%s: no error", ref)
			}
		}
	})
}

func TestChecksum(t *testing.T) {
	running(t, 2, 1, func(t *testing.T, r *rig) {
		ctx := t.Context()
		e := r.write("/f", 10)
		sum, err := r.m.Files.Checksum(ctx, alice, "/f", hemera.ChecksumNone)
		if err != nil || sum != e.Checksums[0] {
			t.Errorf("stored: %v, %v", sum, err)
		}
		if sum, err := r.m.Files.Checksum(ctx, alice, "/f", hemera.MD5); err != nil || sum.Kind != hemera.MD5 {
			t.Errorf("computed: %v, %v", sum, err)
		}
		_, err = r.m.Files.Checksum(ctx, alice, "/f", hemera.SHA256) // the fake node cannot
		wantKind(t, err, errs.Unsupported)
	})
}

func TestOperationsAreCounted(t *testing.T) {
	running(t, 2, 1, func(t *testing.T, r *rig) {
		for range 10 {
			_, _ = r.m.Names.Stat(t.Context(), alice, "/none")
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Second)
		ops, err := r.m.Observer.Operations(t.Context())
		i := slices.IndexFunc(ops, func(o adminapi.OpStat) bool { return o.Name == "Stat" })
		if err != nil || i < 0 {
			t.Fatal(ops, err)
		}
		if o := ops[i]; o.Count != 10 || o.Errors != 10 || o.Rate5s == 0 || o.Rate1h == 0 || o.Max < o.P50 {
			t.Errorf("%+v", o)
		}
		time.Sleep(10 * time.Second)
		ops, _ = r.m.Observer.Operations(t.Context())
		if o := ops[i]; o.Rate5s != 0 || o.Rate1m == 0 {
			t.Errorf("later: %+v", o)
		}
	})
}

// TestBadPiecesAreHealed: what a node reports as bad is mended in its place, or elsewhere where that cannot
// be, and leaves the file only for a good one.
func TestBadPiecesAreHealed(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		report := func(e hemera.Entry, p hemera.Piece) *fakeNode {
			t.Helper()
			d, _ := r.m.Cluster.View().Disk(p.Disk)
			n := r.node(d.Node)
			n.drop(p.Disk, hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index})
			bad := hemera.BadPiece{Disk: p.Disk, Piece: hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}}
			nobody := hemera.BadPiece{Disk: p.Disk, Piece: hemera.PieceID{File: e.ID + 1000, Gen: 1}}
			if _, err := r.m.Control.Heartbeat(t.Context(), n.id, n.epoch, hemera.NodeReport{Disks: n.disks, Bad: []hemera.BadPiece{nobody, bad, bad}}); err != nil {
				t.Fatal(err)
			}
			return n
		}
		e := r.write("/f", 10)
		n := report(e, e.Pieces[0])
		time.Sleep(10 * time.Second)
		if now := r.entry("/f"); !slices.Equal(now.Pieces, e.Pieces) {
			t.Errorf("the piece was moved: %v, was %v", now.Pieces, e.Pieces)
		}
		r.whole("/f", 2)
		if n.copies != 1 {
			t.Errorf("%d copies were made for one bad piece", n.copies)
		}
		n.mu.Lock()
		n.failCopies = 1 << 20 // its disk takes none
		n.mu.Unlock()
		report(e, e.Pieces[0])
		time.Sleep(10 * time.Second)
		if now := r.entry("/f"); slices.Contains(now.Pieces, e.Pieces[0]) {
			t.Errorf("the piece was not made anew elsewhere: %v", now.Pieces)
		}
		r.whole("/f", 2)
		for _, n := range r.nodes {
			n.mu.Lock()
			n.failCopies = 1 << 20
			n.mu.Unlock()
		}
		last := r.entry("/f")
		report(last, last.Pieces[0])
		time.Sleep(time.Minute)
		if now := r.entry("/f"); !slices.Equal(now.Pieces, last.Pieces) {
			t.Errorf("a piece left the file without another in its place: %v, was %v", now.Pieces, last.Pieces)
		}
	})
}

// TestBadPiecesAreShownUntilTheyAreMended: in the status, as a job and as a reason.
func TestBadPiecesAreShownUntilTheyAreMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		e := r.write("/f", 10)
		p := e.Pieces[0]
		d, _ := r.m.Cluster.View().Disk(p.Disk)
		n, bad := r.node(d.Node), hemera.BadPiece{Disk: p.Disk, Piece: hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}}
		if _, err := r.m.Control.Heartbeat(t.Context(), n.id, n.epoch, hemera.NodeReport{Disks: n.disks, Bad: []hemera.BadPiece{bad}}); err != nil {
			t.Fatal(err)
		}
		codes, s := r.codes()
		if !slices.Contains(codes, condition.PiecesBad) || !slices.ContainsFunc(s.Jobs, func(j adminapi.JobStatus) bool { return j.Kind == "heal" && j.FilesLeft == 1 }) {
			t.Errorf("%v, jobs %+v", codes, s.Jobs)
		}
		why, err := r.m.Status.Why(t.Context(), hemera.SystemIdentity(), adminapi.WhyFile, "/f")
		if err != nil || !slices.ContainsFunc(why.Reasons, func(x adminapi.Reason) bool { return strings.HasPrefix(x.Text, "was found bad") }) ||
			why.State != "found bad: 1 of 2 pieces, to be repaired from the others, or being" {
			t.Errorf("%+v, %v", why, err)
		}
		stop := r.start()
		time.Sleep(time.Minute)
		if codes, s := r.codes(); slices.Contains(codes, condition.PiecesBad) || slices.ContainsFunc(s.Jobs, func(j adminapi.JobStatus) bool { return j.Kind == "heal" }) {
			t.Errorf("after the mending: %v, jobs %+v", codes, s.Jobs)
		}
		stop()
	})
}

// TestAuditsOutliveRestarts: what a kill leaves behind goes although the manager never runs for long.
func TestAuditsOutliveRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		e := r.write("/f", 10)
		d := r.nodes[0].disks[0].ID
		orphan := hemera.PieceStat{ID: hemera.PieceID{File: e.ID, Gen: e.Gen, Index: 9}, Sealed: time.Now()}
		r.nodes[0].put(d, orphan)
		for range 4 {
			stop := r.start()
			time.Sleep(28 * time.Minute)
			stop()
			r.restart()
			for _, n := range r.nodes {
				n.register()
			}
		}
		if _, there := r.nodes[0].get(d, orphan.ID); there {
			t.Error("the orphan is still there")
		}
		if d := r.m.Cluster.View().Disks[0]; d.LastAudit.IsZero() || time.Since(d.LastAudit) > 4*time.Hour {
			t.Errorf("the last audit was at %s", d.LastAudit)
		}
		stop := r.start()
		r.whole("/f", 2)
		stop()
	})
}
