package tier_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// runs has the tier do by itself what it does, until the test ends or the result is called.
func (s *site) runs() (end func()) {
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan struct{})
	tier := s.tier
	go func() { defer close(done); s.good(tier.Sweeper.Run(ctx)) }()
	return func() { cancel(); <-done }
}

// order makes an order and carries it out.
func (s *site) order(kind adminapi.TapeOrderKind, vid hemera.VID) string {
	s.Helper()
	said, err := s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: kind, Subject: string(vid)})
	s.good(err)
	return said
}

// later lets the tier's own work have its turns.
func (s *site) later(d time.Duration) {
	end := s.runs()
	time.Sleep(d) // of the bubble's clock
	synctest.Wait()
	end()
}

// A repack sets the state of its tape, and ends when the last file has gone. What a restart interrupts goes on.
func TestARepackEndsByItself(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.put(alice(), "/single/g", 1000)
		s.archive()
		s.change("tape", "set", "AAA001", "full", "true")
		// As it is when the manager ends right after the order was written.
		s.good(s.tree.Parts().Tapes.ChangeTape(s.Context(), "AAA001", func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
			tape := *old
			tape.State, tape.Repack = tapeapi.Repacking, &tapeapi.Task{By: "ada", Begun: time.Now(), Files: 2}
			return &tape, nil
		}))
		s.start()
		s.report()
		s.later(time.Minute)
		if got := s.tape("AAA001"); s.waiting(tapeapi.Archive) != 2 || !got.Repack.Filled || got.State != tapeapi.Repacking {
			t.Fatalf("%d jobs wait, %+v", s.waiting(tapeapi.Archive), got.Repack)
		}
		s.change("tape", "set", "BBB001", "tapepool", "default")
		s.archive()
		s.later(time.Minute)
		if got := s.tape("AAA001"); got.Repack != nil || got.State != tapeapi.Active || got.Files != 0 || s.tape("BBB001").Files != 2 {
			t.Errorf("%+v", got)
		}
		s.report()
		if got := s.attention(); len(got) != 1 || got[0] != "tape AAA001 is full, and none of its files is in the tree any more" {
			t.Errorf("%q", got)
		}
		s.order(adminapi.OrderReclaim, "AAA001")
		if got := s.tape("AAA001"); got.Full || got.LastFSeq != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// What is cancelled leaves the files where they are, and their first copies queued.
func TestACancelledRepack(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.archive()
		s.change("tape", "set", "AAA001", "full", "true")
		s.put(alice(), "/single/new", 1000)
		s.wantKind("nothing to cancel", second(s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderStopTape, Subject: "AAA001"})), errs.NotFound)
		s.order(adminapi.OrderRepack, "AAA001")
		if s.waiting(tapeapi.Archive) != 2 {
			t.Fatalf("%d jobs wait", s.waiting(tapeapi.Archive))
		}
		if said := s.order(adminapi.OrderStopTape, "AAA001"); said != "1 requests are taken back" {
			t.Error(said)
		}
		if got := s.tape("AAA001"); got.Repack != nil || got.State != tapeapi.Active || got.Files != 1 || s.waiting(tapeapi.Archive) != 1 {
			t.Errorf("%d jobs wait, %+v", s.waiting(tapeapi.Archive), got)
		}
	})
}

// A class that is gone, or lacks a route, keeps its own files from getting copies, and no others of the tape.
func TestAClassThatIsGoneStopsNoOtherFile(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/double/f", 1000)
		s.put(alice(), "/single/f", 1000)
		s.archive()
		s.change("route", "add", "default/2", "storageClass", "default", "copyNumber", "2", "tapepool", "second")
		s.change("class", "set", "default", "nbCopies", "2")
		s.change("route", "remove", "double/1")
		s.change("route", "remove", "double/2")
		s.change("class", "remove", "double")
		if said := s.order(adminapi.OrderCopies, "AAA001"); said != "1 copies are queued; 1 files are left, as their storage class is gone or lacks a route" {
			t.Error(said)
		}
	})
}

