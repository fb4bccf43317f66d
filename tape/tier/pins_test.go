package tier_test

import (
	"context"
	"testing"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// shared makes a file on tape only that all users may read.
func shared(s *site) string {
	s.Helper()
	s.label()
	s.evicted("/single/f")
	s.good(s.tree.Tree.SetMode(s.Context(), alice(), "/single/f", 0o644))
	return "/single/f"
}

// released has somebody release a file, as far as that is theirs, and returns what was said.
func released(s *site, who hemera.Identity, id, file string) error {
	s.Helper()
	failed, err := s.tier.Stager.Release(s.Context(), who, id, []string{file})
	s.good(err)
	return failed[0]
}

// A release counts against a request of the user that releases: nobody takes a file from under another one, and the last one has it evicted.
func TestNobodyReleasesWhatOthersStaged(t *testing.T) {
	at(t, func(s *site) {
		file := shared(s)
		carol := hemera.Identity{Name: "carol", UID: 1002, GID: 1002}
		one := stageOf(s, bob(), file)
		s.arrives(file)
		two := stageOf(s, bob(), file)
		three := stageOf(s, alice(), file)
		// A stranger releases what it did not stage, and its owner once more than it staged.
		s.good(released(s, carol, "", file))
		s.good(released(s, alice(), "", file))
		s.good(released(s, alice(), "", file))
		if s.counter(file) != 2 || s.onTapeOnly(file) {
			t.Fatalf("%d requests of bob are left", s.counter(file))
		}
		_, err := s.tier.Stager.Release(s.Context(), carol, one, []string{file})
		s.wantKind("a request of somebody else", err, errs.Denied)
		// By its id a request releases once, however often that is said; the manager is started again in between.
		s.good(released(s, bob(), two, file))
		s.start()
		s.report()
		s.good(released(s, bob(), two, file))
		s.good(released(s, alice(), three, file))
		if s.counter(file) != 1 || s.onTapeOnly(file) {
			t.Fatalf("%d requests are left, want that of %s", s.counter(file), one)
		}
		s.good(released(s, bob(), "", file))
		if !s.onTapeOnly(file) {
			t.Error("released by all, and on disk")
		}
		s.good(released(s, bob(), "", file)) // nothing is left to release
	})
}

// A file that nobody staged is evicted by its owner and by admins, and not by those that may only read it: to them there is nothing to release.
func TestWhoEvictsWhatNobodyStaged(t *testing.T) {
	at(t, func(s *site) {
		file := shared(s)
		s.arrives(file)
		s.good(released(s, bob(), "", file))
		if s.onTapeOnly(file) {
			t.Fatal("evicted by a reader")
		}
		s.good(released(s, alice(), "", file))
		if !s.onTapeOnly(file) {
			t.Error("not evicted by its owner")
		}
		stageOf(s, bob(), file)
		s.arrives(file)
		s.good(released(s, admin(), "", file))
		if !s.onTapeOnly(file) {
			t.Error("not released by an admin")
		}
	})
}

// A release whose answer was lost is sent again: a manager that was killed in between has taken the pin and evicted nothing.
func TestAReleaseIsSentAgain(t *testing.T) {
	at(t, func(s *site) {
		file := shared(s)
		stageOf(s, bob(), file)
		s.arrives(file)
		s.start()
		s.good(released(s, bob(), "", file))
		if s.counter(file) != 0 || s.onTapeOnly(file) {
			t.Fatalf("%d requests are left, or it was evicted before a library was heard of", s.counter(file))
		}
		s.report()
		s.good(released(s, bob(), "", file))
		if s.onTapeOnly(file) {
			t.Error("evicted by a reader without a request")
		}
	})
}

// The same request again counts once, whether the file is on disk or waits; its name is its maker's.
func TestARequestCountsOnce(t *testing.T) {
	at(t, func(s *site) {
		file := shared(s)
		ask := func(who hemera.Identity, files ...string) error {
			r := tapeapi.StageRequest{Name: "bulk-7"}
			for _, f := range files {
				r.Files = append(r.Files, tapeapi.StageFile{Path: f})
			}
			_, err := s.tier.Stager.Stage(s.Context(), who, r)
			return err
		}
		s.good(ask(alice(), file, file))
		st, err := s.tier.Stager.StageStatus(s.Context(), alice(), "bulk-7")
		s.good(err)
		s.good(ask(alice(), file, file))
		s.arrives(file)
		time.Sleep(time.Minute)
		s.good(ask(alice(), file, file))
		if s.counter(file) != 1 {
			t.Errorf("counted %d times", s.counter(file))
		}
		again, err := s.tier.Stager.StageStatus(s.Context(), alice(), "bulk-7")
		if err != nil || !again.Made.Equal(st.Made) {
			t.Errorf("made %v, was %v, %v", again.Made, st.Made, err)
		}
		s.wantKind("by somebody else", ask(bob(), file, file), errs.Denied)
		s.wantKind("for other files", ask(alice(), file, "/single/none"), errs.Exists)
		s.wantKind("a name that cannot be stored", second(s.tier.Stager.Stage(s.Context(), alice(), tapeapi.StageRequest{Name: "a,b", Files: []tapeapi.StageFile{{Path: file}}})), errs.Invalid)
		// Withdrawn while it is on disk: it keeps nothing there any more, and eviction is a matter of room.
		s.good(s.tier.Stager.CancelStage(s.Context(), alice(), "bulk-7", nil, false))
		if s.counter(file) != 0 || s.onTapeOnly(file) {
			t.Errorf("counter %d after it was withdrawn", s.counter(file))
		}
	})
}

// A file that is staged before it is archived stays on disk when its directory drops disk copies, until it is released.
func TestStagedBeforeItIsArchived(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.good(s.tree.Tree.SetXattr(s.Context(), admin(), "/single", hemera.AttrDropOnArchive, []byte("1"), false))
		s.put(alice(), "/single/f", 1000)
		stageOf(s, alice(), "/single/f")
		s.archive()
		if e := s.stat("/single/f"); e.Evicted() || len(e.Tape) != 1 {
			t.Fatalf("%+v", e)
		}
		s.good(released(s, alice(), "", "/single/f"))
		if !s.onTapeOnly("/single/f") {
			t.Error("released, and on disk")
		}
	})
}

// Requests are forgotten after two weeks, with what they keep on disk.
func TestOldRequestsKeepNothingOnDisk(t *testing.T) {
	at(t, func(s *site) {
		file := shared(s)
		stageOf(s, alice(), file)
		s.arrives(file)
		ctx, stop := context.WithCancel(s.Context())
		ended := make(chan error)
		go func() { ended <- s.tier.Sweeper.Run(ctx) }()
		time.Sleep(13 * 24 * time.Hour)
		young := stageOf(s, bob(), file)
		if s.counter(file) != 2 {
			t.Errorf("%d requests after 13 days", s.counter(file))
		}
		time.Sleep(2 * 24 * time.Hour)
		stop()
		s.good(<-ended)
		if s.counter(file) != 1 {
			t.Errorf("%d requests after 15 days", s.counter(file))
		}
		if _, err := s.tier.Stager.StageStatus(s.Context(), bob(), young); err != nil {
			t.Error(err)
		}
	})
}
