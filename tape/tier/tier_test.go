package tier_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A new tape is labelled first; then the drive gets the queue's tape, and nobody else gets it.
func TestAnIdleDriveGetsTheTapeOfAQueue(t *testing.T) {
	at(t, func(s *site) {
		if m := s.ask("d1"); m.Kind != tapeapi.MountNothing {
			t.Fatalf("nothing waits: %+v", m)
		}
		s.put(alice(), "/single/f", 1000)
		m := s.ask("d1")
		if m.Kind != tapeapi.MountLabel || m.VID != "AAA001" || m.Labels.Force {
			t.Fatalf("a new tape: %+v", m)
		}
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Labelled: true, Ended: true}))
		s.loaded("d1", "AAA001")
		again := s.mount("d1", tapeapi.Archive)
		if again.VID != "AAA001" || again.Pool != "default" || again.ID == m.ID || s.tape("AAA001").Labelled.IsZero() {
			t.Fatalf("%+v", again)
		}
		if m := s.ask("d2"); m.Kind != tapeapi.MountNothing {
			t.Errorf("two drives for one tape: %+v", m)
		}
	})
}

// Jobs are given once, and come back when the mount ends or its server falls silent.
func TestJobsAreGivenToOneMount(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		e := s.put(alice(), "/single/f", 1000)
		m := s.mount("d1", tapeapi.Archive)
		jobs := s.jobs(m)
		if len(jobs) != 1 || jobs[0].File != e.ID || jobs[0].Path != "/single/f" {
			t.Fatalf("%+v", jobs)
		}
		if g, err := s.tier.Jobs.TapeGrant(s.Context(), server, m.ID, jobs[0].JobKey); err != nil || g.Token != "read" {
			t.Errorf("%+v, %v", g, err)
		}
		if again := s.jobs(m); len(again) != 0 {
			t.Errorf("given twice: %+v", again)
		}
		_, err := s.tier.Jobs.TapeJobs(s.Context(), server+1, tapeapi.JobsRequest{Mount: m.ID})
		s.wantKind("the mount of another node", err, errs.NotFound)
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true}))
		m = s.mount("d1", tapeapi.Archive)
		if len(s.jobs(m)) != 1 {
			t.Error("the job of a mount that ended is not given again")
		}
		// Silent for a minute: the sweep ends its mounts.
		ctx, stop := context.WithTimeout(s.Context(), time.Minute)
		defer stop()
		s.good(s.tier.Sweeper.Run(ctx))
		_, err = s.tier.Jobs.TapeJobs(s.Context(), server, tapeapi.JobsRequest{Mount: m.ID})
		s.wantKind("the mount of a server that was silent", err, errs.NotFound)
		if m = s.mount("d1", tapeapi.Archive); len(s.jobs(m)) != 1 {
			t.Error("the job of a server that was silent is not given again")
		}
	})
}

// Two users share a mount.
func TestUsersShareAMount(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		for _, name := range []string{"a1", "a2", "a3", "a4"} {
			s.put(alice(), "/single/"+name, 1000)
		}
		s.put(bob(), "/single/b1", 1000)
		s.put(bob(), "/single/b2", 1000)
		m := s.mount("d1", tapeapi.Archive)
		r, err := s.tier.Jobs.TapeJobs(s.Context(), server, tapeapi.JobsRequest{Mount: m.ID, Files: 4})
		s.good(err)
		of := map[uint32]int{}
		for _, j := range r.Jobs {
			of[j.UID]++
		}
		if of[alice().UID] != 2 || of[bob().UID] != 2 {
			t.Errorf("of 4 files: %v", of)
		}
	})
}

