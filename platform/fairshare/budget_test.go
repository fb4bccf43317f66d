package fairshare

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

var (
	alice = hemera.Identity{Name: "alice", UID: 6}
	bob   = hemera.Identity{Name: "bob", UID: 7}
)

// keepAsking sends requests of who until the test ends, like an active user.
func keepAsking(t *testing.T, l *Limiter, who hemera.Identity) (leave func()) {
	l.Seen(who)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			select {
			case <-time.After(beside / 2):
				l.Seen(who)
			case <-ctx.Done():
			}
		}
	}()
	return leave
}

// TestWorkTakesItsShare: with any number of calls, turns and calls alike, a user works for a twentieth of the processors
// while another user is active, and all the time otherwise.
func TestWorkTakesItsShare(t *testing.T) {
	const processors, step = 2, stepTime
	for name, c := range map[string]struct {
		lanes  int
		beside []hemera.Identity
		work   time.Duration // in one second, of one lane
	}{
		"alone":                 {1, nil, time.Second},
		"beside the system":     {1, []hemera.Identity{hemera.SystemIdentity()}, time.Second},
		"beside the same user":  {1, []hemera.Identity{bob}, time.Second},
		"beside another":        {1, []hemera.Identity{alice}, time.Second * processors / share},
		"many beside another":   {16, []hemera.Identity{alice}, time.Second * processors / share / 16},
		"beside several others": {4, []hemera.Identity{alice, {UID: 8}, {UID: 9}, bob}, time.Second * processors / share / 4},
	} {
		for kind, work := range map[string]func(ctx context.Context, l *Limiter, done func()) error{
			"turns": func(ctx context.Context, l *Limiter, done func()) error {
				for {
					release, err := l.Acquire(ctx, bob)
					if err != nil {
						return err
					}
					done()
					release()
				}
			},
			"a call": func(ctx context.Context, l *Limiter, done func()) error {
				c, err := l.Begin(ctx, bob)
				for ; err == nil; err = c.Rest(ctx) {
					done()
				}
				c.End()
				return err
			},
			"lists": func(ctx context.Context, l *Limiter, done func()) error {
				return List(ctx, l, bob, true, func(visit func(int) error) error {
					for ctx.Err() == nil {
						if err := visit(0); err != nil {
							return err
						}
					}
					return ctx.Err()
				}, func() func(int) error { // the client takes the entries
					n := 0
					return func(int) error {
						if n++; n%listed == 0 {
							done()
						}
						return nil
					}
				}())
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				l := Of(16)
				l.budget.processors = processors
				for _, who := range c.beside {
					defer keepAsking(t, l, who)()
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				var mu sync.Mutex
				var worked time.Duration
				var lanes sync.WaitGroup
				for range c.lanes {
					lanes.Go(func() {
						err := work(ctx, l, func() {
							time.Sleep(step)
							mu.Lock()
							defer mu.Unlock()
							worked += step
						})
						if !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("%s, %s: %v", name, kind, err)
						}
					})
				}
				lanes.Wait()
				if per := worked / time.Duration(c.lanes); per < c.work*8/10 || per > c.work*13/10 {
					t.Errorf("%s, %s: a lane worked for %v, want about %v", name, kind, per, c.work)
				}
				if len(l.calls)+len(l.resting)+len(l.waiting) != 0 {
					t.Errorf("%s, %s: it is left with %+v", name, kind, l)
				}
			})
		}
	}
}

// TestRestsEndWhenOthersGo: a user that waits for a turn continues once it is alone, and a long wait for a disk is not
// charged as work.
func TestRestsEndWhenOthersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Of(1)
		l.budget.processors = 2
		leave := keepAsking(t, l, alice)
		c, err := l.Begin(t.Context(), bob)
		if err != nil {
			t.Fatal(err)
		}
		rest := func() time.Duration {
			began := time.Now()
			if err := c.Rest(t.Context()); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		if got := rest(); got != 0 {
			t.Errorf("it rested %v before it had worked", got)
		}
		time.Sleep(time.Hour)
		if got := rest(); got > stepMax*share/2 {
			t.Errorf("it rested %v after an hour at a disk", got)
		}
		for range 200 { // calls that the user began at once
			l.budget.pay(bob.Account(), time.Now(), stepMax, 0)
		}
		leave()
		time.Sleep(stepTime)
		if got := rest(); got > 2*beside {
			t.Errorf("it rested %v when the other had gone", got)
		}
		c.End()
	})
}

// TestCallsAreBounded: the bound is for each user: others are served, and admins never wait.
func TestCallsAreBounded(t *testing.T) {
	l := Of(1)
	var all []*Call
	for range callsMax {
		c, err := l.Begin(t.Context(), bob)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if _, err := l.Begin(t.Context(), bob); !errors.Is(err, errs.Overloaded) || errs.RemedyOf(err) == "" {
		t.Errorf("one more: %v", err)
	}
	for _, who := range []hemera.Identity{alice, hemera.SystemIdentity()} {
		c, err := l.Begin(t.Context(), who)
		if err != nil {
			t.Fatalf("%+v: %v", who, err)
		}
		c.End()
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := l.Begin(gone, alice); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that left: %v", err)
	}
	for _, c := range all {
		c.End()
	}
	if len(l.calls) != 0 {
		t.Errorf("calls are left: %v", l.calls)
	}
}

// TestUsersThatHavePaidAreForgotten: the memory is bounded by the number of active users.
func TestUsersThatHavePaidAreForgotten(t *testing.T) {
	l, now := Of(1), time.Unix(1, 0)
	for i := range uint32(10 * usersKept) {
		now = now.Add(time.Millisecond)
		l.budget.see(hemera.Account{UID: i}, now)
		l.budget.pay(hemera.Account{UID: i}, now, time.Millisecond, 0)
	}
	if got := len(l.budget.until); got > usersKept {
		t.Errorf("%d users are remembered", got)
	}
}

// TestPartsOfACallAreCountedOnce: a call that begins another one, or takes turns, is charged once for both, and its waits
// are not work.
func TestPartsOfACallAreCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Of(1)
		l.budget.processors = 2
		defer keepAsking(t, l, alice)()
		outer, err := l.Begin(t.Context(), bob)
		if err != nil {
			t.Fatal(err)
		}
		ctx := outer.In(t.Context())
		part, err := l.Begin(ctx, bob)
		if err != nil || len(l.calls) != 1 || l.calls[bob.Account()] != 1 {
			t.Fatalf("%v, calls: %v", err, l.calls)
		}
		part.End()
		if l.calls[bob.Account()] != 1 {
			t.Errorf("the end of a part has ended the call: %v", l.calls)
		}
		from := outer.began
		for range 3 {
			release, err := l.Acquire(ctx, bob)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(stepTime)
			release()
		}
		if worked := time.Since(from) - 3*stepTime; worked <= 0 || time.Since(outer.began) != 3*stepTime {
			t.Errorf("it waited %v, and counts %v of work", worked, time.Since(outer.began))
		}
		began := time.Now()
		if err := part.Rest(ctx); err != nil || time.Since(began) == 0 {
			t.Errorf("a part that has worked for long rested %v: %v", time.Since(began), err)
		}
		outer.End()
		if len(l.calls) != 0 {
			t.Errorf("calls are left: %v", l.calls)
		}
		// A call of another user, or of another limiter, is not a part.
		other, err := l.Begin(ctx, alice)
		if err != nil || other.outer != nil {
			t.Errorf("%+v, %v", other, err)
		}
		other.End()
	})
}