// A class that got another copy: what was written before gets it too, once.
func TestCopiesAreAdded(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.archive()
		s.change("route", "add", "default/2", "storageClass", "default", "copyNumber", "2", "tapepool", "second")
		s.change("class", "set", "default", "nbCopies", "2")
		if said := s.order(adminapi.OrderCopies, "AAA001"); said != "1 copies are queued" {
			t.Error(said)
		}
		if said := s.order(adminapi.OrderCopies, "AAA001"); said != "0 copies are queued" {
			t.Error(said)
		}
		s.archive()
		if e := s.stat("/single/f"); len(e.Tape) != 2 || e.Tape[0].VID != "AAA001" || e.Tape[1].VID != "BBB001" {
			t.Errorf("%+v", e.Tape)
		}
		// A repack does both.
		s.change("tape", "set", "AAA001", "full", "true")
		s.order(adminapi.OrderRepack, "AAA001")
		if s.waiting(tapeapi.Archive) != 1 {
			t.Errorf("%d jobs wait", s.waiting(tapeapi.Archive))
		}
	})
}

// A broken tape is not read: its state stays, and its files come from elsewhere.
func TestABrokenTapeIsRepacked(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.archive()
		s.change("tape", "set", "AAA001", "state", "BROKEN", "stateReason", "torn")
		s.wantKind("verify", second(s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderCheck, Subject: "AAA001"})), errs.Conflict)
		s.order(adminapi.OrderRepack, "AAA001")
		s.change("tape", "set", "BBB001", "tapepool", "default")
		s.archive()
		s.later(time.Minute)
		if got := s.tape("AAA001"); got.Repack != nil || got.State != tapeapi.Broken || got.Reason != "torn" || got.Files != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// verified reads and compares what waits for it on a tape, by d2.
func (s *site) verified(bad bool) {
	s.Helper()
	m := s.mount("d2", tapeapi.Verify)
	r := tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true}
	for _, j := range s.jobs(m) {
		if bad {
			r.Failed = append(r.Failed, tapeapi.Failure{Job: j.JobKey, Error: "bad block", Copy: true})
			continue
		}
		r.Done = append(r.Done, j.JobKey)
	}
	s.good(s.tier.Results.TapeDone(s.Context(), server, r))
	s.loaded("d2", "")
}

// A tape that was read as a whole has the time of it; one with a bad file has not, and the file is in the list.
func TestVerification(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.archive()
		s.order(adminapi.OrderCheck, "AAA001")
		s.later(time.Minute)
		if s.tape("AAA001").Verifying == nil {
			t.Fatal("it ended before its files were read")
		}
		s.verified(false)
		s.later(time.Minute)
		first := s.tape("AAA001")
		if first.Verifying != nil || time.Since(first.Verified) > time.Hour {
			t.Fatalf("%+v", first)
		}
		time.Sleep(24 * time.Hour) // of the bubble's clock
		s.order(adminapi.OrderCheck, "AAA001")
		for s.tape("AAA001").Verifying != nil {
			if s.waiting(tapeapi.Verify) > 0 {
				s.verified(true)
			}
			s.later(2 * time.Hour) // jobs that failed wait longer each time
			s.report()
		}
		if got := s.tape("AAA001"); !got.Verified.Equal(first.Verified) || len(s.attention()) == 0 {
			t.Errorf("%+v, %v", got, s.attention())
		}
	})
}

// Tapes are verified by themselves when their time has come, one at a time, unless that is off.
func TestTapesAreVerifiedByThemselves(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/double/f", 1000)
		s.archive()
		s.change("mounting", "set", "default", "verifySeconds", "240h")
		s.later(time.Hour)
		if s.waiting(tapeapi.Verify) != 0 {
			t.Fatal("a new tape is verified")
		}
		time.Sleep(240 * time.Hour) // of the bubble's clock
		s.report()
		s.later(time.Minute)
		if s.waiting(tapeapi.Verify) != 1 || s.tape("AAA001").Verifying.By != admin().Name {
			t.Fatalf("%d jobs wait", s.waiting(tapeapi.Verify))
		}
		s.verified(false)
		s.later(time.Minute)
		s.report()
		s.verified(false) // of the other one
		s.later(time.Minute)
		if s.waiting(tapeapi.Verify) != 0 || s.tape("BBB001").Verified.IsZero() {
			t.Errorf("%d jobs wait, %+v", s.waiting(tapeapi.Verify), s.tape("BBB001"))
		}
		s.change("mounting", "set", "default", "verifySeconds", "0")
		time.Sleep(1000 * time.Hour) // of the bubble's clock
		s.report()
		s.later(time.Minute)
		if s.waiting(tapeapi.Verify) != 0 {
			t.Error("verified although it is off")
		}
	})
}

