package manager

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/namespace"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// TestMovesAfterABackupAreVerified: a restored namespace finds pieces that were moved here after its backup. Their
// footers say so, but only what was read as a whole takes the place of another piece; a bad one that of a piece that
// is gone, since it is the best there is.
func TestMovesAfterABackupAreVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		if err := r.m.Admin.SetSpace(t.Context(), hemera.DefaultSpace, "policy.nstripes", "1"); err != nil {
			t.Fatal(err)
		}
		moved := map[string]hemera.Piece{} // where each was copied to
		for _, c := range []struct {
			path       string
			good, gone bool // the copy, and what it was copied from
		}{{"/moved", true, true}, {"/spare", true, false}, {"/bad", false, false}, {"/last", false, true}} {
			e := r.write(c.path, 10)
			from := e.Pieces[0]
			id := hemera.PieceID{File: e.ID, Gen: e.Gen, Index: from.Index}
			holder := r.nodes[from.Disk-1]
			stat, _ := holder.get(from.Disk, id)
			to := r.nodes[from.Disk%3]
			if !c.good {
				stat.Checksums = slices.Clone(stat.Checksums)
				stat.Checksums[0].Value[0] ^= 1
			}
			to.put(to.disks[0].ID, stat)
			if c.gone {
				holder.drop(from.Disk, id)
			}
			moved[c.path] = hemera.Piece{Index: from.Index, Disk: to.disks[0].ID}
		}
		w, err := r.store.Acquire(t.Context(), "restore")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if _, err := namespace.Restored(t.Context(), r.store, w, time.Now().Add(-time.Minute), time.Now()); err != nil {
			t.Fatal(err)
		}
		r.restart()
		for _, n := range r.nodes {
			n.register()
		}
		stop := r.start()
		defer stop()
		if _, err := r.m.Maint.Fsck(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * hemera.PendingHold) // a file that was busy is looked at again meanwhile
		for path, piece := range moved {
			if took := slices.Contains(r.entry(path).Pieces, piece); took == (path == "/bad") {
				t.Errorf("%s: the piece that was found is the file's: %t", path, took)
			}
		}
	})
}

// TestStrayedPiecesAreNotRemoved: where a file's piece is gone, another copy of it that no file has is the file's, and
// as long as nobody can tell it is kept: the namespace may have lost the change that moved it. A copy of a piece that
// is where it should be goes.
func TestStrayedPiecesAreNotRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 4, 1)
		r.lost = 24 * time.Hour // nothing is repaired meanwhile
		r.restart()
		for _, n := range r.nodes {
			n.register()
		}
		if err := r.m.Admin.SetSpace(t.Context(), hemera.DefaultSpace, "policy.nstripes", "1"); err != nil {
			t.Fatal(err)
		}
		away := r.nodes[3]
		type stray struct {
			path  string
			piece hemera.PieceID
			from  hemera.DiskID
			to    *fakeNode
		}
		var strays []stray
		for i := 0; len(strays) < 3; i++ {
			e := r.write(fmt.Sprintf("/f%d", i), 10)
			from := e.Pieces[0]
			onAway := from.Disk == away.disks[0].ID
			if onAway != (len(strays) == 2) {
				continue
			}
			to := r.nodes[from.Disk%3]
			id := hemera.PieceID{File: e.ID, Gen: e.Gen, Index: from.Index}
			stat, _ := r.nodes[from.Disk-1].get(from.Disk, id)
			stat.Sealed = stat.Sealed.Add(-2 * hemera.UnsealedLifetime)
			to.put(to.disks[0].ID, stat)
			strays = append(strays, stray{"/" + e.Name, id, from.Disk, to})
		}
		moved, spare, unknown := strays[0], strays[1], strays[2]
		r.nodes[moved.from-1].drop(moved.from, moved.piece)
		stop := r.start()
		defer stop()
		away.stop()
		time.Sleep(time.Minute)
		if report, err := r.m.Maint.Fsck(t.Context(), false); err != nil || !slices.ContainsFunc(report.Problems, func(p adminapi.FsckProblem) bool { return p.Tag == "moved" && p.Count == 1 }) {
			t.Errorf("%+v, %v", report, err)
		}
		for range 2 {
			if _, err := r.m.Maint.Fsck(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * hemera.PendingHold) // in which the manager knows of an orphan
		}
		at := func(s stray) bool { _, ok := s.to.get(s.to.disks[0].ID, s.piece); return ok }
		if !at(moved) || r.entry(moved.path).Pieces[0].Disk != moved.to.disks[0].ID {
			t.Error("a piece that was moved is not the file's again")
		}
		if at(spare) {
			t.Error("a spare copy is kept")
		}
		if !at(unknown) {
			t.Error("a copy was removed though nobody knows whether it is the last")
		}
	})
}
