package tier_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// readsBack returns the mount that reads a tape back, which the drive must get.
func (s *site) readsBack(drive string, vid hemera.VID) tapeapi.Mount {
	s.Helper()
	m := s.mount(drive, tapeapi.Verify)
	if m.VID != vid || !m.ReadBack || !strings.Contains(m.Why, "read back") {
		s.Fatalf("%+v", m)
	}
	return m
}

// done reports the end of a mount that has read jobs.
func (s *site) done(m tapeapi.Mount, ended bool, jobs []tapeapi.Work, failed ...tapeapi.Failure) {
	s.Helper()
	r := tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: ended, Failed: failed}
	for _, j := range jobs {
		r.Done = append(r.Done, j.JobKey)
	}
	s.good(s.tier.Results.TapeDone(s.Context(), server, r))
}

// session writes what waits for the pool of AAA001, and leaves the tape in d1.
func (s *site) session() {
	s.Helper()
	m := s.mount("d1", tapeapi.Archive)
	s.good(s.tier.Results.TapeDone(s.Context(), server, s.written(m, s.jobs(m))))
}

// Disk copies go when the files of a session were read back: all, or the first ones. What changed meanwhile is passed over.
func TestFilesAreReadBackBeforeDiskCopiesGo(t *testing.T) {
	for _, c := range []struct {
		setting string
		read    int
	}{{"always", 4}, {"2", 2}, {"never", 0}} {
		at(t, func(s *site) {
			s.label()
			s.good(s.tree.Tree.SetXattr(s.Context(), admin(), "/single", hemera.AttrDropOnArchive, []byte("1"), false))
			s.change("mounting", "set", "default", "readBack", c.setting)
			for i := range 5 {
				s.put(alice(), fmt.Sprintf("/single/%d", i), 1000)
			}
			s.session()
			if c.read == 0 {
				if !s.onTapeOnly("/single/4") || s.tape("AAA001").UnreadFSeq != 0 {
					t.Errorf("%s: %+v", c.setting, s.stat("/single/4"))
				}
				return
			}
			_, err := s.tier.Stager.Evict(s.Context(), admin(), "/single/4")
			if s.wantKind("evict before", err, errs.Conflict); !strings.Contains(err.Error(), "was not read back yet") {
				t.Error(err)
			}
			for _, subject := range []string{"AAA001", "/single/4"} {
				lines, err := s.tier.Reports.ExplainTape(s.Context(), subject)
				if text := strings.Join(lines, "; "); err != nil || !strings.Contains(text, "read back") {
					t.Errorf("%s: %s, %v", subject, text, err)
				}
			}
			s.good(s.tree.Tree.Remove(s.Context(), admin(), "/single/0", hemera.KindFile))
			m := s.readsBack("d1", "AAA001")
			jobs := s.jobs(m)
			if len(jobs) != c.read || jobs[0].Path != "/single/1" || jobs[0].From.FSeq != 2 {
				t.Fatalf("%s: %+v", c.setting, jobs)
			}
			if s.onTapeOnly("/single/1") {
				t.Error("it was not read back yet")
			}
			s.jobs(m) // none are left
			s.done(m, true, jobs)
			for i := 1; i < 5; i++ {
				if file := fmt.Sprintf("/single/%d", i); !s.onTapeOnly(file) {
					t.Errorf("%s: %s is on disk: %+v", c.setting, file, s.tape("AAA001"))
				}
			}
			if m := s.ask("d1"); m.Job == tapeapi.Verify {
				t.Errorf("it is read back again: %+v", m)
			}
		})
	}
}

// The next session's files are read back at once too, also when the last report of the mount before had nothing more to say.
func TestEachSessionIsReadBack(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.change("mounting", "set", "default", "readBack", "always")
		for _, file := range []string{"/single/1", "/single/2", "/single/3"} {
			s.put(alice(), file, 1000)
			s.session()
			m := s.readsBack("d1", "AAA001")
			jobs := s.jobs(m)
			s.jobs(m) // none are left
			s.done(m, false, jobs)
			s.done(m, true, nil)
			s.good(second(s.tier.Stager.Evict(s.Context(), admin(), file)))
		}
	})
}

// A mount that does not reach the end is done again later from where it was, also in the manager's next life, and by any drive.
func TestReadingBackGoesOn(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.change("mounting", "set", "default", "readBack", "always")
		for i := range 4 {
			s.put(alice(), fmt.Sprintf("/single/%d", i), 1000)
		}
		s.session()
		m := s.readsBack("d1", "AAA001")
		jobs := s.jobs(m)
		// The second one was late for a reason that is not the tape's.
		s.done(m, true, []tapeapi.Work{jobs[0], jobs[2]}, tapeapi.Failure{Job: jobs[1].JobKey, Error: "the drive is hot"})
		if first := s.tape("AAA001").UnreadFSeq; first != 2 {
			t.Errorf("file %d is the first that was not read back", first)
		}
		s.good(second(s.tier.Stager.Evict(s.Context(), admin(), "/single/0")))
		s.wantKind("behind a gap", second(s.tier.Stager.Evict(s.Context(), admin(), "/single/2")), errs.Conflict)
		if m := s.ask("d1"); m.Job == tapeapi.Verify {
			t.Errorf("at once: %+v", m)
		}
		s.loaded("d1", "")
		s.start()
		m = s.readsBack("d2", "AAA001")
		if jobs = s.jobs(m); len(jobs) != 3 {
			t.Fatalf("%+v", jobs)
		}
		s.done(m, false, jobs)
		s.done(m, true, jobs)
		s.good(second(s.tier.Stager.Evict(s.Context(), admin(), "/single/2")))
		if first := s.tape("AAA001").UnreadFSeq; first != 0 {
			t.Errorf("file %d waits", first)
		}
	})
}

