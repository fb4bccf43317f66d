package tier_test

import (
	"strings"
	"testing"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// unread are the states of a tape that nobody can read.
var unread = []string{"DISABLED", "BROKEN", "EXPORTED"}

// TestDiskCopiesStayWhileTheTapeCannotBeRead: an admin, a release and a damaged file remove none. They go when it can be read again.
func TestDiskCopiesStayWhileTheTapeCannotBeRead(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.archive()
		for _, state := range unread {
			s.change("tape", "set", "AAA001", "state", state, "stateReason", "torn")
			err := second(s.tier.Stager.Evict(s.Context(), admin(), "/single/f"))
			s.wantKind(state, err, errs.Conflict)
			if err == nil || !strings.Contains(err.Error(), "tape AAA001 is "+state+" (torn)") || !strings.Contains(errs.RemedyOf(err), "hemera tape tape set AAA001 state=ACTIVE") {
				t.Errorf("%s: %v; %s", state, err, errs.RemedyOf(err))
			}
			failed, err := s.tier.Stager.Release(s.Context(), alice(), "", []string{"/single/f"})
			s.good(err)
			s.good(failed[0])
			if begun, err := s.tier.Stager.Instead(s.Context(), alice(), s.stat("/single/f")); begun || err != nil {
				t.Errorf("%s: recalled %v, %v", state, begun, err)
			}
			if s.onTapeOnly("/single/f") {
				t.Fatalf("%s: no disk copy is left", state)
			}
			s.change("tape", "set", "AAA001", "state", "ACTIVE")
		}
		s.good(second(s.tier.Stager.Evict(s.Context(), admin(), "/single/f")))
	})
}

// TestDiskCopiesStayUntilALibraryIsHeardOf: a manager that starts does not know which cartridges were taken out.
func TestDiskCopiesStayUntilALibraryIsHeardOf(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.archive()
		s.start()
		err := second(s.tier.Stager.Evict(s.Context(), admin(), "/single/f"))
		if s.wantKind("after a start", err, errs.Conflict); !strings.Contains(err.Error(), "no library has said which cartridges it has") || errs.RemedyOf(err) == "" {
			t.Error(err, errs.RemedyOf(err))
		}
		s.report()
		s.good(second(s.tier.Stager.Evict(s.Context(), admin(), "/single/f")))
	})
}

// TestDropDiskCopiesWaitsForAReadableTape: a report that comes after its tape was put aside drops nothing.
func TestDropDiskCopiesWaitsForAReadableTape(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.good(s.tree.Tree.SetXattr(s.Context(), admin(), "/single", hemera.AttrDropOnArchive, []byte("1"), false))
		s.put(alice(), "/single/f", 1000)
		m := s.mount("d1", tapeapi.Archive)
		report := s.written(m, s.jobs(m))
		s.change("tape", "set", "AAA001", "state", "BROKEN", "stateReason", "torn")
		s.good(s.tier.Results.TapeDone(s.Context(), server, report))
		if e := s.stat("/single/f"); e.Evicted() || len(e.Tape) != 1 {
			t.Errorf("%+v", e)
		}
	})
}

// TestADamagedFileComesFromItsOtherTape: one copy that can be read brings it back, and is not enough for an eviction.
func TestADamagedFileComesFromItsOtherTape(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/double/f", 1000)
		s.archive()
		s.change("tape", "set", "AAA001", "state", "BROKEN", "stateReason", "torn")
		s.wantKind("one of two copies", second(s.tier.Stager.Evict(s.Context(), admin(), "/double/f")), errs.Conflict)
		if begun, err := s.tier.Stager.Instead(s.Context(), alice(), s.stat("/double/f")); !begun || err != nil || !s.onTapeOnly("/double/f") {
			t.Errorf("recalled %v, %v", begun, err)
		}
	})
}

// TestAnOpenOfWhatNoTapeGives: the open fails with an I/O error that names the tape, as the file exists.
func TestAnOpenOfWhatNoTapeGives(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		s.change("tape", "set", "AAA001", "state", "BROKEN", "stateReason", "torn")
		err := s.tier.Stager.OnOpen(s.Context(), alice(), s.stat("/single/f"), "/single/f")
		s.wantKind("broken", err, errs.IO)
		if err == nil || !strings.Contains(err.Error(), "/single/f") || !strings.Contains(err.Error(), "tape AAA001 is BROKEN (torn)") {
			t.Error(err)
		}
		if why := s.explained("/single/f"); !strings.Contains(why, "copy 1 cannot be read: tape AAA001 is BROKEN (torn)") {
			t.Error(why)
		}
	})
}

