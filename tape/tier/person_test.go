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

// A pool without tapes takes an empty one of its supply pool when it is to write; without any the list for people says what to type.
func TestSupplyPools(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.change("pool", "add", "stock")
		s.change("tape", "set", "AAA001", "tapepool", "stock")
		s.put(alice(), "/single/f", 1000)
		if m := s.ask("d1"); m.Kind != tapeapi.MountNothing {
			t.Errorf("%+v", m)
		}
		p, err := s.tier.Reports.TapePicture(s.Context())
		if err != nil || len(p.Attention) != 1 || p.Attention[0].Subject != "archive to pool default" || p.Attention[0].Command != "hemera tape tape add VID tapepool=default" {
			t.Errorf("%+v, %v", p.Attention, err)
		}
		s.change("pool", "set", "default", "supply", "stock")
		if m := s.mount("d1", tapeapi.Archive); m.VID != "AAA001" || s.tape("AAA001").Pool != "default" {
			t.Errorf("%+v, of pool %s", m, s.tape("AAA001").Pool)
		}
		if a := s.attention(); len(a) != 0 {
			t.Errorf("%q", a)
		}
	})
}

// A pool whose tapes only wait for a scan needs the scan, and no tape.
func TestAPoolWhoseTapesWaitForAScan(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.good(s.tree.Parts().Tapes.ChangeTape(s.Context(), "AAA001", func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
			now := *old
			now.Doubt = "for a test"
			return &now, nil
		}))
		s.put(alice(), "/single/f", 1000)
		p, err := s.tier.Reports.TapePicture(s.Context())
		s.good(err)
		if a := p.Attention[0]; a.Command != "hemera tape scan --needed" || !strings.Contains(a.What, "1 tape of pool default may be written after a scan") {
			t.Errorf("%+v", p.Attention)
		}
	})
}

// A tape that left the library for good: recalls go to another copy, and those without one fail at once, with the reason.
func TestAnExportedTape(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		s.evicted("/double/g")
		stageOf(s, alice(), "/single/f")
		stageOf(s, alice(), "/double/g")
		s.wantKind("without a reason", s.tier.Config.ChangeTape(s.Context(), "ada", adminapi.TapeChange{Object: "tape", Verb: "set", Name: "AAA001",
			Values: map[string]string{"state": "EXPORTED"}}), errs.Invalid)
		s.change("tape", "set", "AAA001", "state", "EXPORTED", "stateReason", "in the vault")
		if m := s.mount("d1", tapeapi.Recall); m.VID != "BBB001" || len(s.jobs(m)) != 1 {
			t.Errorf("%+v", m)
		}
		if why := string(s.stat("/single/f").Xattrs[hemera.AttrRecallError]); why != "tape AAA001 is EXPORTED, and no other copy can be read" {
			t.Errorf("%q", why)
		}
		if a := strings.Join(s.attention(), "; "); !strings.Contains(a, "recall AAA001 1 jobs have failed") {
			t.Error(a)
		}
		s.put(alice(), "/single/h", 1000)
		if m := s.ask("d2"); m.Kind != tapeapi.MountNothing {
			t.Errorf("an exported tape is written: %+v", m)
		}
		// It comes back.
		s.change("tape", "set", "AAA001", "state", "ACTIVE")
		if said, err := s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderRetry}); err != nil || said != "1 jobs" {
			t.Errorf("%q, %v", said, err)
		}
		s.mount("d2", tapeapi.Archive)
	})
}

