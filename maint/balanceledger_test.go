package maint

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/hemera"
)

// TestTheLedgerCountsAMoveUntilReportsShowIt: one that failed at once, one that was made some time after its end, and not while its old disk has
// still to remove the piece. Moves of one second count together.
func TestTheLedgerCountsAMoveUntilReportsShowIt(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	l := newBalanceLedger(func() time.Time { return now })
	busy := map[hemera.DiskID]bool{}
	settle := func(in, out int64) {
		t.Helper()
		l.settle(func(id hemera.DiskID) bool { return busy[id] })
		gotIn, _ := l.of(2)
		_, gotOut := l.of(1)
		if gotIn != in || gotOut != out || l.settled() != (out == 0) {
			t.Errorf("%d to come and %d to go, want %d and %d, settled %t", gotIn, gotOut, in, out, l.settled())
		}
	}
	settle(0, 0)
	l.begin(1, 2, 100, 100)
	l.begin(1, 2, 30, 100)
	settle(130, 130)
	l.end(1, 2, 30, false)
	settle(100, 100)
	l.end(1, 2, 100, true)
	now = now.Add(settleTime - 1)
	settle(100, 100)
	busy[1] = true
	now = now.Add(time.Hour)
	settle(100, 100)
	busy[1] = false
	settle(0, 0)
	for range 3 {
		l.begin(1, 2, 5, 100)
		l.end(1, 2, 5, true)
	}
	if l.begin(1, 2, 7, 100); len(l.recent) != 1 {
		t.Errorf("%d records of moves of one second", len(l.recent))
	}
	now = now.Add(time.Second)
	if l.end(1, 2, 7, true); len(l.recent) != 2 {
		t.Errorf("%d records", len(l.recent))
	}
	settle(22, 22)
	now = now.Add(settleTime - time.Second)
	settle(7, 7)
	now = now.Add(time.Second)
	settle(0, 0)
}

// TestADiskRestsForAsLongAsItsMovesTake at the rate, the one that gives and the one that takes, but for a second that it may be ahead.
func TestADiskRestsForAsLongAsItsMovesTake(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	l := newBalanceLedger(func() time.Time { return now })
	ready := func(want bool) {
		t.Helper()
		for id := range hemera.DiskID(2) {
			if l.ready(id+1) != want {
				t.Errorf("disk %d is ready: %t", id+1, !want)
			}
		}
		if !l.ready(3) {
			t.Error("another disk rests")
		}
	}
	ready(true)
	l.begin(1, 2, 99, 100)
	ready(true)
	l.begin(1, 2, 101, 100) // two seconds in all
	ready(false)
	now = now.Add(burst)
	ready(false)
	now = now.Add(1)
	ready(true)
	now = now.Add(time.Hour) // time that passed is not saved up
	l.begin(1, 2, 100, 100)
	ready(false)
}

// TestAPlaceThatWasAwayForAWhileIsForgotten, and one that is back in time is not.
func TestAPlaceThatWasAwayForAWhileIsForgotten(t *testing.T) {
	t.Parallel()
	a, b, c := failureDomain{1, "a"}, failureDomain{2, "b"}, failureDomain{3, "c"}
	began := time.Unix(1000, 0)
	s := &balancedSpace{spread: map[failureDomain]time.Time{a: began, b: began}}
	at := began.Add(time.Minute)
	s.forgetDomains(map[failureDomain]bool{a: true, c: true}, at, time.Minute)
	if len(s.spread) != 2 || !s.spread[a].Equal(at) || !s.spread[b].Equal(began) {
		t.Errorf("%v", s.spread)
	}
	s.forgetDomains(map[failureDomain]bool{a: true}, at.Add(1), time.Minute)
	if _, known := s.spread[b]; known || len(s.spread) != 1 {
		t.Errorf("%v", s.spread)
	}
	if !within(map[failureDomain]bool{a: true}, s.spread) || within(map[failureDomain]bool{a: true, b: true}, s.spread) || !within(nil, s.spread) {
		t.Errorf("%v", s.spread)
	}
}

// TestANewPlaceEndsThePauseOfASpace: files can be spread over it, whatever was found before; another disk ends it too, and the same disks do not.
func TestANewPlaceEndsThePauseOfASpace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		known int // nodes over which files were spread
		disks int // when the pause began
		looks bool
	}{
		"nothing is new": {2, 3, false},
		"a new place":    {1, 3, true},
		"a new disk":     {2, 2, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMiniature(t)
			m.node("a", 1000, 1000)
			m.node("b", 1000)
			m.view.Spaces = []hemera.Space{{Name: "default"}}
			m.file(hemera.Replica(1), 900, 1) // there is always something to move
			b := newBalancer(m.engine().base)
			time.Sleep(time.Hour) // of the bubble's clock: past the wait after the start
			s := b.space("default")
			s.disks, s.pause, s.spread = c.disks, time.Now().Add(time.Hour), map[failureDomain]time.Time{}
			for i := range c.known {
				n := m.view.Nodes[i]
				s.spread[failureDomain{n.ID, n.Zone}] = time.Now()
			}
			ctx, end := context.WithCancel(t.Context())
			if _, err := b.Step(ctx); err != nil {
				t.Fatal(err)
			}
			b.mu.Lock()
			if begun := s.run != nil; begun != c.looks {
				t.Errorf("%s: a run begins: %t", name, begun)
			}
			b.mu.Unlock()
			end()
			synctest.Wait()
		})
	}
}
