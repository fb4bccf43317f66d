package fairshare

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestUsersTakeTurns: a user with many calls waits as long for each as one with few, and a waiting call that ends takes
// no turn.
func TestUsersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New()
		l.free = 1
		ctx, leave := context.WithCancel(t.Context())
		var served []string
		call := func(ctx context.Context, name string, uid uint32) {
			go func() {
				release, err := l.Acquire(ctx, hemera.Identity{Name: name, UID: uid})
				if err != nil {
					return
				}
				served = append(served, name)
				time.Sleep(time.Second)
				release()
			}()
			synctest.Wait()
		}
		for range 5 {
			call(t.Context(), "flood", 1)
		}
		call(ctx, "gone", 3)
		for range 2 {
			call(t.Context(), "other", 2)
			call(t.Context(), "flood", 1)
		}
		leave()
		synctest.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []string{"flood", "flood", "other", "flood", "other", "flood", "flood", "flood", "flood"}
		if !slices.Equal(served, want) {
			t.Errorf("they are served as %q", served)
		}
		if l.free != 1 || len(l.turns) != 0 || len(l.waiting) != 0 {
			t.Errorf("it is left with %+v", l)
		}
	})
}

// TestCallsThatWaitAreBounded: the bound is for each user: others are served.
func TestCallsThatWaitAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New()
		l.free = 0
		ctx, end := context.WithCancel(t.Context())
		wait := func(who hemera.Identity) error {
			done := make(chan error, 1)
			go func() {
				_, err := l.Acquire(ctx, who)
				done <- err
			}()
			synctest.Wait()
			select {
			case err := <-done:
				return err
			default:
				return nil
			}
		}
		for range waitingMax {
			if err := wait(hemera.Identity{Name: "alice", UID: 6}); err != nil {
				t.Fatal(err)
			}
		}
		if err := wait(hemera.Identity{Name: "alice", UID: 6}); !errors.Is(err, errs.Overloaded) || errs.RemedyOf(err) == "" {
			t.Errorf("one more: %v", err)
		}
		if err := wait(hemera.Identity{Name: "bob", UID: 7}); err != nil {
			t.Errorf("another user: %v", err)
		}
		if release, err := l.Acquire(ctx, hemera.SystemIdentity()); err != nil {
			t.Errorf("an admin: %v", err)
		} else {
			release()
		}
		end()
		synctest.Wait()
		if len(l.turns) != 0 || len(l.waiting) != 0 {
			t.Errorf("it is left with %+v", l)
		}
	})
}

// TestListsTakeTurns: a long list has a turn while it reads, and none while its client does; a short one has none.
func TestListsTakeTurns(t *testing.T) {
	l := New()
	l.free = 1
	for _, c := range []struct {
		entries, turns int
		at             bool
	}{{listed - 1, 0, false}, {3 * listed, 2, false}, {listed - 1, 1, true}} {
		had, got := 0, 0
		who := hemera.Identity{Name: "user", UID: 1}
		err := List(t.Context(), l, who, c.at, func(visit func(int) error) error {
			for i := range c.entries {
				if i%listed == 0 && l.free == 0 {
					had++
				}
				if err := visit(i); err != nil {
					return err
				}
			}
			return nil
		}, func(i int) error {
			if i != got || l.free != 1 {
				t.Errorf("entry %d comes as %d, %d places are free", i, got, l.free)
			}
			got++
			return nil
		})
		if err != nil || got != c.entries || had != c.turns || l.free != 1 {
			t.Errorf("%+v: %d entries, %d turns, %v; %d places are free", c, got, had, err, l.free)
		}
	}
	stop := errors.New("the client left")
	err := List(t.Context(), l, hemera.Identity{UID: 1}, true, func(visit func(int) error) error {
		for i := range 10 * listed {
			if err := visit(i); err != nil {
				return err
			}
		}
		return nil
	}, func(int) error { return stop })
	if !errors.Is(err, stop) || l.free != 1 {
		t.Errorf("%v, %d places are free", err, l.free)
	}
}
