package move

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// toDisk plans a copy of a file to one disk, unless it is full.
func toDisk(file hemera.FileID, disk hemera.DiskID, plans *atomic.Int64) planFunc {
	return func(full []hemera.DiskID, _ map[hemera.DiskID]int) (Plan, error) {
		plans.Add(1)
		for _, id := range full {
			if id == disk {
				return Plan{}, errs.New(errs.NoSpace, "maint.Plan", "", "it is full")
			}
		}
		return Plan{Entry: hemera.Entry{ID: file}, Add: hemera.Target{Disk: disk}}, nil
	}
}

// TestAFreePlaceGoesToAWaiterThatCanUseIt: one plan for each copy that ends, and not one for each that waits; the turn goes
// on from waiters for another disk, and from those that are gone.
func TestAFreePlaceGoesToAWaiterThatCanUseIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiters = 50
		l := newLimiter(1, 100)
		var plans atomic.Int64
		var held []Plan
		for disk := range hemera.DiskID(2) {
			m, err := l.acquire(t.Context(), UrgencyDrain, toDisk(hemera.FileID(disk+1), disk+1, &plans))
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, m)
		}
		done := make(chan Plan, waiters)
		gone, leave := context.WithCancel(t.Context())
		for i := range waiters {
			ctx, disk := t.Context(), hemera.DiskID(1)
			switch i {
			case 0:
				ctx = gone
			case 1:
				disk = 2
			}
			go func() {
				if m, err := l.acquire(ctx, UrgencyDrain, toDisk(hemera.FileID(100+i), disk, &plans)); err == nil {
					done <- m
				}
			}()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		before := plans.Load()
		l.release(held[0])
		synctest.Wait()
		if len(done) != 1 || plans.Load()-before > 2 {
			t.Fatalf("%d copies began, after %d plans", len(done), plans.Load()-before)
		}
		for range waiters - 3 { // each of those for disk 1 in turn
			m := <-done
			if m.Add.Disk != 1 {
				t.Fatalf("a copy to disk %d", m.Add.Disk)
			}
			l.release(m)
			synctest.Wait()
		}
		if m := <-done; m.Add.Disk != 1 {
			t.Fatalf("the last one goes to disk %d", m.Add.Disk)
		}
		l.release(held[1])
		if m := <-done; m.Add.Disk != 2 {
			t.Errorf("to disk %d", m.Add.Disk)
		}
		if len(l.waiters) != 0 {
			t.Errorf("%d still wait", len(l.waiters))
		}
	})
}

// TestBalancingWaitsBehindRepairs: a disk takes half as many copies of it, and a repair that waits goes first.
func TestBalancingWaitsBehindRepairs(t *testing.T) {
	l := newLimiter(4, 100)
	to := func(file hemera.FileID) planFunc {
		return func(full []hemera.DiskID, _ map[hemera.DiskID]int) (Plan, error) {
			if len(full) > 0 {
				return Plan{}, errs.New(errs.NoSpace, "", "", "")
			}
			return Plan{Entry: hemera.Entry{ID: file}, Add: hemera.Target{Disk: 1}}, nil
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var balancing []Plan
		for i := range hemera.FileID(2) {
			m, err := l.acquire(t.Context(), UrgencyBalance, to(i+1))
			if err != nil {
				t.Fatal(err)
			}
			balancing = append(balancing, m)
		}
		begun := make(chan hemera.FileID, 10)
		wait := func(file hemera.FileID, class Urgency) {
			go func() {
				if m, err := l.acquire(t.Context(), class, to(file)); err == nil {
					begun <- m.Entry.ID
				}
			}()
			synctest.Wait()
		}
		wait(3, UrgencyBalance)
		if len(begun) > 0 {
			t.Fatal("balancing takes more than half of a disk")
		}
		wait(4, UrgencyDrain)
		wait(5, 1)
		if <-begun != 4 || <-begun != 5 {
			t.Fatal("others have no room beside it")
		}
		wait(6, UrgencyDrain)
		wait(7, 1)
		l.release(balancing[0])
		synctest.Wait()
		if got := <-begun; got != 7 {
			t.Errorf("file %d is next", got)
		}
		l.release(balancing[1])
		if got := <-begun; got != 6 {
			t.Errorf("file %d is next", got)
		}
	})
}
