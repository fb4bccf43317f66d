package tier_test

import (
	"strings"
	"testing"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Results count for the mount that a drive was given last, in this life of the manager or in one before. A server makes up no mounts.
func TestResultsAreOfAMountThatWasGiven(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		old := s.mount("d1", tapeapi.Archive) // the drive never did it, and asks again
		m := s.mount("d1", tapeapi.Archive)
		r := s.written(m, s.jobs(m))
		for _, life := range []string{"the same manager", "the next one"} {
			for what, id := range map[string]tapeapi.MountID{"no mount": 0, "one that nobody gave": m.ID + 1, "one that was replaced": old.ID} {
				made := r
				made.Mount = id
				s.wantKind(life+", "+what, s.tier.Results.TapeDone(s.Context(), server, made), errs.Conflict)
			}
			if e := s.stat("/single/f"); len(e.Tape) != 0 || s.tape("AAA001").LastFSeq != 0 {
				t.Fatalf("%s: a file has a copy that no mount has made: %+v", life, e)
			}
			s.start()
			s.report()
		}
		other := r
		other.VID = "BBB001"
		s.wantKind("another tape of the library", s.tier.Results.TapeDone(s.Context(), server, other), errs.Denied)
		other = tapeapi.Results{Mount: m.ID, VID: "BBB001", Problem: "burnt"}
		s.wantKind("a problem of another tape", s.tier.Results.TapeDone(s.Context(), server, other), errs.Denied)
		s.good(s.tier.Results.TapeDone(s.Context(), server, r))
		s.good(s.tier.Results.TapeDone(s.Context(), server, r)) // an answer that was lost
		if e := s.stat("/single/f"); len(e.Tape) != 1 || s.waiting(tapeapi.Archive) != 0 {
			t.Errorf("%+v", e)
		}
		// What such a mount read cannot have written.
		read := s.givenBefore(tapeapi.Recall, "AAA001")
		s.wantKind("a recall that writes", s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: read, VID: "AAA001", Written: r.Written}), errs.Denied)
	})
}

// A node that is removed while its drive writes may have written what nobody heard of: its tape is scanned before it is written again. A
// mount that ended has told everything.
func TestATapeOfARemovedNodeIsUnsure(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/double/f", 1000)
		var mounts []tapeapi.Mount
		for _, drive := range []string{"d1", "d2"} {
			mounts = append(mounts, s.mount(drive, tapeapi.Archive))
		}
		ended := s.written(mounts[1], s.jobs(mounts[1]))
		ended.Session.Drive = "d2"
		s.good(s.tier.Results.TapeDone(s.Context(), server, ended))
		s.view = &hemera.View{Nodes: []hemera.NodeInfo{{ID: server}}}
		s.start()
		s.good(s.tier.Sweeper.LeaveMounts(s.Context()))
		if doubt := s.tape(mounts[0].VID).Doubt; doubt != "" {
			t.Errorf("its node is there: %s", doubt)
		}
		s.view.Nodes = nil
		for range 2 {
			s.tier.Sweeper.EndLost()
			s.good(s.tier.Sweeper.LeaveMounts(s.Context()))
			s.start() // it is durable, and done once
		}
		if doubt := s.tape(mounts[0].VID).Doubt; !strings.Contains(doubt, "was removed while the tape was written in its drive d1") {
			t.Errorf("doubt %q", doubt)
		}
		if doubt := s.tape(mounts[1].VID).Doubt; doubt != "" {
			t.Errorf("the mount had ended: %s", doubt)
		}
		// Another server gets the library, and what it may do first is to scan.
		s.view.Nodes = []hemera.NodeInfo{{ID: bad}}
		s.state.Drives[0].VID, s.state.Drives[1].VID = "", ""
		s.tier.Servers.ReportLibrary(bad, s.state)
		if m := s.other(bad, "d1"); m.Kind == tapeapi.MountWork && m.VID == mounts[0].VID {
			t.Errorf("%+v", m)
		}
		s.good(second(s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: string(mounts[0].VID)})))
		if m := s.other(bad, "d1"); m.Kind != tapeapi.MountScan || m.VID != mounts[0].VID {
			t.Errorf("%+v", m)
		}
	})
}