// A class without a route keeps its own files on a tape that is repacked, and no others. The list names it, and a repack after that moves them.
func TestARepackLeavesFilesWithoutARoute(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/double/f", 1000)
		s.put(alice(), "/single/g", 1000)
		s.archive()
		const vid, class = "AAA001", "double"
		s.change("tape", "set", vid, "full", "true")
		s.change("route", "remove", "double/1")
		s.order(adminapi.OrderRepack, vid)
		got := s.tape(vid).Repack
		if got == nil || !got.Filled || len(got.Left) != 1 || got.Left[0].Class != class || got.Left[0].Files != 1 || got.Left[0].Path != "/double/f" || got.Left[0].Remedy == "" {
			t.Fatalf("%+v", got)
		}
		if n := s.waiting(tapeapi.Archive); n != 1 {
			t.Errorf("%d files are queued", n)
		}
		if a := strings.Join(s.attention(), "\n"); !strings.Contains(a, vid+" its repack leaves 1 file of class double") {
			t.Errorf("%s", a)
		}
		// With the route, the same order moves what is left.
		s.change("route", "add", "double/1", "storageClass", "double", "copyNumber", "1", "tapepool", "default")
		s.order(adminapi.OrderRepack, vid)
		if n := s.waiting(tapeapi.Archive); n != 2 || len(s.tape(vid).Repack.Left) > 0 {
			t.Errorf("%d files are queued, %+v", n, s.tape(vid).Repack)
		}
	})
}

// An order to label outlives a restart. It ends with the label, with a tape that is put aside, and does no harm to what was written since.
func TestALabelOrderIsDurable(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		label := adminapi.TapeOrder{Kind: adminapi.OrderLabel, Subject: "AAA001", Force: true}
		dry := label
		dry.DryRun = true
		s.orders(dry)
		if s.tape("AAA001").Relabel != nil {
			t.Error("a dry run is an order")
		}
		s.orders(label)
		s.start()
		s.report()
		m := s.ask("d1")
		if m.Kind != tapeapi.MountLabel || m.VID != "AAA001" || !m.Labels.Force {
			t.Fatalf("%+v", m)
		}
		s.loaded("d1", "AAA001")
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Labelled: true, Ended: true, Session: tapeapi.Session{Drive: "d1"}}))
		s.start()
		s.report()
		if m := s.ask("d1"); m.Kind == tapeapi.MountLabel || s.tape("AAA001").Relabel != nil {
			t.Errorf("labelled again: %+v", m)
		}
		s.orders(label)
		s.order(adminapi.OrderStopTape, "AAA001")
		if m := s.ask("d1"); m.Kind == tapeapi.MountLabel {
			t.Errorf("the order was taken back: %+v", m)
		}
		s.orders(label)
		m = s.ask("d1")
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Problem: "it does not hold", Ended: true, Session: tapeapi.Session{Drive: "d1"}}))
		if now := s.tape("AAA001"); now.Relabel != nil || now.State != tapeapi.Disabled {
			t.Errorf("%+v", now)
		}
	})
	at(t, func(s *site) {
		s.label()
		s.archived("/single/f")
		s.wantKind("a tape with files", second(s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderLabel, Subject: "AAA001", Force: true})), errs.NotEmpty)
	})
}

// The arrival of a file wakes its archive job. Before that the lists say what it waits for, though no drive can do anything.
func TestARepackGoesOnWhenItsFileArrives(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		s.change("tape", "set", "AAA001", "full", "true")
		s.change("tape", "set", "BBB001", "tapepool", "default")
		s.order(adminapi.OrderRepack, "AAA001")
		m := s.mount("d1", tapeapi.Archive)
		s.jobs(m)
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true}))
		p, err := s.tier.Reports.TapePicture(s.Context())
		if s.good(err); len(p.Queues) != 2 || p.Queues[1].Kind != tapeapi.Archive || p.Queues[1].Files != 1 || !strings.Contains(p.Queues[1].Why, "comes to disk first") {
			t.Errorf("%+v", p.Queues)
		}
		if why := s.explained("default"); !strings.Contains(why, "archive of 1 file waits for default: is tried again in") {
			t.Error(why)
		}
		if why := s.tape("AAA001").Repack.Waits; !strings.HasPrefix(why, "recall of its next file: ") || !strings.Contains(why, "can begin") {
			t.Error(why)
		}
		m = s.mount("d2", tapeapi.Recall)
		jobs := s.jobs(m)
		s.arrives("/single/f")
		began := time.Now()
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true, Done: []tapeapi.JobKey{jobs[0].JobKey}}))
		if m = s.mount("d1", tapeapi.Archive); len(s.jobs(m)) != 1 || time.Since(began) > 0 {
			t.Errorf("it has waited for %s", time.Since(began))
		}
	})
}

