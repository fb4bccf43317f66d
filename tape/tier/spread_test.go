package tier_test

import (
	"fmt"
	"slices"
	"testing"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Two drives that archive large files read from different disks.
func TestSessionsReadDifferentDisks(t *testing.T) {
	at(t, func(s *site) {
		on := map[string]hemera.DiskID{}
		for i := range 8 {
			file := fmt.Sprintf("/double/f%d", i)
			on[file] = hemera.DiskID(i/4 + 1)
			s.putOn(on[file], alice(), file, 1e9)
		}
		s.label()
		var read [2][]hemera.DiskID
		for i, drive := range []string{"d1", "d2"} {
			for _, j := range s.jobs(s.mount(drive, tapeapi.Archive)) {
				read[i] = append(read[i], on[j.Path])
			}
		}
		if !slices.Equal(read[0], []hemera.DiskID{1, 2, 1, 2, 1, 2, 1, 2}) {
			t.Errorf("the first drive reads from disks %v", read[0])
		}
		if !slices.Equal(read[1], []hemera.DiskID{2, 1, 2, 1, 2, 1, 2, 1}) {
			t.Errorf("the first drive reads from disks %v, the second one from %v", read[0], read[1])
		}
	})
}

// The disks of a recall count as written to until it is done, also when its grant is asked for twice or its mount ends.
func TestARecallEndsItsGrant(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		s.evicted("/single/g")
		stageOf(s, alice(), "/single/f")
		stageOf(s, alice(), "/single/g")
		m := s.mount("d1", tapeapi.Recall)
		jobs := s.jobs(m)
		if len(jobs) != 2 {
			t.Fatalf("%d jobs", len(jobs))
		}
		for _, j := range jobs {
			for range 2 {
				_, err := s.tier.Jobs.TapeGrant(s.Context(), server, m.ID, j.JobKey)
				s.good(err)
			}
		}
		if s.recalls != 2 {
			t.Errorf("%d grants of two files", s.recalls)
		}
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Done: []tapeapi.JobKey{jobs[0].JobKey}}))
		if s.recalls != 1 {
			t.Errorf("%d grants of one file", s.recalls)
		}
		s.ask("d1") // that does nothing: its mount is over
		if s.recalls != 0 {
			t.Errorf("%d grants after the mount", s.recalls)
		}
	})
}
