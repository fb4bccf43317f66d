package manager

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/rules/condition"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// ruin spoils pieces of a file, and has their nodes report them.
func (r *rig) ruin(e hemera.Entry, pieces ...hemera.Piece) {
	r.t.Helper()
	for _, p := range pieces { // all of them before one is reported: it must not be repaired from another meanwhile
		d, _ := r.m.Cluster.View().Disk(p.Disk)
		r.node(d.Node).ruin(hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}, true)
	}
	for _, p := range pieces {
		d, _ := r.m.Cluster.View().Disk(p.Disk)
		n, id := r.node(d.Node), hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}
		report := hemera.NodeReport{Disks: n.disks, Bad: []hemera.BadPiece{{Disk: p.Disk, Piece: id}}}
		if _, err := r.m.Control.Heartbeat(r.t.Context(), n.id, n.epoch, report); err != nil {
			r.t.Fatal(err)
		}
	}
	time.Sleep(3 * time.Minute) // a piece of a file that is held is repaired a while later
}

// wantLost holds everything that names lost files to a list of paths.
func (r *rig) wantLost(what string, paths ...string) {
	r.t.Helper()
	s, err := r.m.Status.Status(r.t.Context())
	if err != nil || s.Files.Lost != int64(len(paths)) || s.Files.Ruined != s.Files.Lost {
		r.t.Errorf("%s: the status counts %+v: %v", what, s.Files, err)
	}
	said := slices.ContainsFunc(s.Conditions, func(c adminapi.Condition) bool {
		return c.Code == condition.FilesLost && c.Severity == adminapi.SeverityError && c.Count == int64(len(paths))
	})
	if said != (len(paths) > 0) {
		r.t.Errorf("%s: conditions %+v", what, s.Conditions)
	}
	var found []string
	err = r.m.Status.Impaired(r.t.Context(), adminapi.FileLost, func(path string, _ hemera.Entry) error {
		found = append(found, path)
		return nil
	})
	if err != nil || !slices.Equal(found, paths) {
		r.t.Errorf("%s: found %v: %v", what, found, err)
	}
	report, err := r.m.Maint.Fsck(r.t.Context(), false)
	lost := int64(0)
	for _, p := range report.Problems {
		if p.Tag == "lost" {
			lost += p.Count
		}
	}
	if err != nil || lost != int64(len(paths)) {
		r.t.Errorf("%s: fsck finds %+v: %v", what, report.Problems, err)
	}
	for _, path := range paths {
		why, err := r.m.Status.Why(r.t.Context(), hemera.SystemIdentity(), adminapi.WhyFile, path)
		if err != nil || !strings.Contains(why.State, "every piece is known to be bad") {
			r.t.Errorf("%s: why %s: %+v: %v", what, path, why, err)
		}
	}
}

// TestACheckRemembersWhatItCannotRepair: no read and no scrub has found the pieces before.
func TestACheckRemembersWhatItCannotRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		defer r.start()()
		e := r.write("/f", 10)
		for _, p := range e.Pieces {
			d, _ := r.m.Cluster.View().Disk(p.Disk)
			r.node(d.Node).ruin(hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}, true)
		}
		checks, err := r.m.Maint.CheckFile(t.Context(), "/f", true)
		if err != nil || len(checks) != 2 || checks[0].OK || checks[1].OK {
			t.Fatalf("checks %+v: %v", checks, err)
		}
		time.Sleep(time.Minute)
		r.wantLost("checked", "/f")
	})
}

// TestFilesWithoutAGoodPieceAreLost: all pieces are there, on disks in good order, and bad.
func TestFilesWithoutAGoodPieceAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		stop := r.start()
		defer func() { stop() }()
		e, other := r.write("/f", 10), r.write("/g", 10)
		r.ruin(other, other.Pieces[1])
		r.wantLost("one of two pieces is bad, and is mended")
		r.ruin(e, e.Pieces...)
		r.wantLost("both pieces are bad", "/f")

		stop()
		r.restart()
		for _, n := range r.nodes {
			n.register()
		}
		stop = r.start()
		time.Sleep(time.Minute)
		r.wantLost("a manager that starts anew", "/f")

		// Somebody puts one piece right; the other is mended from it within the hour.
		d, _ := r.m.Cluster.View().Disk(e.Pieces[0].Disk)
		r.node(d.Node).ruin(hemera.PieceID{File: e.ID, Gen: e.Gen, Index: e.Pieces[0].Index}, false)
		time.Sleep(90 * time.Minute)
		r.wantLost("after one was put right")
		if list, _ := r.m.engine.Broken(); len(list) != 0 {
			t.Errorf("still remembered: %v", list)
		}
		r.whole("/f", 2)

		now := r.entry("/f")
		r.ruin(now, now.Pieces...)
		r.wantLost("bad again", "/f")
		if err := r.m.Names.Remove(t.Context(), hemera.SystemIdentity(), "/f", 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		r.wantLost("removed")
		if list, _ := r.m.engine.Broken(); len(list) != 0 {
			t.Errorf("remembered although the file is gone: %v", list)
		}
	})
}

// TestACheckTellsOthersWhatItFinds: it repairs nothing by itself, and what it finds is repaired like what a read finds.
func TestACheckTellsOthersWhatItFinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		defer r.start()()
		e := r.write("/f", 10)
		bad := e.Pieces[1]
		d, _ := r.m.Cluster.View().Disk(bad.Disk)
		r.node(d.Node).ruin(hemera.PieceID{File: e.ID, Gen: e.Gen, Index: bad.Index}, true)
		checks, err := r.m.Maint.CheckFile(t.Context(), "/f", false)
		if err != nil || len(checks) != 2 || !checks[0].OK || checks[1].OK {
			t.Fatalf("checks %+v: %v", checks, err)
		}
		s, err := r.m.Status.Status(t.Context())
		known := slices.ContainsFunc(s.Conditions, func(c adminapi.Condition) bool { return c.Code == condition.PiecesBad })
		// The repair begins at once, and may have ended before the status was asked.
		if checks, _ := r.m.Maint.CheckFile(t.Context(), "/f", false); err != nil || !known && (len(checks) != 2 || !checks[1].OK) {
			t.Errorf("the status does not know, and it is not repaired: %+v, %v", s.Conditions, err)
		}
		time.Sleep(3 * time.Minute)
		if checks, err := r.m.Maint.CheckFile(t.Context(), "/f", false); err != nil || !checks[0].OK || !checks[1].OK {
			t.Errorf("not repaired: %+v, %v", checks, err)
		}
	})
}