// Files were asked for nearly in the order of the tape: what lies between those that a session gets comes along, and costs no way back.
func TestARecallTakesWhatIsOnTheWay(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		names := []string{"/single/0", "/single/1", "/single/2", "/single/3", "/single/4"}
		for _, name := range names {
			s.evicted(name)
		}
		for _, i := range []int{0, 1, 3, 4, 2} {
			stageOf(s, alice(), names[i])
			time.Sleep(time.Second)
		}
		m := s.mount("d1", tapeapi.Recall)
		var got []string
		for {
			r, err := s.tier.Jobs.TapeJobs(s.Context(), server, tapeapi.JobsRequest{Mount: m.ID, Files: 5})
			s.good(err)
			if r.Last {
				break
			}
			for _, j := range r.Jobs {
				got = append(got, j.Path)
			}
			got = append(got, "|")
		}
		if want := []string{names[0], names[1], names[2], names[3], names[4], "|"}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		// Of four, three come in the order of asking.
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true}))
		m = s.mount("d1", tapeapi.Recall)
		r, err := s.tier.Jobs.TapeJobs(s.Context(), server, tapeapi.JobsRequest{Mount: m.ID, Files: 4})
		s.good(err)
		got = nil
		for _, j := range r.Jobs {
			got = append(got, j.Path)
		}
		if want := []string{names[0], names[1], names[3]}; !slices.Equal(got, want) {
			t.Errorf("of four: %q", got)
		}
		// Files have 1000 bytes: four of them are all that fits.
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true}))
		m = s.mount("d1", tapeapi.Recall)
		if r, err = s.tier.Jobs.TapeJobs(s.Context(), server, tapeapi.JobsRequest{Mount: m.ID, Files: 5, Bytes: 4500}); err != nil || len(r.Jobs) != 4 {
			t.Errorf("of 4500 bytes: %d files, %v", len(r.Jobs), err)
		}
	})
}

// Members of a container are one behind the other, too: of those that were asked for, a session gets no later ones before those that are missing.
func TestARecallTakesMembersInTheirOrder(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		var names, got []string
		for i := range 8 {
			names = append(names, "/single/"+strconv.Itoa(i))
			s.put(alice(), names[i], 1000)
			time.Sleep(time.Second)
		}
		// All of them in one tape file.
		m := s.mount("d1", tapeapi.Archive)
		r := s.written(m, s.jobs(m))
		for i := range r.Written {
			r.Written[i].FSeq, r.Written[i].Block, r.Written[i].Member = 1, 0, uint32(i+1)
		}
		r.Written = slices.Insert(r.Written, 0, tapeapi.Written{ArchiveID: 1<<62 | 1, FSeq: 1, Size: 1 << 20, Bytes: 1 << 20})
		s.good(s.tier.Results.TapeDone(s.Context(), server, r))
		for _, i := range []int{0, 1, 2, 3, 7, 4, 5, 6} {
			s.good(second(s.tier.Stager.Evict(s.Context(), admin(), names[i])))
			stageOf(s, alice(), names[i])
			time.Sleep(time.Second)
		}
		m = s.mount("d1", tapeapi.Recall)
		for len(got) < len(names) {
			r, err := s.tier.Jobs.TapeJobs(s.Context(), server, tapeapi.JobsRequest{Mount: m.ID, Files: 5})
			s.good(err)
			for _, j := range r.Jobs {
				got = append(got, j.Path)
			}
		}
		if !slices.Equal(got, names) {
			t.Errorf("%q", got)
		}
	})
}

// A report whose answer was lost comes again, and changes nothing.
func TestAReportMayComeTwice(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.put(alice(), "/single/g", 1000)
		m := s.mount("d1", tapeapi.Archive)
		jobs := s.jobs(m)
		if len(jobs) != 2 {
			t.Fatalf("%+v", jobs)
		}
		r := s.written(m, jobs[:1])
		r.Failed = []tapeapi.Failure{{Job: jobs[1].JobKey, Error: "the disk is slow"}}
		s.good(s.tier.Results.TapeDone(s.Context(), server, r))
		tape := s.tape("AAA001")
		if tape.Files != 1 || tape.LastFSeq != 1 || tape.Writes != 1 {
			t.Errorf("%+v", tape)
		}
		s.good(s.tier.Results.TapeDone(s.Context(), server, r))
		if again := s.tape("AAA001"); again != tape {
			t.Errorf("%+v, was %+v", again, tape)
		}
		left, err := s.tier.Queue.TapeJobList(s.Context(), adminapi.TapeJobQuery{})
		s.good(err)
		if len(left) != 1 || left[0].Attempts != 1 || left[0].Error != "the disk is slow" {
			t.Errorf("the failed job: %+v", left)
		}
		p, err := s.tier.Reports.TapePicture(s.Context())
		s.good(err)
		if len(p.Sessions) != 1 {
			t.Errorf("sessions: %+v", p.Sessions)
		}
	})
}

