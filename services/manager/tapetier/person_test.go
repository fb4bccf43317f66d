package tapetier_test

import (
	"strings"
	"testing"

	"hemera"
	"hemera/errs"
)

// A pool without tapes takes an empty one of its supply pool when it is to write; without any the list for people says what to type.
func TestSupplyPools(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.change("pool", "add", "stock")
		s.change("tape", "set", "AAA001", "tapepool", "stock")
		s.put(alice(), "/single/f", 1000)
		if m := s.ask("d1"); m.Kind != hemera.MountNothing {
			t.Errorf("%+v", m)
		}
		p, err := s.tier.TapePicture(s.Context())
		if err != nil || len(p.Attention) != 1 || p.Attention[0].Subject != "archive to pool default" || p.Attention[0].Command != "hemera tape tape add VID tapepool=default" {
			t.Errorf("%+v, %v", p.Attention, err)
		}
		s.change("pool", "set", "default", "supply", "stock")
		if m := s.mount("d1", hemera.TapeArchive); m.VID != "AAA001" || s.tape("AAA001").Pool != "default" {
			t.Errorf("%+v, of pool %s", m, s.tape("AAA001").Pool)
		}
		if a := s.attention(); len(a) != 0 {
			t.Errorf("%q", a)
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
		s.wantKind("without a reason", s.tier.ChangeTape(s.Context(), "ada", hemera.TapeChange{Object: "tape", Verb: "set", Name: "AAA001",
			Values: map[string]string{"state": "EXPORTED"}}), errs.Invalid)
		s.change("tape", "set", "AAA001", "state", "EXPORTED", "stateReason", "in the vault")
		if m := s.mount("d1", hemera.TapeRecall); m.VID != "BBB001" || len(s.jobs(m)) != 1 {
			t.Errorf("%+v", m)
		}
		if why := string(s.stat("/single/f").Xattrs[hemera.AttrRecallError]); why != "tape AAA001 is EXPORTED, and no other copy can be read" {
			t.Errorf("%q", why)
		}
		if a := strings.Join(s.attention(), "; "); !strings.Contains(a, "recall AAA001 1 jobs have failed") {
			t.Error(a)
		}
		s.put(alice(), "/single/h", 1000)
		if m := s.ask("d2"); m.Kind != hemera.MountNothing {
			t.Errorf("an exported tape is written: %+v", m)
		}
		// It comes back.
		s.change("tape", "set", "AAA001", "state", "ACTIVE")
		if said, err := s.tier.OrderTape(s.Context(), "ada", hemera.TapeOrder{Kind: hemera.OrderRetry}); err != nil || said != "1 jobs" {
			t.Errorf("%q, %v", said, err)
		}
		s.mount("d2", hemera.TapeArchive)
	})
}

// What is asked for a name: drives, tapes, pools and libraries say what they do, and a name that nothing has is an error.
func TestWhyOfANameThatNothingHas(t *testing.T) {
	at(t, func(s *site) {
		for name, want := range map[string]string{"d1": "nothing waits", "AAA001": "in pool default", "default": "nothing waits for it", "lib": "library lib of node 7 has 2 drives and 2 cartridges, and works"} {
			lines, err := s.tier.ExplainTape(s.Context(), name)
			if text := strings.Join(lines, "; "); err != nil || !strings.Contains(text, want) {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		}
		s.wantKind("no name", second(s.tier.ExplainTape(s.Context(), "d9")), errs.NotFound)
		// A library that was found can be set, without an object of it.
		s.change("library", "set", "lib", "isDisabled", "true", "disabledReason", "moved")
		lines, err := s.tier.ExplainTape(s.Context(), "lib")
		if text := strings.Join(lines, "; "); err != nil || !strings.Contains(text, "it is disabled: moved (hemera tape library up lib)") {
			t.Errorf("%q, %v", text, err)
		}
		s.wantKind("another library", s.tier.ChangeTape(s.Context(), "ada", hemera.TapeChange{Object: "library", Verb: "set", Name: "lib9"}), errs.NotFound)
	})
}
