package manager

import (
	"testing"
	"testing/synctest"
	"time"

	"hemera/platform/kv/memkv"
	"hemera/test/fixture/effort"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// holding does what running does, with a hold.
func holding(t *testing.T, hold time.Duration, f func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, store: memkv.New(), lost: 20 * time.Second, hold: hold}
		r.restart()
		r.addNodes(2, 1)
		stop := r.start()
		f(t, r)
		stop()
	})
}

// comesBack opens as a reader that was granted the content.
func comesBack(c *hemera.Content) func(*hemera.OpenRequest) {
	return func(r *hemera.OpenRequest) { r.Again = c }
}

// TestReaderIsGrantedItsContentAgain: as long as it is there, whatever became of its name. No audit takes
// what is held for something that nobody has, and it goes when its time is over.
func TestReaderIsGrantedItsContentAgain(t *testing.T) {
	// Longer than orphans live.
	hold := effort.Of(20*time.Hour, 4*time.Hour)
	holding(t, hold, func(t *testing.T, r *rig) {
		ctx := t.Context()
		old := r.write("/f", 10)
		read := r.mustOpen("/f", hemera.AccessRead)
		again := read.Permit.Content()
		granted := func(what string) {
			t.Helper()
			time.Sleep(hold * 3 / 20)
			if report, err := r.m.Maint.Fsck(ctx, true); err != nil || len(report.Problems) != 0 {
				t.Errorf("%s: fsck says %+v, %v", what, report.Problems, err)
			}
			g, err := r.open("/f", hemera.AccessRead, comesBack(again))
			if err != nil || g.Permit.File != old.ID || g.Permit.Gen != old.Gen || g.Permit.Size != 10 || len(g.Permit.Targets) != 2 || len(g.Permit.Sums) == 0 {
				t.Errorf("%s: granted %+v, %v", what, g.Permit, err)
				return
			}
			for _, at := range g.Permit.Targets {
				if _, ok := r.node(at.Node).get(at.Disk, hemera.PieceID{File: g.Permit.File, Gen: g.Permit.Gen, Index: at.Index}); !ok {
					t.Errorf("%s: disk %d does not have piece %d any more", what, at.Disk, at.Index)
				}
			}
		}
		granted("nothing changed")
		if err := r.m.Names.Rename(ctx, alice, "/f", "/g"); err != nil {
			t.Fatal(err)
		}
		granted("moved")
		if err := r.m.Names.Rename(ctx, alice, "/g", "/f"); err != nil {
			t.Fatal(err)
		}
		r.write("/f", 20)
		granted("overwritten")
		r.write("/other", 30)
		if err := r.m.Names.Rename(ctx, alice, "/other", "/f"); err != nil {
			t.Fatal(err)
		}
		granted("renamed over")
		if g := r.mustOpen("/f", hemera.AccessRead); g.Permit.Size != 30 {
			t.Errorf("who opens now is granted %d bytes", g.Permit.Size)
		}
		if err := r.m.Names.Remove(ctx, alice, "/f", 0); err != nil {
			t.Fatal(err)
		}
		granted("removed")
		if v, err := r.m.Admin.View(ctx); err != nil || v.Disks[0].Held != 3 || v.Disks[0].HeldBytes != 60 {
			t.Errorf("the view says %+v, %v", v.Disks[0], err)
		}
		time.Sleep(hold)
		if n := r.stored(); n != 0 {
			t.Errorf("%d pieces stay", n)
		}
		_, err := r.open("/f", hemera.AccessRead, comesBack(again))
		wantKind(t, err, errs.Conflict)
	})
}

// TestReaderWhoMayNotReadAnyMoreIsRefused: while the file exists its mode counts, also for a content it had.
func TestReaderWhoMayNotReadAnyMoreIsRefused(t *testing.T) {
	holding(t, time.Hour, func(t *testing.T, r *rig) {
		r.write("/f", 10)
		read := r.mustOpen("/f", hemera.AccessRead)
		again := read.Permit.Content()
		r.write("/f", 20)
		if err := r.m.Attributes.SetMode(t.Context(), alice, "/f", 0); err != nil {
			t.Fatal(err)
		}
		_, err := r.open("/f", hemera.AccessRead, comesBack(again))
		wantKind(t, err, errs.Denied)
	})
}

