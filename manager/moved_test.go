package manager

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera"
	"hemera/namespace"
)

// TestMovesAfterABackupAreVerified: a restored namespace finds pieces that were moved here after its backup. Their
// footers say so, but only what was read as a whole takes the place of another piece; a bad one that of a piece that
// is gone, since it is the best there is.
func TestMovesAfterABackupAreVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		if err := r.m.SetSpace(t.Context(), hemera.DefaultSpace, "policy.nstripes", "1"); err != nil {
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
		if _, err := r.m.Fsck(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		for path, piece := range moved {
			if took := slices.Contains(r.entry(path).Pieces, piece); took == (path == "/bad") {
				t.Errorf("%s: the piece that was found is the file's: %t", path, took)
			}
		}
	})
}