// What a broken tape alone has stays, is counted, and does no harm to the others. The list says what works.
func TestABrokenTapeWithFilesOnItOnly(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/lost")
		s.evicted("/double/other")
		s.put(alice(), "/single/disk", 1000)
		s.archive()
		s.change("tape", "set", "AAA001", "state", "BROKEN", "stateReason", "torn")
		s.needs("tape AAA001 is broken and has 3 files; a repack moves those")
		if said := s.order(adminapi.OrderRepack, "AAA001"); said != "2 files are queued" {
			t.Error(said)
		}
		got := s.tape("AAA001").Repack
		if len(got.Left) != 1 || got.Left[0].Files != 1 || !strings.Contains(got.Left[0].Why, "tape AAA001 is BROKEN (torn)") ||
			!strings.Contains(got.Left[0].Remedy, "hemera tape tape set AAA001 full=true state=ACTIVE") {
			t.Errorf("%+v", got.Left)
		}
		s.needs("its repack cannot move them all")
		// It can be read after all: what the list says works, and nothing more has to be ordered.
		s.change("tape", "set", "AAA001", "full", "true", "state", "ACTIVE")
		s.later(11 * time.Second)
		if got := s.tape("AAA001").Repack; len(got.Left) != 0 || s.waiting(tapeapi.Archive) != 3 {
			t.Errorf("%+v", got)
		}
	})
}

// A tape that breaks during its repack: the jobs of its files fail, with the reason, and others of the same answer are done.
func TestATapeBreaksDuringItsRepack(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/lost")
		s.put(alice(), "/single/disk", 1000)
		s.archive()
		s.change("tape", "set", "AAA001", "full", "true")
		s.change("tape", "set", "BBB001", "tapepool", "default")
		s.order(adminapi.OrderRepack, "AAA001")
		s.change("tape", "set", "AAA001", "state", "BROKEN", "stateReason", "torn")
		if jobs := s.jobs(s.mount("d1", tapeapi.Archive)); len(jobs) != 1 || jobs[0].Path != "/single/disk" {
			t.Errorf("%+v", jobs)
		}
		if why := s.explained("/single/lost"); !strings.Contains(why, "is not tried again by itself") || !strings.Contains(why, "tape AAA001 is BROKEN (torn)") {
			t.Error(why)
		}
		s.needs("1 jobs have failed")
	})
}

// A recall that has failed for good is not begun again by the repack that waits for it, time after time.
func TestARepackEndsWithItsRecall(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		s.change("tape", "set", "AAA001", "full", "true")
		s.change("tape", "set", "BBB001", "tapepool", "default")
		s.order(adminapi.OrderRepack, "AAA001")
		look := func() {
			m := s.mount("d1", tapeapi.Archive)
			s.jobs(m)
			s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true}))
		}
		look()
		key := tapeapi.JobKey{File: s.stat("/single/f").ID, Kind: tapeapi.Recall, Copy: 1}
		s.good(s.tree.Parts().Tapes.ChangeJob(s.Context(), key, func(j tapeapi.Job, _ time.Time) *tapeapi.Job {
			j.Failed, j.Attempts, j.Error = true, 6, "a torn block"
			return &j
		}))
		time.Sleep(time.Minute)
		look()
		if why := s.explained("/single/f"); s.waiting(tapeapi.Recall) != 0 || !strings.Contains(why, "it does not come to disk: a torn block") {
			t.Error(why)
		}
		if said, err := s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderRetry}); err != nil || said != "2 jobs" {
			t.Errorf("%q, %v", said, err)
		}
	})
}
