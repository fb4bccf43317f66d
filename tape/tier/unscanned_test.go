package tier_test

import (
	"testing"

	"hemera/tape/catalogue"
	"hemera/words/tapeapi"
)

// TestATapeThatWaitsForAScanGivesNothing: until it was scanned a tape may have something else where the catalogue says that a file is,
// so disk copies stay, and a disk with the last ones loses files.
func TestATapeThatWaitsForAScanGivesNothing(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		s.archive()
		shelf, err := s.tier.Copies.Shelf(s.Context())
		s.good(err)
		e := s.stat("/single/f")
		if !shelf.Gives(&e) {
			t.Error("a tape that is in order gives nothing")
		}
		s.good(s.tree.Parts().Tapes.LeaveMount(s.Context(), catalogue.Mount{ID: 99, Node: 9, Drive: "x", VID: "AAA001", Kind: tapeapi.MountWork, Job: tapeapi.Archive}, "in doubt"))
		if s.tape("AAA001").Unscanned == "" {
			t.Fatal("the tape waits for no scan")
		}
		if _, err := s.tier.Stager.Evict(s.Context(), admin(), "/single/f"); err == nil {
			t.Error("evict dropped the disk copies")
		}
		if begun, err := s.tier.Stager.Instead(s.Context(), alice(), s.stat("/single/f")); begun || s.onTapeOnly("/single/f") {
			t.Errorf("the disk copies went for a recall: %v, %v", begun, err)
		}
		shelf, err = s.tier.Copies.Shelf(s.Context())
		s.good(err)
		if shelf.Gives(&e) {
			t.Error("files count as safe on it")
		}
	})
}

// TestATapeIsInItsDriveUntilTheLibrarySaysElse: the end of a mount is known before the library reports again. The tape is in that drive
// still, and a scan of it that another drive begins fails, after which the tape waits for a person.
func TestATapeIsInItsDriveUntilTheLibrarySaysElse(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/f", 1000)
		m := s.ask("d1")
		if m.Kind != tapeapi.MountWork || m.Job != tapeapi.Archive {
			t.Fatalf("%+v", m)
		}
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true,
			Unscanned: "files up to number 12 stand behind file 10", Session: tapeapi.Session{Drive: "d1", Error: "files stand behind"}}))
		if got, err := s.tier.Drives.NextMount(s.Context(), server, "d2"); err != nil || got.VID == m.VID {
			t.Errorf("d2 got %+v, %v, and the tape is in d1", got, err)
		}
		s.loaded("d1", m.VID)
		if got, err := s.tier.Drives.NextMount(s.Context(), server, "d2"); err != nil || got.VID == m.VID {
			t.Errorf("d2 got %+v, %v, and the library says that the tape is in d1", got, err)
		}
		s.scanMount("d1", m.VID)
	})
}
