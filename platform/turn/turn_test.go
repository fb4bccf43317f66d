package turn

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// TestAcquire: a free turn is acquired also with a context that has ended; the wait for one that is taken ends with its context.
func TestAcquire(t *testing.T) {
	for _, c := range []struct {
		name  string
		taken bool // before the call
		freed bool // while the call waits
		ended bool // the context of the call
		want  error
	}{
		{"free", false, false, false, nil},
		{"free, ended", false, false, true, nil},
		{"taken, ended", true, false, true, context.Canceled},
		{"taken, then freed", true, true, false, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			turn := New()
			if c.taken {
				turn.Wait()
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.ended {
				cancel()
			}
			var err error
			done := make(chan struct{})
			go func() {
				err = turn.Acquire(ctx)
				close(done)
			}()
			synctest.Wait()
			if c.freed {
				turn.Release()
			}
			<-done
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
			// Either the test has it or the call: one release frees it.
			if turn.TryAcquire() {
				t.Errorf("%s: free", c.name)
			}
			turn.Release()
			if !turn.TryAcquire() {
				t.Errorf("%s: not free after a release", c.name)
			}
		})
	}
}

// TestWaitEndsWithContext: a caller that stops waiting leaves the turn to those behind it.
func TestWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := New()
		turn.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		go func() { errs <- turn.Acquire(ctx) }()
		synctest.Wait()
		go func() { errs <- turn.Acquire(t.Context()) }()
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if turn.TryAcquire() {
			t.Error("a turn that another waits for was given away")
		}
		turn.Release()
		if err := <-errs; err != nil {
			t.Error(err)
		}
		turn.Release()
	})
}

// TestOrder: turns are given in the order in which callers asked.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := New()
		turn.Wait()
		var order []int // guarded by the turn
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				turn.Wait()
				defer turn.Release()
				order = append(order, i)
			})
			synctest.Wait() // it waits before the next one comes
		}
		turn.Release()
		all.Wait()
		for i, got := range order {
			if got != i {
				t.Fatalf("%v", order)
			}
		}
	})
}

// TestConcurrentUse: one caller has the turn at a time; the race detector sees one that is not alone.
func TestConcurrentUse(t *testing.T) {
	turn, shared := New(), NewShared()
	var one, alone int
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				turn.Wait()
				one++
				turn.Release()
				shared.Wait()
				alone++
				shared.Release()
				shared.WaitShare()
				_ = alone
				shared.ReleaseShare()
			}
		})
	}
	all.Wait()
	if one != 1600 || alone != 1600 {
		t.Error(one, alone)
	}
}

// TestShared: callers share a turn, and one that waits to be alone comes before those that ask later.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := NewShared()
		turn.WaitShare()
		turn.WaitShare()
		order := make(chan string, 2)
		go func() { turn.Wait(); order <- "alone"; turn.Release() }()
		synctest.Wait()
		go func() { turn.WaitShare(); order <- "share"; turn.ReleaseShare() }()
		synctest.Wait()
		turn.ReleaseShare()
		synctest.Wait()
		if len(order) > 0 {
			t.Error("a turn was given while another caller shared it")
		}
		turn.ReleaseShare()
		if first, second := <-order, <-order; first != "alone" || second != "share" {
			t.Error(first, second)
		}
	})
}

// BenchmarkTurn compares a turn with a channel of one slot, which does the same without a context.
func BenchmarkTurn(b *testing.B) {
	b.Run("turn", func(b *testing.B) {
		b.ReportAllocs()
		for turn := New(); b.Loop(); turn.Release() {
			turn.Wait()
		}
	})
	b.Run("channel", func(b *testing.B) {
		b.ReportAllocs()
		for slot := make(chan struct{}, 1); b.Loop(); <-slot {
			slot <- struct{}{}
		}
	})
	b.Run("turn, taken", func(b *testing.B) {
		b.ReportAllocs()
		turn := New()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				turn.Wait()
				turn.Release()
			}
		})
	})
	b.Run("channel, taken", func(b *testing.B) {
		b.ReportAllocs()
		slot := make(chan struct{}, 1)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				slot <- struct{}{}
				<-slot
			}
		})
	})
}
