package tier_test

import (
	"strings"
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// rows returns the drives as lists have them, and the conditions of the libraries that need a person.
func (s *site) rows() (drives []string, attention string) {
	s.Helper()
	p, err := s.tier.Reports.TapePicture(s.Context())
	s.good(err)
	for _, d := range p.Drives {
		drives = append(drives, d.Name+" "+string(d.Status)+" "+d.Problem)
	}
	return drives, strings.Join(s.attention(), "; ")
}

// A server that is silent, or has said that it ends, has no drive that is up, and what helps is told everywhere.
func TestDrivesOfAServerThatIsGone(t *testing.T) {
	at(t, func(s *site) {
		s.state.Drives[0].Status, s.state.Drives[1].Status = tapeapi.DriveUp, "UP"
		s.report()
		time.Sleep(40 * time.Second)
		gone := func(why string) {
			drives, attention := s.rows()
			if len(drives) != 2 || drives[0] != "d1 DOWN its server, node 7, "+why {
				t.Errorf("%s: %q", why, drives)
			}
			if !strings.Contains(attention, why) {
				t.Errorf("%s: %s", why, attention)
			}
			for _, name := range []string{"d1", "lib"} {
				lines, err := s.tier.Reports.ExplainTape(s.Context(), name)
				if text := strings.Join(lines, "; "); err != nil || !strings.Contains(text, why) || !strings.Contains(text, "hemera node rm 7") || strings.Contains(text, "drive up") {
					t.Errorf("why %s: %q, %v", name, text, err)
				}
			}
		}
		gone("has been silent for 40s")
		s.report()
		if drives, _ := s.rows(); drives[0] != "d1 UP " {
			t.Errorf("it is back: %q", drives)
		}
		s.state.Ended = true
		s.report()
		gone("has ended")
		// Its names are free at once, for a server that takes the library over.
		s.state.Ended = false
		s.tier.Servers.ReportLibrary(bad, s.state)
		if drives, attention := s.rows(); len(drives) != 2 || attention != "" {
			t.Errorf("%q, %s", drives, attention)
		}
	})
}

// A library goes with its node. Before that its removal is refused with what to type.
func TestALibraryGoesWithItsNode(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.archive()
		s.view = &hemera.View{Nodes: []hemera.NodeInfo{{ID: server}}}
		s.start()
		s.report()
		err := s.tier.Config.ChangeTape(s.Context(), "ada", adminapi.TapeChange{Object: "library", Verb: "remove", Name: "lib"})
		if s.wantKind("a library that is reported", err, errs.NotEmpty); !strings.Contains(errs.RemedyOf(err), "hemera node rm") {
			t.Error(errs.RemedyOf(err))
		}
		s.tier.Sweeper.EndLost()
		if drives, _ := s.rows(); len(drives) != 2 {
			t.Errorf("its node is there: %q", drives)
		}
		s.view.Nodes = nil
		s.tier.Sweeper.EndLost()
		// Nor are its cartridges there to rely on.
		if drives, attention := s.rows(); len(drives) != 0 || !strings.HasPrefix(attention, "tape AAA001 has files and is in no library") {
			t.Errorf("%q, %s", drives, attention)
		}
		s.wantKind("its tapes", second(s.tier.Stager.Evict(s.Context(), admin(), "/single/f")), errs.Conflict)
	})
}

// A file that was staged this moment waits for its tape, whatever part of a second it is.
func TestWhyOfAFileThatWasJustStaged(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		time.Sleep(1300 * time.Millisecond)
		stageOf(s, alice(), "/single/f")
		lines, err := s.tier.Reports.ExplainTape(s.Context(), "/single/f")
		if text := strings.Join(lines, "; "); err != nil || strings.Contains(text, "no job waits") || !strings.Contains(text, "can begin") {
			t.Errorf("%q, %v", text, err)
		}
		s.mount("d1", tapeapi.Recall)
	})
}