// A copy that cannot be read back is none: the file is archived again, and its tape is put aside.
func TestACopyThatCannotBeReadBack(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.change("mounting", "set", "default", "readBack", "1")
		s.put(alice(), "/single/f", 1000)
		s.put(alice(), "/single/g", 1000)
		s.session()
		m := s.readsBack("d1", "AAA001")
		jobs := s.jobs(m)
		bad := tapeapi.Failure{Job: jobs[0].JobKey, Error: "its checksum is another one", Copy: true}
		s.done(m, false, nil, bad)
		s.done(m, true, nil, bad) // an answer that was lost
		if e := s.stat("/single/f"); len(e.Tape) != 0 || len(e.Pieces) == 0 || s.waiting(tapeapi.Archive) != 1 {
			t.Errorf("%+v", e)
		}
		if tape := s.tape("AAA001"); tape.State != tapeapi.Disabled || !strings.Contains(tape.Reason, "could not be read back in drive d1") || tape.Files != 1 {
			t.Errorf("%+v", tape)
		}
		s.wantKind("evict", second(s.tier.Stager.Evict(s.Context(), admin(), "/single/f")), errs.Conflict)
	})
}

// A file whose disks are lost is not taken from a copy that was never read back: its pieces may be all there is.
func TestDisksAreNotGivenUpForAnUnreadCopy(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.change("mounting", "set", "default", "readBack", "always")
		e := s.put(alice(), "/single/f", 1000)
		s.session()
		begun, err := s.tier.Stager.Instead(s.Context(), alice(), s.stat("/single/f"))
		if err != nil || begun || len(e.Pieces) == 0 {
			t.Errorf("%t, %v", begun, err)
		}
		m := s.readsBack("d1", "AAA001")
		s.done(m, true, s.jobs(m))
		if begun, err = s.tier.Stager.Instead(s.Context(), alice(), s.stat("/single/f")); err != nil || !begun {
			t.Errorf("%t, %v", begun, err)
		}
	})
}

// A release that comes before the file was read back, or archived, is done when it was, also in the manager's next life; a request since keeps the file.
func TestAReleaseIsNotForgotten(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.change("mounting", "set", "default", "readBack", "always")
		for _, file := range []string{"/single/early", "/single/late", "/single/again", "/single/kept", "/single/strange"} {
			s.put(alice(), file, 1000)
		}
		good := func(who hemera.Identity, file string) {
			t.Helper()
			failed, err := s.tier.Stager.Release(s.Context(), who, "", []string{file})
			s.good(err)
			s.good(failed[0])
		}
		s.good(s.tree.Tree.SetMode(s.Context(), alice(), "/single/strange", 0o644))
		good(alice(), "/single/early")
		s.session()
		good(alice(), "/single/late")
		good(alice(), "/single/again")
		good(bob(), "/single/strange") // which is not bob's to let go
		id := stageOf(s, alice(), "/single/again")
		s.loaded("d1", "")
		s.start()
		m := s.readsBack("d1", "AAA001")
		s.done(m, true, s.jobs(m))
		for file, gone := range map[string]bool{"/single/early": true, "/single/late": true, "/single/again": false, "/single/kept": false, "/single/strange": false} {
			if s.onTapeOnly(file) != gone {
				t.Errorf("%s: %+v", file, s.stat(file))
			}
		}
		if e := s.stat("/single/late"); e.Xattrs[hemera.AttrReleased] != nil {
			t.Error("a file on tape only is to be let go")
		}
		s.good(released(s, alice(), id, "/single/again"))
		if !s.onTapeOnly("/single/again") {
			t.Error("released, and on disk")
		}
	})
}

// Disk copies that a tape's return lets go go in the manager's next life, if it ends in between.
func TestWhatWasReadBackIsNotForgotten(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.good(s.tree.Tree.SetXattr(s.Context(), admin(), "/single", hemera.AttrDropOnArchive, []byte("1"), false))
		s.change("mounting", "set", "default", "readBack", "always")
		s.put(alice(), "/single/f", 1000)
		s.session()
		s.good(s.tree.Parts().Tapes.ReadBack(s.Context(), "AAA001", 2))
		s.start()
		s.sweep(time.Minute) // no library has said what it has
		if s.onTapeOnly("/single/f") || s.tape("AAA001").ReturnFSeq != 1 {
			t.Errorf("%+v", s.tape("AAA001"))
		}
		s.sweep(time.Minute)
		if tape := s.tape("AAA001"); !s.onTapeOnly("/single/f") || tape.ReturnFSeq != 0 {
			t.Errorf("%+v", tape)
		}
		// A look that began before the tape came back once more ends nothing.
		s.good(s.tree.Parts().Tapes.ChangeTape(s.Context(), "AAA001", func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
			tape := *old
			catalogue.Return(&tape, 7)
			catalogue.Return(&tape, 9)
			return &tape, nil
		}))
		was := s.tape("AAA001")
		s.good(s.tree.Parts().Tapes.Returned(s.Context(), "AAA001", was.Returns-1))
		if now := s.tape("AAA001"); was.ReturnFSeq != 7 || now.ReturnFSeq != 7 {
			t.Errorf("%+v, then %+v", was, now)
		}
	})
}
