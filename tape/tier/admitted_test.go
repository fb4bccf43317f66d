package tier_test

import (
	"context"
	"strings"
	"testing"

	"hemera/tape/tier"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// leases are those of a cluster in which each node has one.
type leases struct{}

func (leases) Check(hemera.NodeID, hemera.Epoch) error { return nil }
func (leases) AwaitCurrent(context.Context) error      { return nil }
func (leases) AwaitNewest(context.Context) error       { return nil }
func (leases) Mark() []byte                            { return nil }

// calls returns all calls of a tape server, as a node makes them.
func calls(s *site, node hemera.NodeID, state tapeapi.Library) map[string]error {
	s.Helper()
	c := tier.Control{Tier: s.tier, Leases: leases{}}
	ctx := hemera.WithCaller(s.Context(), node)
	out := map[string]error{"ReportLibrary": c.ReportLibrary(ctx, node, 1, state)}
	_, out["NextMount"] = c.NextMount(ctx, node, 1, "x1")
	_, out["TapeJobs"] = c.TapeJobs(ctx, node, 1, tapeapi.JobsRequest{Mount: 1})
	_, out["TapeGrant"] = c.TapeGrant(ctx, node, 1, 1, tapeapi.JobKey{File: 1, Kind: tapeapi.Archive, Copy: 1})
	_, out["TapeDone"] = c.TapeDone(ctx, node, 1, tapeapi.Results{VID: "AAA001", Labelled: true})
	return out
}

// A node is a tape server by an admin's word: whatever else it asks, it is refused with the command that admits it.
func TestANodeIsNotATapeServerByItself(t *testing.T) {
	at(t, func(s *site) {
		state := s.state
		state.Name, state.Drives = "taken", []tapeapi.DriveState{{Name: "x1", Media: []string{"LTO-9"}}}
		for call, err := range calls(s, bad, state) {
			if errs.KindOf(err) != errs.Denied || !strings.Contains(errs.RemedyOf(err), "hemera tape server add 9") {
				t.Errorf("%s: %v", call, err)
			}
		}
		if !s.tape("AAA001").Labelled.IsZero() {
			t.Error("its results are believed")
		}
		if a := strings.Join(s.attention(), "; "); !strings.Contains(a, "node 9 wants to be the tape server of library taken") {
			t.Error(a)
		}
		s.change("server", "add", "9")
		s.good(calls(s, bad, state)["ReportLibrary"])
		if a := strings.Join(s.attention(), "; "); strings.Contains(a, "node 9 wants") {
			t.Error(a)
		}
		s.change("server", "remove", "9")
		s.wantKind("after it was removed", calls(s, bad, state)["NextMount"], errs.Denied)
	})
}

// The catalogue says which library a tape is in, and a server which library it has: another one gets either by an admin's word only, also while the
// first is silent, and after a restart.
func TestATapeIsInTheLibraryOfTheCatalogue(t *testing.T) {
	at(t, func(s *site) {
		s.change("server", "add", "9")
		c := tier.Control{Tier: s.tier, Leases: leases{}}
		ours := func(node hemera.NodeID, state tapeapi.Library) {
			s.Helper()
			s.good(c.ReportLibrary(hemera.WithCaller(s.Context(), node), node, 1, state))
		}
		s.change("server", "add", "7")
		ours(server, s.state)
		if tape := s.tape("AAA001"); tape.Library != "lib" {
			t.Fatalf("%+v", tape)
		}
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.start()
		c.Tier = s.tier
		// The other server has been silent since the start.
		twin := tapeapi.Library{Name: "bad", VIDs: map[hemera.VID]string{"AAA001": "LTO-9"}, Drives: []tapeapi.DriveState{{Name: "b1", Media: []string{"LTO-9"}}}}
		ours(bad, twin)
		if m := s.other(bad, "b1"); m.Kind != tapeapi.MountNothing {
			t.Errorf("it gets %+v", m)
		}
		s.wantKind("its results", s.tier.Results.TapeDone(s.Context(), bad, tapeapi.Results{VID: "AAA001", Full: true}), errs.Denied)
		if a := strings.Join(s.attention(), "; "); !strings.Contains(a, "cartridge AAA001 is in library bad, and the catalogue has it in lib") {
			t.Error(a)
		}
		// By the name of the other's library neither.
		twin.Name = "lib"
		ours(bad, twin)
		if m := s.other(bad, "b1"); m.Kind != tapeapi.MountNothing {
			t.Errorf("by the name of the other library it gets %+v", m)
		}
		twin.Name = "bad"
		s.change("tape", "set", "AAA001", "logicalLibrary", "bad")
		ours(bad, twin)
		if m := s.other(bad, "b1"); m.Kind != tapeapi.MountWork {
			t.Errorf("after an admin's word it gets %+v", m)
		}
	})
}