// TestUnknownReaderGetsOnlyWhatDidNotChange: only the time of the reader is known.
func TestUnknownReaderGetsOnlyWhatDidNotChange(t *testing.T) {
	holding(t, time.Hour, func(t *testing.T, r *rig) {
		since := func(at time.Time) func(*hemera.OpenRequest) {
			return func(r *hemera.OpenRequest) { r.Unchanged = at }
		}
		ctx := t.Context()
		if _, err := r.m.Names.Mkdir(ctx, alice, "/d", 0o755, false); err != nil {
			t.Fatal(err)
		}
		r.write("/d/f", 10)
		time.Sleep(time.Second)
		before := time.Now()
		r.mustOpen("/d/f", hemera.AccessRead, since(before))
		r.write("/d/other", 1) // is no change of the file
		r.mustOpen("/d/f", hemera.AccessRead, since(before))
		if err := r.m.Names.Rename(ctx, alice, "/d", "/e"); err != nil {
			t.Fatal(err)
		}
		_, err := r.open("/e/f", hemera.AccessRead, since(before))
		wantKind(t, err, errs.Conflict)
		time.Sleep(time.Second)
		before = time.Now()
		r.mustOpen("/e/f", hemera.AccessRead, since(before))
		r.write("/e/f", 10)
		_, err = r.open("/e/f", hemera.AccessRead, since(before))
		wantKind(t, err, errs.Conflict)
	})
}

// TestHeldPiecesGoWhereRoomIsShort: a disk that is full, and one that is drained, hold nothing.
func TestHeldPiecesGoWhereRoomIsShort(t *testing.T) {
	holding(t, 5*time.Hour, func(t *testing.T, r *rig) {
		held := func(id hemera.DiskID) int64 {
			n, _, err := r.m.tree.DiskHeld(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		r.write("/f", 1000)
		r.write("/f", 1001)
		r.write("/f", 1002)
		time.Sleep(time.Minute)
		if held(1) != 2 || held(2) != 2 {
			t.Fatalf("disks hold %d and %d pieces", held(1), held(2))
		}
		r.nodes[0].setFree(5000)
		time.Sleep(time.Minute)
		first := r.nodes[0].disks[0].ID
		if held(first) != 1 {
			t.Errorf("a disk with little room holds %d pieces", held(first))
		}
		r.nodes[0].setFree(0)
		time.Sleep(time.Minute)
		if held(first) != 0 || held(3-first) != 2 {
			t.Errorf("a full disk holds %d pieces, the other %d", held(first), held(3-first))
		}
		if err := r.m.Admin.SetDisk(t.Context(), 3-first, "configstatus", "drain"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if held(3-first) != 0 {
			t.Errorf("a drained disk holds %d pieces", held(3-first))
		}
	})
}

// TestHeldPiecesMakeRoomForAnOpen: an open that fits without held content waits, and then succeeds.
func TestHeldPiecesMakeRoomForAnOpen(t *testing.T) {
	holding(t, 5*time.Hour, func(t *testing.T, r *rig) {
		r.write("/f", 1000)
		r.write("/f", 1000)
		for _, n := range r.nodes {
			n.setFree(5000)
		}
		time.Sleep(time.Minute)
		announced := func(bytes int64) func(*hemera.OpenRequest) { return func(o *hemera.OpenRequest) { o.Size = bytes } }
		_, err := r.open("/large", hemera.AccessCreate, announced(7000))
		wantKind(t, err, errs.NoSpace)
		_, err = r.open("/large", hemera.AccessCreate, announced(5500))
		wantKind(t, err, errs.Unavailable)
		time.Sleep(time.Second)
		if n := r.stored(); n != 2 {
			t.Errorf("%d pieces stay", n)
		}
		for _, n := range r.nodes {
			n.setFree(6000)
		}
		time.Sleep(time.Minute)
		r.mustOpen("/large", hemera.AccessCreate, announced(5500))
	})
}