// A tape whose files do not follow what the catalogue knows is put aside; one that is being repacked stays known as such.
func TestATapeThatDisagreesIsDisabled(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		m := s.mount("d1", tapeapi.Archive)
		r := s.written(m, s.jobs(m))
		r.Written[0].FSeq++
		s.wantKind("a gap", s.tier.Results.TapeDone(s.Context(), server, r), errs.Conflict)
		if tape := s.tape("AAA001"); tape.State != tapeapi.Disabled || tape.LastFSeq != 0 {
			t.Errorf("%+v", tape)
		}
		if s.waiting(tapeapi.Archive) != 1 {
			t.Error("the job is gone")
		}
		if a := s.attention(); len(a) != 1 || !strings.HasPrefix(a[0], "tape AAA001 is disabled") {
			t.Errorf("%q", a)
		}
		s.change("tape", "set", "BBB001", "full", "true")
		s.change("tape", "set", "BBB001", "state", "REPACKING", "stateReason", "old")
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: s.givenBefore(tapeapi.Recall, "BBB001"), VID: "BBB001", Problem: "cannot be read"}))
		if tape := s.tape("BBB001"); tape.State != tapeapi.RepackingDisabled || tape.Reason != "cannot be read" {
			t.Errorf("%+v", tape)
		}
	})
}

// A recall that fails goes to the other copy; after its attempts it has failed, is shown, and is tried again when an admin says so.
func TestAFailedRecallGoesToTheOtherCopy(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/double/f")
		id := stageOf(s, alice(), "/double/f")
		var read []hemera.VID
		for attempt := range 6 {
			m := s.mount("d1", tapeapi.Recall)
			jobs := s.jobs(m)
			if len(jobs) != 1 || jobs[0].From.VID != m.VID || jobs[0].Attempts != attempt {
				t.Fatalf("attempt %d: %+v", attempt, jobs)
			}
			read = append(read, m.VID)
			s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true,
				Failed: []tapeapi.Failure{{Job: jobs[0].JobKey, Error: "bad block", Copy: true}}}))
			s.loaded("d1", "")
			// Clients take an error for the end, so there is none as long as the recall is tried again.
			st, err := s.tier.Stager.StageStatus(s.Context(), alice(), id)
			if over := attempt == 5; err != nil || st.Ended.IsZero() == over || (st.Files[0].Error == "tape "+string(m.VID)+" could not be read in drive d1: bad block") != over {
				t.Errorf("attempt %d: %+v, %v", attempt, st, err)
			}
			// A client that opens the file hears of it after the second failure.
			if want := []errs.Kind{errs.Unavailable, errs.IO, errs.IO, errs.IO, errs.IO}; attempt < 5 {
				err := s.tier.Stager.OnOpen(s.Context(), alice(), s.stat("/double/f"), "/double/f")
				s.wantKind("an open while it fails", err, want[attempt])
			}
		}
		if want := []hemera.VID{"AAA001", "BBB001", "AAA001", "BBB001", "AAA001", "BBB001"}; !slices.Equal(read, want) {
			t.Errorf("read from %v", read)
		}
		if e := s.stat("/double/f"); string(e.Xattrs[hemera.AttrRecallError]) != "tape BBB001 could not be read in drive d1: bad block" {
			t.Errorf("%q", e.Xattrs)
		}
		if a := s.attention(); len(a) != 1 || a[0] != "recall AAA001 1 jobs have failed" {
			t.Errorf("%q", a)
		}
		if m := s.ask("d1"); m.Kind != tapeapi.MountNothing {
			t.Errorf("a failed job is tried by itself: %+v", m)
		}
		if said, err := s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderRetry}); err != nil || said != "1 jobs" {
			t.Errorf("%q, %v", said, err)
		}
		m := s.mount("d1", tapeapi.Recall)
		if jobs := s.jobs(m); len(jobs) != 1 || jobs[0].Attempts != 0 || len(s.attention()) != 0 {
			t.Errorf("%+v", jobs)
		}
	})
}

