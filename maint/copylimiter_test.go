package maint

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// toDisk plans a copy of a file to one disk, unless it is full.
func toDisk(file hemera.FileID, disk hemera.DiskID, plans *atomic.Int64) planCopy {
	return func(full []hemera.DiskID, _ map[hemera.DiskID]int) (plannedMove, error) {
		plans.Add(1)
		for _, id := range full {
			if id == disk {
				return plannedMove{}, errs.New(errs.NoSpace, "maint.Plan", "", "it is full")
			}
		}
		return plannedMove{entry: hemera.Entry{ID: file}, add: hemera.Target{Disk: disk}}, nil
	}
}

// TestAFreePlaceGoesToAWaiterThatCanUseIt: one plan for each copy that ends, and not one for each that waits; the turn goes
// on from waiters for another disk, and from those that are gone.
func TestAFreePlaceGoesToAWaiterThatCanUseIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiters = 50
		l := newCopyLimiter(1, 100)
		var plans atomic.Int64
		var held []plannedMove
		for disk := range hemera.DiskID(2) {
			m, err := l.acquire(t.Context(), urgencyDrain, toDisk(hemera.FileID(disk+1), disk+1, &plans))
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, m)
		}
		done := make(chan plannedMove, waiters)
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
				if m, err := l.acquire(ctx, urgencyDrain, toDisk(hemera.FileID(100+i), disk, &plans)); err == nil {
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
			if m.add.Disk != 1 {
				t.Fatalf("a copy to disk %d", m.add.Disk)
			}
			l.release(m)
			synctest.Wait()
		}
		if m := <-done; m.add.Disk != 1 {
			t.Fatalf("the last one goes to disk %d", m.add.Disk)
		}
		l.release(held[1])
		if m := <-done; m.add.Disk != 2 {
			t.Errorf("to disk %d", m.add.Disk)
		}
		if len(l.waiters) != 0 {
			t.Errorf("%d still wait", len(l.waiters))
		}
	})
}