// A drive that a server reports is not removed; one that none reports any more is forgotten, with its being down.
func TestForgetADrive(t *testing.T) {
	at(t, func(s *site) {
		s.change("drive", "set", "d1", "desired", "down", "reason", "broken")
		remove := func(name string) error {
			return s.tier.Config.ChangeTape(s.Context(), "ada", adminapi.TapeChange{Object: "drive", Verb: "remove", Name: name})
		}
		err := remove("d1")
		if s.wantKind("a drive that is reported", err, errs.NotEmpty); !strings.Contains(err.Error(), "node 7 reports") || errs.RemedyOf(err) == "" {
			t.Error(err, errs.RemedyOf(err))
		}
		s.wantKind("no drive", remove("d9"), errs.NotFound)
		s.wantKind("all", remove("all"), errs.NotFound)
		s.state.Drives = s.state.Drives[1:]
		s.report()
		s.good(remove("d1"))
		s.wantKind("it is forgotten", remove("d1"), errs.NotFound)
		time.Sleep(time.Minute)
		s.good(remove("d2"))
		if drives, _ := s.rows(); len(drives) != 0 {
			t.Errorf("%q", drives)
		}
	})
}

// A class says where its copies go and what waits there, or which route is missing.
func TestWhyOfAClass(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/double/f", 1000)
		s.change("class", "add", "lost", "nbCopies", "1", "vo", "default")
		for name, want := range map[string][]string{
			"double": {"class double has 2 copies on tape", "copy 1 goes to pool default", "archive of 1 file waits for pool default", "copy 2 goes to pool second", "can begin"},
			"lost":   {"class lost has 1 copy on tape", "has no archive route (hemera tape route add lost/1 tapepool=POOL)"},
		} {
			lines, err := s.tier.Reports.ExplainTape(s.Context(), name)
			for _, part := range want {
				if text := strings.Join(lines, "; "); err != nil || !strings.Contains(text, part) {
					t.Errorf("%s lacks %q: %q, %v", name, part, text, err)
				}
			}
		}
	})
}

// The comment of a drive is shown, outlives a restart and a change of its state, and goes with the drive.
func TestTheCommentOfADrive(t *testing.T) {
	at(t, func(s *site) {
		comment := func() string {
			p, err := s.tier.Reports.TapePicture(s.Context())
			s.good(err)
			return p.Drives[0].Comment
		}
		set := func(values map[string]string) error {
			return s.tier.Config.ChangeTape(s.Context(), "ada", adminapi.TapeChange{Object: "drive", Verb: "set", Name: "d1", Values: values})
		}
		s.good(set(map[string]string{"comment": "new head in May"}))
		s.change("drive", "set", "d1", "desired", "down", "reason", "dust")
		s.start()
		s.report()
		p, err := s.tier.Reports.TapePicture(s.Context())
		if s.good(err); comment() != "new head in May" || p.Drives[0].Up || p.Drives[1].Comment != "" {
			t.Errorf("%+v", p.Drives)
		}
		// A comment says nothing of whether the drive shall work, and the other way round.
		s.good(set(map[string]string{"comment": ""}))
		if p, err = s.tier.Reports.TapePicture(s.Context()); err != nil || comment() != "" || p.Drives[0].Up {
			t.Errorf("%+v, %v", p.Drives, err)
		}
		for _, values := range []map[string]string{{}, {"vendor": "x"}, {"comment": "x", "desired": "sideways"}} {
			err := set(values)
			if s.wantKind("wrong", err, errs.Invalid); errs.RemedyOf(err) == "" {
				t.Errorf("%v has no remedy", values)
			}
		}
		s.good(set(map[string]string{"comment": "sold"}))
		state := s.state.Drives
		s.state.Drives = state[1:]
		s.report()
		s.good(s.tier.Config.ChangeTape(s.Context(), "ada", adminapi.TapeChange{Object: "drive", Verb: "remove", Name: "d1"}))
		s.state.Drives = state
		s.report()
		if comment() != "" {
			t.Errorf("of a drive that was forgotten: %q", comment())
		}
	})
}

// TestWhyNamesADriveThatHangs: of a file that it has, too.
func TestWhyNamesADriveThatHangs(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.jobs(s.mount("d1", tapeapi.Archive))
		s.state.Drives[0].Problem = "no answer to write for 3m0s"
		s.report()
		for _, subject := range []string{"d1", "/single/f"} {
			if why := s.explained(subject); !strings.Contains(why, "works") || !strings.Contains(why, "no answer to write for 3m0s") {
				t.Errorf("%s: %s", subject, why)
			}
		}
	})
}