// A recall that a client's open made void is tried again. One of a file that was removed to a bin ends, and says why.
func TestNoRequestWaitsForEver(t *testing.T) {
	at(t, func(s *site) {
		s.good(s.tree.Tree.SetXattr(s.Context(), admin(), "/", "sys.recycle", []byte("30d"), false))
		s.label()
		s.evicted("/single/f")
		id := stageOf(s, alice(), "/single/f")
		report := func() {
			m := s.mount("d1", tapeapi.Recall)
			jobs := s.jobs(m)
			if len(jobs) != 1 {
				t.Fatalf("%+v", jobs)
			}
			s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true,
				Failed: []tapeapi.Failure{{Job: jobs[0].JobKey, Error: "another content", Void: true}}}))
			s.loaded("d1", "")
		}
		report()
		if s.waiting(tapeapi.Recall) != 1 {
			t.Error("the recall of a file that is on tape only was dropped")
		}
		time.Sleep(2 * time.Minute)
		s.good(s.tree.Tree.Remove(s.Context(), alice(), "/single/f", hemera.KindFile))
		report()
		st, err := s.tier.Stager.StageStatus(s.Context(), alice(), id)
		if err != nil || len(st.Files) != 1 || st.Files[0].Requested || st.Files[0].Error == "" || st.Ended.IsZero() || s.waiting(tapeapi.Recall) != 0 {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

// A manager that ends between the record of a copy and what follows from it makes up for that when the report comes again.
func TestDisksAreDroppedWhenAReportComesAgain(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.put(alice(), "/double/g", 1000)
		m := s.mount("d1", tapeapi.Archive)
		r := s.written(m, s.jobs(m))
		s.good(s.tier.Results.TapeDone(s.Context(), server, r))
		// The report is recorded, and the disk copies are there.
		s.start()
		s.report()
		for _, dir := range []string{"/single", "/double"} {
			s.good(s.tree.Tree.SetXattr(s.Context(), admin(), dir, hemera.AttrDropOnArchive, []byte("1"), false))
		}
		if e := s.stat("/single/f"); e.Evicted() {
			t.Fatal("dropped too early for this test")
		}
		s.good(s.tier.Results.TapeDone(s.Context(), server, r))
		if e := s.stat("/single/f"); !e.Evicted() || len(e.Tape) != 1 {
			t.Errorf("all its copies are on tape: %+v", e)
		}
		if e := s.stat("/double/g"); e.Evicted() {
			t.Errorf("a copy is missing: %+v", e)
		}
	})
}

// A file that is staged before it is archived stays on disk when it is: its directory drops the disk copies of others.
func TestAStagedFileStaysWhenItIsArchived(t *testing.T) {
	at(t, func(s *site) {
		s.good(s.tree.Tree.SetXattr(s.Context(), admin(), "/single", hemera.AttrDropOnArchive, []byte("1"), false))
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.put(alice(), "/single/g", 1000)
		stageOf(s, alice(), "/single/f")
		s.archive()
		if e := s.stat("/single/f"); e.Evicted() || len(e.Tape) != 1 {
			t.Errorf("staged: %+v", e)
		}
		if e := s.stat("/single/g"); !e.Evicted() {
			t.Errorf("not staged: %+v", e)
		}
	})
}