// What is asked for a name: drives, tapes, pools and libraries say what they do, and a name that nothing has is an error.
func TestWhyOfANameThatNothingHas(t *testing.T) {
	at(t, func(s *site) {
		for name, want := range map[string]string{"d1": "nothing waits", "AAA001": "in pool default", "default": "nothing waits for it", "lib": "library lib of node 7 has 2 drives and 2 cartridges, and works"} {
			lines, err := s.tier.Reports.ExplainTape(s.Context(), name)
			if text := strings.Join(lines, "; "); err != nil || !strings.Contains(text, want) {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		}
		s.wantKind("no name", second(s.tier.Reports.ExplainTape(s.Context(), "d9")), errs.NotFound)
		// A library that was found can be set, without an object of it.
		s.change("library", "set", "lib", "isDisabled", "true", "disabledReason", "moved")
		lines, err := s.tier.Reports.ExplainTape(s.Context(), "lib")
		if text := strings.Join(lines, "; "); err != nil || !strings.Contains(text, "it is disabled: moved (hemera tape library up lib)") {
			t.Errorf("%q, %v", text, err)
		}
		s.wantKind("another library", s.tier.Config.ChangeTape(s.Context(), "ada", adminapi.TapeChange{Object: "library", Verb: "set", Name: "lib9"}), errs.NotFound)
	})
}

// A queue that no drive serves until a person does something is in the list with the command, and has no estimate.
func TestQueuesThatWaitForAPerson(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		none := func(what string) {
			if a := s.attention(); len(a) != 0 {
				s.Errorf("%s: %q", what, a)
			}
		}
		command := func(text, want string) {
			s.needs(text)
			p, err := s.tier.Reports.TapePicture(s.Context())
			s.good(err)
			if len(p.Attention) != 1 || p.Attention[0].Command != want || len(p.Queues) != 1 || !p.Queues[0].Estimate.IsZero() {
				s.Errorf("%s: %+v, %+v", text, p.Attention, p.Queues)
			}
		}
		none("it can begin")
		s.change("organisation", "set", "default", "writeMaxDrives", "0")
		command("1 file waits: organisation default writes with 0 of 0 drives", "hemera tape organisation set default writeMaxDrives=1")
		if why := s.explained("/single/f"); strings.Contains(why, "it may begin at") {
			s.Error(why)
		}
		s.change("organisation", "set", "default", "writeMaxDrives", "1")
		none("a limit")
		s.change("drive", "set", "d1", "desired", "down", "reason", "dust")
		none("one of two drives")
		s.change("drive", "set", "d2", "desired", "down", "reason", "dust")
		command("1 file waits: drives d1, d2 are down", "hemera tape drive up d1")
		// What a drive has by itself is a line of its own.
		s.change("drive", "set", "all", "desired", "up")
		s.state.Drives[0].Problem, s.state.Drives[1].Problem = "it is stuck", "it is stuck"
		s.report()
		if a := s.attention(); len(a) != 2 || !strings.HasPrefix(a[0], "drive d1 it is stuck") {
			s.Errorf("%q", a)
		}
		s.state.Drives[0].Problem, s.state.Drives[1].Problem = "", ""
		s.report()
		s.change("library", "set", "lib", "isDisabled", "true", "disabledReason", "moved")
		command("1 file waits: library lib is disabled: moved", "hemera tape library up lib")
		s.change("library", "set", "lib", "isDisabled", "false")
		none("all is well again")
	})
}

// A tape tells of its orders that wait for a drive.
func TestWhyOfATapeWithOrders(t *testing.T) {
	at(t, func(s *site) {
		s.change("drive", "set", "all", "desired", "down", "reason", "dust")
		for _, o := range []adminapi.TapeOrder{{Kind: adminapi.OrderLabel, Subject: "AAA001"}, {Kind: adminapi.OrderScan, Subject: "AAA001"}} {
			_, err := s.tier.Orders.OrderTape(s.Context(), "ada", o)
			s.good(err)
		}
		why := s.explained("AAA001")
		for _, want := range []string{"it is to be labelled, as ada ordered at", "it is to be scanned, as ada ordered at", "hemera tape cancel AAA001"} {
			if !strings.Contains(why, want) {
				t.Errorf("%q is not in %q", want, why)
			}
		}
		_, err := s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderStopTape, Subject: "AAA001"})
		s.good(err)
		if why = s.explained("AAA001"); strings.Contains(why, "ordered") {
			t.Error(why)
		}
	})
}

// A drive that gives its tape back can do nothing else until it has.
func TestWhyOfADriveThatUnloads(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.loaded("d1", "BBB001")
		s.put(alice(), "/single/f", 1000)
		s.state.Drives[0].Status = tapeapi.DriveUnmounting
		s.change("drive", "set", "d2", "desired", "down", "reason", "dust")
		s.report()
		if why := s.explained("/single/f"); !strings.Contains(why, "drive d1 gives its tape BBB001 back, and can begin then") || strings.Contains(why, "is idle") {
			t.Error(why)
		}
	})
}

// TestARecallThatFailsAgainIsToldOf: after its second attempt, while it goes on by itself: a user waits for it.
func TestARecallThatFailsAgainIsToldOf(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		stageOf(s, alice(), "/single/f")
		for attempt, want := range []string{"", "tape AAA001 1 recall waits for its next attempt, the first one has failed 2 times: tape AAA001 could not be read in drive d1: bad block"} {
			m := s.mount("d1", tapeapi.Recall)
			s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true,
				Failed: []tapeapi.Failure{{Job: s.jobs(m)[0].JobKey, Error: "bad block", Copy: true}}}))
			s.loaded("d1", "")
			if a := strings.Join(s.attention(), "\n"); a != want {
				t.Errorf("attempt %d: what needs a person is %q", attempt+1, a)
			}
			time.Sleep(time.Minute)
			s.report()
		}
	})
}
