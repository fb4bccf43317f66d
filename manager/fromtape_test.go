package manager

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// wantRecalled holds a file to be on tape only, with a recall that waits for a drive; or to be on its disks still.
func (r *rig) wantRecalled(what, path string, want bool) {
	r.t.Helper()
	e := r.entry(path)
	job, err := r.m.tree.Tapes.Job(r.t.Context(), tapeapi.JobKey{File: e.ID, Kind: tapeapi.Recall, Copy: 1})
	if err != nil || e.Evicted() != want || (job != nil) != want {
		r.t.Errorf("%s: %s has pieces %v and job %+v: %v", what, path, e.Pieces, job, err)
	}
}

// TestFilesWithoutAGoodPieceComeFromTape: they are not lost while tape has all copies that their class asks for.
func TestFilesWithoutAGoodPieceComeFromTape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		defer r.start()()
		taped, one, well := r.archive(r.write("/taped", 10), "single"), r.archive(r.write("/one", 20), "double"), r.archive(r.write("/well", 30), "single")
		r.ruin(one, one.Pieces...)
		r.wantLost("the second tape copy is not there yet", "/one")
		r.wantRecalled("one of two copies", "/one", false)
		r.ruin(well, well.Pieces[1])
		r.wantRecalled("mended from its other piece", "/well", false)
		r.ruin(taped, taped.Pieces...)
		r.wantRecalled("both pieces are bad", "/taped", true)
		r.wantLost("it is on tape", "/one")
		time.Sleep(time.Hour)
		r.wantRecalled("a while later", "/taped", true)
	})
}

// TestFilesOfARemovedDiskComeFromTape: an admin hears of it before the disk goes.
func TestFilesOfARemovedDiskComeFromTape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		defer r.start()()
		if err := r.m.Admin.SetSpace(t.Context(), "default", "policy.layout", "plain"); err != nil {
			t.Fatal(err)
		}
		e := r.archive(r.write("/f", 10), "single")
		disk := e.Pieces[0].Disk
		sum, err := r.m.Status.Impact(t.Context(), []hemera.DiskID{disk})
		if err != nil || sum.OnTape != 1 || sum.OnTapeBytes != 10 || sum.Lost != 0 || len(sum.Names) != 0 {
			t.Errorf("%+v: %v", sum, err)
		}
		if err := r.m.Admin.RemoveDisk(t.Context(), disk, adminapi.Removal{Force: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		r.wantRecalled("the disk is gone", "/f", true)
		r.wantLost("the disk is gone")
	})
}

// TestAnOpenOfAFileOnSilentDisksRecallsIt, when the disks are away for longer than a restart takes.
func TestAnOpenOfAFileOnSilentDisksRecallsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		r.lost = time.Minute
		r.restart()
		for _, n := range r.nodes {
			n.register()
		}
		e := r.archive(r.write("/f", 10), "single")
		r.write("/untaped", 10)
		silent := func(d time.Duration) {
			time.Sleep(d)
			r.m.Cluster.Tick(t.Context())
		}
		both := func(o *hemera.OpenRequest) { o.Tried = []hemera.NodeID{r.nodes[0].id, r.nodes[1].id} }
		_, err := r.open("/f", hemera.AccessRead, both)
		wantKind(t, err, errs.NoReplicas) // the disks are well: it is the client that cannot reach them
		for _, wait := range []time.Duration{hemera.HeartbeatTimeout, returnTime - 2*time.Second} {
			silent(wait + time.Second)
			_, err = r.open("/f", hemera.AccessRead)
			if kind := errs.KindOf(err); kind != errs.Unavailable && kind != errs.NoReplicas {
				t.Errorf("after %s: %v", wait, err)
			}
			r.wantRecalled("the nodes may come back", "/f", false)
		}
		silent(time.Minute)
		_, err = r.open("/untaped", hemera.AccessRead)
		wantKind(t, err, errs.NoReplicas)
		_, err = r.open("/f", hemera.AccessRead)
		wantKind(t, err, errs.Unavailable)
		r.wantRecalled("the nodes do not come back", "/f", true)
		// The node that comes back removes what it has, as tape has it all.
		r.nodes[0].register()
		pieces, err := r.m.tree.Unlinked(t.Context(), e.Pieces[0].Disk, 9)
		if err != nil || len(pieces) != 1 || pieces[0].File != e.ID {
			t.Errorf("%v: %v", pieces, err)
		}
	})
}

// TestWhyOfAFileOnTape: it is where it is meant to be, and nothing of it is missing.
func TestWhyOfAFileOnTape(t *testing.T) {
	r := newRig(t, 2, 1)
	e := r.archive(r.write("/f", 10), "single")
	if _, err := r.m.tree.Evict(t.Context(), e.ID, func(*hemera.Entry) error { return nil }); err != nil {
		t.Fatal(err)
	}
	why, err := r.m.Status.Why(t.Context(), hemera.SystemIdentity(), adminapi.WhyFile, "/f")
	if err != nil || !strings.HasPrefix(why.State, "on tape only") {
		t.Errorf("%+v: %v", why, err)
	}
	told := false
	for _, reason := range why.Reasons {
		told = told || strings.Contains(reason.Text, "copy 1 is on tape TAPE01")
		if strings.Contains(reason.Text, "missing") || strings.Contains(reason.About, "piece") {
			t.Errorf("%+v", reason)
		}
	}
	if report, err := r.m.Maint.FileInfo(t.Context(), hemera.SystemIdentity(), "/f"); err != nil || !told || report.Status != why.State {
		t.Errorf("%+v, %v", why, err)
	}
}