// A file stays on disk while a request that staged it uses it.
func TestStageAndRelease(t *testing.T) {
	at(t, func(s *site) {
		ctx := s.Context()
		s.label()
		s.evicted("/single/f")
		s.wantKind("no files", second(s.tier.Stager.Stage(ctx, alice(), tapeapi.StageRequest{})), errs.Invalid)
		request := func() string { return stageOf(s, alice(), "/single/f") }
		// Withdrawn by all: nothing is recalled.
		one, two := request(), request()
		if s.waiting(tapeapi.Recall) != 1 {
			t.Error("a file is recalled once, however many ask")
		}
		s.wantKind("status for others", second(s.tier.Stager.StageStatus(ctx, bob(), one)), errs.Denied)
		s.wantKind("cancelled by others", s.tier.Stager.CancelStage(ctx, bob(), one, nil, false), errs.Denied)
		s.wantKind("a path of no request", s.tier.Stager.CancelStage(ctx, alice(), one, []string{"/single/g"}, false), errs.Invalid)
		s.good(s.tier.Stager.CancelStage(ctx, alice(), one, nil, false))
		if s.waiting(tapeapi.Recall) != 1 {
			t.Error("cancelled for the request that is left")
		}
		s.good(s.tier.Stager.CancelStage(ctx, alice(), two, nil, true))
		if s.waiting(tapeapi.Recall) != 0 {
			t.Error("recalled for nobody")
		}
		s.wantKind("a forgotten request", second(s.tier.Stager.StageStatus(ctx, alice(), two)), errs.NotFound)
		// Two that wait, and one that finds the file on disk.
		three := request()
		request()
		st, err := s.tier.Stager.StageStatus(ctx, alice(), three)
		if err != nil || len(st.Files) != 1 || st.Files[0].OnDisk || !st.Files[0].HasID || !st.Ended.IsZero() {
			t.Errorf("%+v, %v", st, err)
		}
		s.arrives("/single/f")
		request()
		if st, err = s.tier.Stager.StageStatus(ctx, alice(), three); err != nil || !st.Files[0].OnDisk || st.Ended.IsZero() || s.counter("/single/f") != 3 {
			t.Errorf("%+v, %v; counter %d", st, err, s.counter("/single/f"))
		}
		// A user that may not read the file may not release it.
		failed, err := s.tier.Stager.Release(ctx, bob(), "", []string{"/single/f"})
		s.good(err)
		s.wantKind("released by another", failed[0], errs.Denied)
		for left := 2; left >= 0; left-- {
			if e := s.stat("/single/f"); e.Evicted() {
				t.Fatalf("evicted with %d users", left+1)
			}
			failed, err := s.tier.Stager.Release(ctx, alice(), "", []string{"/single/f"})
			s.good(err)
			s.good(failed[0])
		}
		if e := s.stat("/single/f"); !e.Evicted() || s.waiting(tapeapi.Recall) != 0 {
			t.Errorf("released by all: %+v", e)
		}
		st, err = s.tier.Stager.StageStatus(ctx, bob(), stageOf(s, bob(), "/single/f"))
		if err != nil || st.Files[0].Error == "" || s.waiting(tapeapi.Recall) != 0 {
			t.Errorf("staged by one who may not read: %+v, %v", st, err)
		}
	})
}

// The last disk copy of a file stays while a tape copy is missing.
func TestNothingIsEvictedBeforeItsCopies(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/double/f", 1000)
		m := s.mount("d1", tapeapi.Archive)
		s.good(s.tier.Results.TapeDone(s.Context(), server, s.written(m, s.jobs(m))))
		s.loaded("d1", "")
		if e := s.stat("/double/f"); len(e.Tape) != 1 {
			t.Fatalf("%+v", e)
		}
		s.wantKind("one copy of two", second(s.tier.Stager.Evict(s.Context(), admin(), "/double/f")), errs.Conflict)
		failed, err := s.tier.Stager.Release(s.Context(), alice(), "", []string{"/double/f"})
		s.good(err)
		s.good(failed[0])
		if e := s.stat("/double/f"); e.Evicted() {
			t.Fatal("released, and evicted with one copy of two")
		}
		s.archive()
		s.wantKind("by a user", second(s.tier.Stager.Evict(s.Context(), alice(), "/double/f")), errs.Denied)
		s.good(second(s.tier.Stager.Evict(s.Context(), admin(), "/double/f")))
		if e := s.stat("/double/f"); !e.Evicted() || len(e.Tape) != 2 {
			t.Errorf("%+v", e)
		}
	})
}

