package tier_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// buffered gives the site disks: 100,000 bytes in space default with so many of them free, and a full space beside it. Recalls leave 2 % free.
// The tier is started again with them.
func (s *site) buffered(free int64) {
	s.Helper()
	s.view = &hemera.View{Spaces: []hemera.Space{{Name: "default"}, {Name: "empty"}}, Disks: []hemera.Disk{
		{ID: 1, Space: "default", Active: true, DiskStats: hemera.DiskStats{Capacity: 100_000, Free: free}},
		{ID: 2, Space: "empty", Active: true, DiskStats: hemera.DiskStats{Capacity: 100_000}},
	}}
	s.start()
	s.report()
}

// why returns the reason for which the recall of a file waits, as its users see it.
func (s *site) why(file string) string {
	s.Helper()
	l, err := s.tier.Stager.Localities(s.Context(), admin(), "", []string{file})
	s.good(err)
	lines, err := s.tier.Reports.ExplainTape(s.Context(), file)
	s.good(err)
	if all := strings.Join(lines, "; "); !strings.Contains(all, l[0].Why) {
		s.Errorf("users see %q, admins %q", l[0].Why, all)
	}
	if l[0].Error != "" {
		s.Errorf("a recall that waits for room shows an error: %s", l[0].Error)
	}
	return l[0].Why
}

// A full buffer delays recalls and says so; archives go on.
func TestAFullBufferDelaysRecalls(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		s.buffered(2500)
		stageOf(s, alice(), "/single/f")
		if m := s.ask("d1"); m.Kind != tapeapi.MountNothing {
			t.Errorf("mounted without room: %+v", m)
		}
		if why := s.why("/single/f"); !strings.Contains(why, "the disk buffer has room for 500 B of recalled files, and 1.0 kB are needed to begin") {
			t.Errorf("why: %s", why)
		}
		s.put(alice(), "/single/g", 1000)
		m := s.mount("d1", tapeapi.Archive)
		s.good(s.tier.Results.TapeDone(s.Context(), server, s.written(m, s.jobs(m))))
		s.loaded("d1", "")
		s.view.Disks[0].Free = 3000
		if jobs := s.jobs(s.mount("d1", tapeapi.Recall)); len(jobs) != 1 || jobs[0].Attempts != 0 {
			t.Errorf("%+v", jobs)
		}
	})
}

// Room in another space is no room: the session ends without a job, and its queue waits until the space has room.
func TestTheRoomIsThatOfTheSpace(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		s.buffered(0)
		s.view.Disks[1].Free = 50_000
		stageOf(s, alice(), "/single/f")
		m := s.mount("d1", tapeapi.Recall)
		if jobs := s.jobs(m); len(jobs) != 0 {
			t.Fatalf("%+v", jobs)
		}
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true}))
		s.loaded("d1", "")
		if m := s.ask("d2"); m.Kind != tapeapi.MountNothing {
			t.Errorf("mounted again for a space without room: %+v", m)
		}
		if why := s.why("/single/f"); !strings.Contains(why, "space default has room for 0 MB of recalled files") {
			t.Errorf("why: %s", why)
		}
		s.view.Disks[0].Free = 3000
		if jobs := s.jobs(s.mount("d2", tapeapi.Recall)); len(jobs) != 1 || jobs[0].Attempts != 0 {
			t.Errorf("%+v", jobs)
		}
	})
}

// What was given is reserved until it is done, or its mount ends.
func TestReservations(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		for _, file := range []string{"/single/a", "/single/b", "/single/c"} {
			s.evicted(file)
		}
		s.change("mounting", "set", "default", "minFreeToRecall", "1kB")
		s.buffered(4999) // two files, and what recalls leave
		for _, file := range []string{"/single/a", "/single/b", "/single/c"} {
			stageOf(s, alice(), file)
		}
		m := s.mount("d1", tapeapi.Recall)
		jobs := s.jobs(m)
		if len(jobs) != 2 {
			t.Fatalf("%d jobs for the room of two", len(jobs))
		}
		if more := s.jobs(m); len(more) != 0 {
			t.Errorf("%+v while the room is reserved", more)
		}
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Done: []tapeapi.JobKey{jobs[0].JobKey}}))
		more := s.jobs(m)
		if len(more) != 1 || more[0].Path == jobs[1].Path {
			t.Errorf("%+v after one is done", more)
		}
		// The drive asks for something else: what it had is free again, and its room, too.
		m = s.mount("d1", tapeapi.Recall)
		if again := s.jobs(m); len(again) != 2 {
			t.Errorf("%+v after the mount ended", again)
		}
	})
}

// Disks that have no room after all put a recall off, however often: it does not fail.
func TestNoRoomIsNoFailure(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		stageOf(s, alice(), "/single/f")
		for try := range 8 {
			m := s.ask("d1")
			for m.Kind != tapeapi.MountWork {
				if m.Kind == tapeapi.MountUnload {
					s.loaded("d1", "")
				}
				m = s.ask("d1")
			}
			s.loaded("d1", m.VID)
			jobs := s.jobs(m)
			if len(jobs) != 1 || jobs[0].Attempts != 0 {
				t.Fatalf("try %d: %+v", try, jobs)
			}
			s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true,
				Failed: []tapeapi.Failure{{Job: jobs[0].JobKey, Error: "no disk of space default has room", PutOff: true}}}))
			if why := s.why("/single/f"); why != "is tried again in 1m0s: no disk of space default has room" {
				t.Fatalf("why: %s", why)
			}
		}
		if a := s.attention(); len(a) != 0 {
			t.Errorf("%q", a)
		}
	})
}

// What a failed job failed of is in its explanation.
func TestWhyTellsTheError(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		stageOf(s, alice(), "/single/f")
		for try := range 6 {
			m := s.ask("d1")
			for m.Kind != tapeapi.MountWork {
				m = s.ask("d1")
			}
			s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true,
				Failed: []tapeapi.Failure{{Job: s.jobs(m)[0].JobKey, Error: "bad block 7"}}}))
			lines, err := s.tier.Reports.ExplainTape(s.Context(), "/single/f")
			s.good(err)
			want := fmt.Sprintf("recall of copy 1: failed %d times, and is tried again in", try+1)
			if try == 5 {
				want = "recall of copy 1: failed 6 times, and is not tried again by itself (hemera tape request retry): bad block 7"
			}
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, want) || !strings.HasSuffix(last, ": bad block 7") {
				t.Errorf("try %d: %q", try, lines)
			}
		}
	})
}

// Capacities are those that the library tells of its cartridges, also of tapes that were added before.
func TestTheCapacityOfACartridge(t *testing.T) {
	at(t, func(s *site) {
		if c := s.tape("AAA001").Capacity; c != 18e12 {
			t.Errorf("%d, before the library tells it", c)
		}
		s.state.Capacities = map[hemera.VID]int64{"AAA001": 4e9}
		s.report()
		if a, b := s.tape("AAA001").Capacity, s.tape("BBB001").Capacity; a != 4e9 || b != 18e12 {
			t.Errorf("%d and %d", a, b)
		}
		p, err := s.tier.Reports.TapePicture(s.Context())
		if err != nil || p.Pools[0].Name != "default" || p.Pools[0].Capacity != 4e9 {
			t.Errorf("%+v, %v", p.Pools, err)
		}
		time.Sleep(time.Minute) // the library is silent: the catalogue is all there is
		if c := s.tape("AAA001").Capacity; c != 18e12 {
			t.Errorf("%d", c)
		}
	})
}