// TestWhatABrokenTapeHasIsNotSafe: disks with such a file are not removed by the way, its disk copies stay when all are bad, and no status says that a
// read brings it back.
func TestWhatABrokenTapeHasIsNotSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		bad, f := r.archive(r.write("/bad", 10), "single"), r.archive(r.write("/f", 20), "single")
		for _, state := range []tapeapi.State{tapeapi.Disabled, tapeapi.Exported, tapeapi.Broken} {
			if err := r.m.tree.Tapes.ChangeTape(t.Context(), "TAPE01", func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
				tape := *old
				tape.State, tape.Reason = state, "torn"
				return &tape, nil
			}); err != nil {
				t.Fatal(err)
			}
			sum, err := r.m.Status.Impact(t.Context(), []hemera.DiskID{f.Pieces[0].Disk, f.Pieces[1].Disk})
			if err != nil || sum.OnTape != 0 || sum.Lost != 2 || sum.LostBytes != 30 {
				t.Errorf("%s: %+v: %v", state, sum, err)
			}
		}
		r.ruin(bad, bad.Pieces...)
		time.Sleep(time.Minute)
		r.wantRecalled("its tape is broken", "/bad", false)
		_, err := r.m.tree.Evict(t.Context(), f.ID, func(*hemera.Entry) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		want := "on tape only, and cannot be read: tape TAPE01 is BROKEN (torn)"
		why, err := r.m.Status.Why(t.Context(), hemera.SystemIdentity(), adminapi.WhyFile, "/f")
		if report, failed := r.m.Maint.FileInfo(t.Context(), hemera.SystemIdentity(), "/f"); err != nil || failed != nil || why.State != want || report.Status != want {
			t.Errorf("%+v, %q: %v, %v", why, report.Status, err, failed)
		}
		_, err = r.open("/f", hemera.AccessRead)
		wantKind(t, err, errs.IO)
	})
}

// Questions about a file that is on tape only are answered from its record, or name what helps.
func TestQuestionsAboutAFileOnTapeOnly(t *testing.T) {
	r := newRig(t, 2, 1)
	e := r.archive(r.write("/f", 10), "single")
	if _, err := r.m.tree.Evict(t.Context(), e.ID, func(*hemera.Entry) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if at, err := r.m.Files.Locate(t.Context(), hemera.SystemIdentity(), "/f"); err != nil || len(at) != 1 {
		t.Errorf("located at %+v: %v", at, err)
	}
	if sum, err := r.m.Files.Checksum(t.Context(), hemera.SystemIdentity(), "/f", hemera.ChecksumNone); err != nil || sum != e.Checksums[0] {
		t.Errorf("%+v: %v", sum, err)
	}
	_, err := r.m.Files.Checksum(t.Context(), hemera.SystemIdentity(), "/f", hemera.SHA256)
	wantKind(t, err, errs.NoReplicas)
	if !strings.Contains(err.Error(), "on tape only") || !strings.Contains(errs.RemedyOf(err), "prepare -s /f") {
		t.Errorf("%v; %s", err, errs.RemedyOf(err))
	}
	e = r.entry("/f")
	_, err = r.grants().GrantConversion(t.Context(), e.ID, e.Gen, hemera.Form{Layout: hemera.Replica(3)})
	if err == nil || !strings.Contains(err.Error(), "on tape only") {
		t.Errorf("a conversion: %v", err)
	}
}

// A reader that a node sends back, as it found no good piece, waits until the manager has heard the same of nodes; then the file comes from tape, and the
// reader goes on with what is the same content.
func TestAReaderThatFoundNoGoodPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, 1)
		defer r.start()()
		e := r.archive(r.write("/f", 10), "single")
		g, err := r.open("/f", hemera.AccessRead)
		if err != nil || !g.Permit.OnTape {
			t.Fatalf("%+v, %v", g, err)
		}
		was := g.Permit.Content()
		sentBack := func(o *hemera.OpenRequest) { o.Again, o.NoPiece = was, time.Now() }
		_, err = r.open("/f", hemera.AccessRead, sentBack)
		wantKind(t, err, errs.Unavailable)
		r.wantRecalled("by the word of a client alone", "/f", false)
		// Nodes have nothing to say of it: the read is granted, and may fail.
		if _, err = r.open("/f", hemera.AccessRead, func(o *hemera.OpenRequest) { o.NoPiece = time.Now().Add(-noPieceWait) }); err != nil {
			t.Error(err)
		}
		r.ruin(e, e.Pieces...)
		_, err = r.open("/f", hemera.AccessRead, sentBack)
		wantKind(t, err, errs.Unavailable)
		r.wantRecalled("all pieces are bad", "/f", true)
		now := r.entry("/f")
		if again := *was; !sameContent(&now, &again) {
			t.Error("the content is another one")
		}
		again := *was
		again.Sums = nil
		if sameContent(&now, &again) {
			t.Error("nothing says that it is the same")
		}
		other := now
		other.Checksums = []hemera.Checksum{{Kind: was.Sums[0].Kind}}
		if sameContent(&other, was) {
			t.Error("the checksum differs")
		}
	})
}