// A file that is on tape only comes to disk before it is written to another tape.
func TestARepackRecallsFirst(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		s.wantKind("a tape that is not full", second(s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderRepack, Subject: "AAA001"})), errs.Conflict)
		s.change("tape", "set", "AAA001", "full", "true")
		s.change("tape", "set", "AAA001", "state", "REPACKING", "stateReason", "old")
		s.change("tape", "set", "BBB001", "tapepool", "default")
		said, err := s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderRepack, Subject: "AAA001"})
		if err != nil || said != "1 files are queued" {
			t.Fatalf("%q, %v", said, err)
		}
		m := s.mount("d1", tapeapi.Archive)
		if jobs := s.jobs(m); m.VID != "BBB001" || len(jobs) != 0 || s.waiting(tapeapi.Recall) != 1 {
			t.Fatalf("%+v has %+v", m, jobs)
		}
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true}))
		m = s.mount("d2", tapeapi.Recall)
		jobs := s.jobs(m)
		if m.VID != "AAA001" || len(jobs) != 1 {
			t.Fatalf("%+v has %+v", m, jobs)
		}
		s.arrives("/single/f")
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true, Done: []tapeapi.JobKey{jobs[0].JobKey}}))
		// The job was put off: the drive asks until its time has come.
		for m = s.ask("d1"); m.Kind != tapeapi.MountWork; m = s.ask("d1") {
			if s.waiting(tapeapi.Archive) != 1 {
				t.Fatal("the job is gone")
			}
			if m.Kind == tapeapi.MountUnload {
				s.loaded("d1", "")
			}
		}
		s.good(s.tier.Results.TapeDone(s.Context(), server, s.written(m, s.jobs(m))))
		if e := s.stat("/single/f"); len(e.Tape) != 1 || e.Tape[0].VID != "BBB001" || s.tape("AAA001").Files != 0 {
			t.Errorf("%+v", e.Tape)
		}
	})
}

// What was removed since it was given, or before, is not worked on.
func TestTheJobOfARemovedFileIsVoid(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.put(alice(), "/single/g", 1000)
		m := s.mount("d1", tapeapi.Archive)
		s.good(s.tree.Tree.Remove(s.Context(), alice(), "/single/f", 0))
		jobs := s.jobs(m)
		if len(jobs) != 1 || jobs[0].Path != "/single/g" {
			t.Fatalf("%+v", jobs)
		}
		s.good(s.tree.Tree.Remove(s.Context(), alice(), "/single/g", 0))
		s.wantKind("a grant", second(s.tier.Jobs.TapeGrant(s.Context(), server, m.ID, jobs[0].JobKey)), errs.Conflict)
		// It was being written already: the tape has it, and the tree does not.
		s.good(s.tier.Results.TapeDone(s.Context(), server, s.written(m, jobs)))
		if tape := s.tape("AAA001"); tape.LastFSeq != 1 || tape.Files != 0 || s.waiting(tapeapi.Archive) != 0 {
			t.Errorf("%+v", tape)
		}
	})
}

// A mount that finds another content than it was given a job for does not take the job of the new content along.
func TestTheJobOfANewContentStays(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		m := s.mount("d1", tapeapi.Archive)
		old := s.jobs(m)
		e := s.put(alice(), "/single/f", 2000)
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true,
			Failed: []tapeapi.Failure{{Job: old[0].JobKey, Error: "another content", Void: true}}}))
		m = s.mount("d1", tapeapi.Archive)
		if jobs := s.jobs(m); len(jobs) != 1 || jobs[0].ArchiveID != e.ArchiveID() || jobs[0].Attempts != 0 {
			t.Errorf("%+v", jobs)
		}
	})
}

