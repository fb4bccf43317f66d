package tier_test

import (
	"strings"
	"testing"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// bad is the node of a server that says what is not so.
const bad = hemera.NodeID(9)

// A server cannot say anything of tapes, drives and mounts that are not those of its library.
func TestAServerSpeaksForItsLibraryOnly(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.put(alice(), "/double/g", 1000)
		s.tier.Servers.ReportLibrary(bad, tapeapi.Library{Name: "bad", VIDs: map[hemera.VID]string{"AAA001": "LTO-9", "CCC001": "LTO-9"},
			Drives: []tapeapi.DriveState{{Name: "b1", Media: []string{"LTO-9"}}}})
		done := func(r tapeapi.Results) error { return s.tier.Results.TapeDone(s.Context(), bad, r) }
		s.wantKind("a problem of another's tape", done(tapeapi.Results{VID: "AAA001", Problem: "burnt"}), errs.Denied)
		s.wantKind("another's tape is full", done(tapeapi.Results{VID: "BBB001", Full: true}), errs.Denied)
		s.wantKind("a drive of another", done(tapeapi.Results{VID: "CCC001", Session: tapeapi.Session{Drive: "d1"}}), errs.Denied)
		s.wantKind("a node without a library", s.tier.Results.TapeDone(s.Context(), 10, tapeapi.Results{VID: "AAA001", Full: true}), errs.Unavailable)
		// Jobs and mounts of another.
		m := s.mount("d1", tapeapi.Archive)
		jobs := s.jobs(m)
		if len(jobs) != 2 {
			t.Fatalf("%+v", jobs)
		}
		r := s.written(m, jobs)
		s.wantKind("what another's mount wrote", done(r), errs.Denied)
		s.wantKind("jobs of another's mount", second(s.tier.Jobs.TapeJobs(s.Context(), bad, tapeapi.JobsRequest{Mount: m.ID})), errs.NotFound)
		s.wantKind("a grant of another's mount", second(s.tier.Jobs.TapeGrant(s.Context(), bad, m.ID, jobs[0].JobKey)), errs.NotFound)
		if m := s.other(bad, "b1"); m.Kind != tapeapi.MountNothing {
			t.Errorf("the other library mounts %+v", m)
		}
		if tape := s.tape("AAA001"); tape.State != tapeapi.Active || tape.Full || tape.LastFSeq != 0 {
			t.Errorf("%+v", tape)
		}
		if a := strings.Join(s.attention(), "; "); !strings.Contains(a, "cartridge AAA001 is reported by the libraries lib, which is believed, and bad") {
			t.Error(a)
		}
	})
}

// A mount reports its own tape and drive, and what it was given; other files that it says it wrote are no copies.
func TestAMountReportsWhatItWasGiven(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		m := s.mount("d1", tapeapi.Archive)
		jobs := s.jobs(m)
		later := s.put(alice(), "/single/later", 1000)
		key := tapeapi.JobKey{File: later.ID, Kind: tapeapi.Archive, Copy: 1}
		s.wantKind("a grant for what it was not given", second(s.tier.Jobs.TapeGrant(s.Context(), server, m.ID, key)), errs.Denied)
		s.good(second(s.tier.Jobs.TapeGrant(s.Context(), server, m.ID, jobs[0].JobKey)))
		r := s.written(m, jobs)
		other := r
		other.VID = "BBB001"
		s.wantKind("another tape", s.tier.Results.TapeDone(s.Context(), server, other), errs.Denied)
		other = r
		other.Session.Drive = "d2"
		s.wantKind("another drive", s.tier.Results.TapeDone(s.Context(), server, other), errs.Denied)
		r.Written = append(r.Written, tapeapi.Written{Job: key, ArchiveID: later.ArchiveID(), FSeq: 2, Size: 1000})
		s.good(s.tier.Results.TapeDone(s.Context(), server, r))
		if e := s.stat("/single/f"); len(e.Tape) != 1 {
			t.Errorf("%+v", e)
		}
		if e := s.stat("/single/later"); len(e.Tape) != 0 || s.waiting(tapeapi.Archive) != 1 || s.tape("AAA001").LastFSeq != 2 {
			t.Errorf("a file that no session was given has a copy, or is forgotten: %+v", e)
		}
	})
}

// What was written and is not the file is no copy: the file is archived again, and fails where people see it.
func TestAWrongContentIsNoCopy(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		for range 4 {
			m := s.ask("d1")
			for m.Kind != tapeapi.MountWork { // until the next attempt is due
				if m.Kind == tapeapi.MountUnload {
					s.loaded("d1", "")
				}
				m = s.ask("d1")
			}
			s.loaded("d1", m.VID)
			r := s.written(m, s.jobs(m))
			r.Written[0].Size = 999
			s.good(s.tier.Results.TapeDone(s.Context(), server, r))
			if e := s.stat("/single/f"); len(e.Tape) != 0 || !strings.Contains(string(e.Xattrs[hemera.AttrArchiveError]), "another size") {
				t.Fatalf("%+v", e)
			}
		}
		if a := s.attention(); len(a) != 1 || a[0] != "archive default 1 jobs have failed" {
			t.Errorf("%q", a)
		}
	})
}

// Names of libraries and drives are unique: the first has them, until it is silent.
func TestNamesOfLibrariesAreUnique(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		for _, name := range []string{"lib", "other"} { // its own name is taken, and that of its drives
			twin := s.state
			twin.Name = name
			s.report()
			s.tier.Servers.ReportLibrary(bad, twin)
			if m := s.other(bad, "d1"); m.Kind != tapeapi.MountNothing {
				t.Errorf("%s: %+v", name, m)
			}
			if a := s.attention(); len(a) != 1 || !strings.Contains(a[0], "of this name") && !strings.Contains(a[0], "are unique") {
				t.Errorf("%q", a)
			}
		}
		s.mount("d1", tapeapi.Archive)
		// The first server falls silent, as one does that was joined again as another node.
		time.Sleep(time.Minute)
		twin := s.state
		twin.Drives[0].VID = ""
		s.tier.Servers.ReportLibrary(bad, twin)
		if m := s.other(bad, "d1"); m.Kind != tapeapi.MountWork {
			t.Errorf("after the first is gone: %+v", m)
		}
	})
}

// other returns the work that an idle drive of another node gets.
func (s *site) other(node hemera.NodeID, drive string) tapeapi.Mount {
	s.Helper()
	m, err := s.tier.Drives.NextMount(s.Context(), node, drive)
	s.good(err)
	return m
}