// TestWhereAFileIsThatNoTapeGives: the answer to a client has the reason. A request that waits for a disabled tape has it in what it waits for.
func TestWhereAFileIsThatNoTapeGives(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		where := func() tapeapi.Locality {
			at, err := s.tier.Stager.Localities(s.Context(), alice(), "", []string{"/single/f"})
			s.good(err)
			return at[0]
		}
		if l := where(); l.Error != "" {
			t.Errorf("%+v", l)
		}
		for _, state := range unread {
			s.change("tape", "set", "AAA001", "state", state, "stateReason", "torn")
			if l := where(); l.Error != "tape AAA001 is "+state+" (torn)" || !l.OnTape {
				t.Errorf("%+v", l)
			}
			s.change("tape", "set", "AAA001", "state", "ACTIVE")
		}
		s.change("tape", "set", "AAA001", "state", "DISABLED", "stateReason", "torn")
		id := stageOf(s, alice(), "/single/f")
		if l := where(); l.Error != "" || !l.Requested || !strings.Contains(l.Why, "DISABLED") {
			t.Errorf("%+v", l)
		}
		// A client that opens it waits, and is told for what: nothing brings the file to disk.
		err := s.tier.Stager.OnOpen(s.Context(), alice(), s.stat("/single/f"), "/single/f")
		if s.wantKind("an open", err, errs.Unavailable); !strings.Contains(err.Error(), "waits: tape AAA001 is DISABLED (torn)") || !strings.Contains(errs.RemedyOf(err), "AAA001") {
			t.Errorf("%v; %s", err, errs.RemedyOf(err))
		}
		if st, err := s.tier.Stager.StageStatus(s.Context(), alice(), id); err != nil || !st.Ended.IsZero() {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

// TestADirectoryIsNotArchived: the kind says what it is, so that a command can say what to type.
func TestADirectoryIsNotArchived(t *testing.T) {
	at(t, func(s *site) {
		s.wantKind("a directory", second(s.tier.Stager.ArchiveNow(s.Context(), admin(), "/single", "default")), errs.IsDirectory)
	})
}

// TestDropDiskCopiesWhenTheTapeIsBack: what stayed as the tape could not be read goes then. What somebody staged stays, and so do files of other
// directories.
func TestDropDiskCopiesWhenTheTapeIsBack(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/stays", 1000)
		s.archive()
		_, err := s.tree.Tree.Mkdir(s.Context(), admin(), "/single/drop", 0o777, true)
		s.good(err)
		s.good(s.tree.Tree.SetXattr(s.Context(), admin(), "/single/drop", hemera.AttrDropOnArchive, []byte("1"), false))
		s.put(alice(), "/single/drop/f", 1000)
		s.put(alice(), "/single/drop/staged", 1000)
		m := s.mount("d1", tapeapi.Archive)
		report := s.written(m, s.jobs(m))
		s.change("tape", "set", "AAA001", "state", "DISABLED", "stateReason", "odd")
		s.good(s.tier.Results.TapeDone(s.Context(), server, report))
		stageOf(s, alice(), "/single/drop/staged")
		s.later(time.Minute)
		if s.onTapeOnly("/single/drop/f") {
			t.Fatal("dropped while its tape cannot be read")
		}
		s.change("tape", "set", "AAA001", "state", "ACTIVE")
		s.later(time.Minute)
		if !s.onTapeOnly("/single/drop/f") || s.onTapeOnly("/single/drop/staged") || s.onTapeOnly("/single/stays") {
			t.Errorf("%v %v %v", s.onTapeOnly("/single/drop/f"), s.onTapeOnly("/single/drop/staged"), s.onTapeOnly("/single/stays"))
		}
	})
}

// TestDiskCopiesStayWhileTheCartridgeIsAway: a tape that no library has is none to rely on, and people hear of it. A server that is away for a while
// has its cartridges still.
func TestDiskCopiesStayWhileTheCartridgeIsAway(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.archive()
		media := s.state.VIDs["AAA001"]
		s.state.VIDs = map[hemera.VID]string{"AAA002": media}
		s.loaded("d1", "")
		s.report()
		err := second(s.tier.Stager.Evict(s.Context(), admin(), "/single/f"))
		s.wantKind("away", err, errs.Conflict)
		if err == nil || !strings.Contains(err.Error(), "tape AAA001 is in no library") {
			t.Error(err)
		}
		if begun, err := s.tier.Stager.Instead(s.Context(), alice(), s.stat("/single/f")); begun || err != nil || s.onTapeOnly("/single/f") {
			t.Errorf("recalled %v, %v", begun, err)
		}
		s.needs("has files and is in no library")
		s.state.VIDs["AAA001"] = media
		s.report()
		time.Sleep(10 * time.Minute) // the server is silent
		s.good(second(s.tier.Stager.Evict(s.Context(), admin(), "/single/f")))
	})
}