// A drive that an admin put down gets nothing, and gives its tape back.
func TestADriveThatIsDown(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		down := adminapi.TapeChange{Object: "drive", Verb: "set", Name: "d1", Values: map[string]string{"desired": "down"}}
		s.wantKind("without a reason", s.tier.Config.ChangeTape(s.Context(), "ada", down), errs.Invalid)
		down.Name = "d9"
		s.wantKind("an unknown drive", s.tier.Config.ChangeTape(s.Context(), "ada", down), errs.NotFound)
		s.change("drive", "set", "d1", "desired", "down", "reason", "to be cleaned")
		s.put(alice(), "/single/f", 1000)
		s.start()
		s.report()
		s.orders(adminapi.TapeOrder{Kind: adminapi.OrderLabel, Subject: "BBB001"})
		if m := s.ask("d1"); m.Kind != tapeapi.MountNothing {
			t.Errorf("%+v", m)
		}
		s.orders(adminapi.TapeOrder{Kind: adminapi.OrderStopTape, Subject: "BBB001"})
		s.loaded("d1", "AAA001")
		if m := s.ask("d1"); m.Kind != tapeapi.MountUnload || m.VID != "AAA001" {
			t.Errorf("with a tape: %+v", m)
		}
		s.loaded("d1", "")
		s.change("drive", "set", "d1", "desired", "up")
		s.mount("d1", tapeapi.Archive)
	})
}

// A small queue begins one new tape, also when two drives ask at the same moment.
func TestOneNewTapeForASmallQueue(t *testing.T) {
	at(t, func(s *site) {
		s.state.VIDs["AAA002"] = "LTO-9"
		s.report()
		s.change("tape", "add", "AAA002")
		s.put(alice(), "/single/f", 1000)
		if m := s.ask("d1"); m.Kind != tapeapi.MountLabel || m.VID != "AAA001" {
			t.Fatalf("%+v", m)
		}
		if m := s.ask("d2"); m.Kind != tapeapi.MountNothing {
			t.Errorf("the second drive: %+v", m)
		}
	})
}

// A name that is longer than a VID is no tape's, whatever it begins with.
func TestALongNameIsNoTape(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		for _, c := range []adminapi.TapeChange{{Verb: "set", Values: map[string]string{"comment": "x"}}, {Verb: "remove"}, {Verb: "add"}} {
			c.Object, c.Name = "tape", "AAA0011"
			if err := s.tier.Config.ChangeTape(s.Context(), "ada", c); err == nil {
				t.Errorf("%s: no error", c.Verb)
			}
		}
		s.wantKind("a reclaim", second(s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderReclaim, Subject: "AAA0011"})), errs.NotFound)
		if now := s.tape("AAA001"); now.VID != "AAA001" || now.Comment != "" {
			t.Errorf("%+v", now)
		}
	})
}

// TestSumsOfADriveNeverFall: they have the session under way and those that ended, and a session counts once, also while its drive still says that
// it works on it.
func TestSumsOfADriveNeverFall(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		total := func() (sum adminapi.TapeTotals) {
			p, err := s.tier.Reports.TapePicture(s.Context())
			s.good(err)
			for _, d := range p.Drives {
				for _, of := range d.Totals {
					if d.Name == "d1" && of.Kind == tapeapi.Archive {
						sum = of
					}
				}
			}
			return sum
		}
		var before adminapi.TapeTotals
		for n := range int64(3) {
			s.put(alice(), "/single/f"+strconv.FormatInt(n, 10), 1000)
			m := s.mount("d1", tapeapi.Archive)
			r := s.written(m, s.jobs(m))
			under := tapeapi.Session{Mount: m.ID, Kind: tapeapi.Archive, Drive: "d1", Bytes: 600, Disk: time.Second}
			s.state.Drives[0].Mount, s.state.Drives[0].Session = m.ID, under
			s.report()
			if now := total(); now.Sessions != n || now.Bytes != n*1000+600 {
				t.Errorf("session %d is under way: %+v", n, now)
			}
			r.Session = under
			r.Session.Bytes, r.Session.Files, r.Session.BackHitches, r.Session.Network = 1000, 1, 2, time.Minute
			r.Session.Course = []tapeapi.Sample{{Bytes: 1000}}
			r.Ended = true
			s.good(s.tier.Results.TapeDone(s.Context(), server, r))
			// The drive has not reported since.
			now := total()
			if now.Sessions != n+1 || now.Bytes != (n+1)*1000 || now.BackHitches != 2*(n+1) || now.Network < before.Network || now.Disk < before.Disk {
				t.Errorf("session %d has ended: %+v", n, now)
			}
			before = now
			s.state.Drives[0].Mount = 0
			s.report()
			if total() != before {
				t.Errorf("the drive is idle: %+v, was %+v", total(), before)
			}
			one, err := s.tier.Reports.TapeSession(s.Context(), m.ID)
			s.good(err)
			if len(one.Course) != 1 || one.Network != time.Minute {
				t.Errorf("%+v", one)
			}
		}
		_, err := s.tier.Reports.TapeSession(s.Context(), 1<<40)
		s.wantKind("no such session", err, errs.NotFound)
		p, err := s.tier.Reports.TapePicture(s.Context())
		s.good(err)
		if len(p.Sessions) != 3 || p.Sessions[0].Course != nil {
			t.Errorf("the list: %+v", p.Sessions)
		}
	})
}

// A tape is labelled for checksums of its blocks, which its drive uses if it has them.
func TestLabelsAskForProtectedBlocks(t *testing.T) {
	at(t, func(s *site) {
		s.put(alice(), "/double/f", 1000)
		if m := s.ask("d1"); m.Kind != tapeapi.MountLabel || !m.Labels.Protected {
			t.Errorf("%+v", m)
		}
	})
}

// Requests are forgotten when they are old, and looked at when the oldest one is.
func TestOldRequestsAreForgotten(t *testing.T) {
	const kept = 14 * 24 * time.Hour
	at(t, func(s *site) {
		s.label()
		s.evicted("/double/f")
		old := stageOf(s, alice(), "/double/f")
		time.Sleep(kept - time.Hour)
		s.good(s.tier.Sweeper.ForgetStages(s.Context()))
		young := stageOf(s, alice(), "/double/f")
		s.good(second(s.tier.Stager.StageStatus(s.Context(), alice(), old)))
		time.Sleep(time.Hour + 2*time.Second)
		s.good(s.tier.Sweeper.ForgetStages(s.Context()))
		s.wantKind("an old request", second(s.tier.Stager.StageStatus(s.Context(), alice(), old)), errs.NotFound)
		s.good(second(s.tier.Stager.StageStatus(s.Context(), alice(), young)))
		s.good(s.tier.Sweeper.ForgetStages(s.Context()))
		time.Sleep(kept)
		s.good(s.tier.Sweeper.ForgetStages(s.Context()))
		s.wantKind("the other one", second(s.tier.Stager.StageStatus(s.Context(), alice(), young)), errs.NotFound)
	})
}

// The requests of one file are found by its path, whatever queue they are in.
func TestRequestsOfAFile(t *testing.T) {
	at(t, func(s *site) {
		s.put(alice(), "/double/f", 1000)
		s.put(alice(), "/double/g", 1000)
		jobs, err := s.tier.Queue.TapeJobList(s.Context(), adminapi.TapeJobQuery{Path: "/double/f"})
		s.good(err)
		if len(jobs) != 2 || jobs[0].Path != "/double/f" || jobs[1].Path != "/double/f" || jobs[0].Queue != "default" || jobs[1].Queue != "second" {
			t.Errorf("%+v", jobs)
		}
		_, err = s.tier.Queue.TapeJobList(s.Context(), adminapi.TapeJobQuery{Path: "/double/none"})
		s.wantKind("a file that is not there", err, errs.NotFound)
	})
}
