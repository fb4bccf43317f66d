package tapetier

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hemera"
	"hemera/errs"
)

// A call of a user may name very many files. Each user has one such call at
// work at a time, which rests for most of the time: so it takes a tenth of two
// processors at most, whatever it asks for, and calls of others keep theirs.

const (
	// bulkFiles is from how many files on a call takes its turn. Smaller ones cost less than the bookkeeping.
	bulkFiles = 64
	// turnsWaiting is how many calls of a user may wait for their turn.
	turnsWaiting = 16
	// workTime is how long a call works before it rests, and restShare how much longer it rests.
	workTime  = 2 * time.Millisecond
	restShare = 4
	// restMax bounds a rest: what waited for a disk did not work.
	restMax = 100 * time.Millisecond
)

// turns are the calls with many files that are under way, by user.
type turns struct {
	mu    sync.Mutex
	users map[uint32]*userTurns
}

// userTurns is one user's.
type userTurns struct {
	working chan struct{} // has room for one
	calls   int           // at work or waiting; guarded by turns.mu
}

// turn is a call at work. nil is a call that need not rest.
type turn struct {
	mu    sync.Mutex
	began time.Time // when it works again, or since when it does; guarded by mu
}

// enter waits for the turn of a call with so many files. The call ends it with leave. Overloaded if too many wait.
func (t *turns) enter(ctx context.Context, who hemera.Identity, files int) (_ *turn, leave func(), err error) {
	if files < bulkFiles || who.Admin {
		return nil, func() {}, nil
	}
	t.mu.Lock()
	u := t.users[who.UID]
	if u == nil {
		u = &userTurns{working: make(chan struct{}, 1)}
		t.users[who.UID] = u
	}
	if u.calls > turnsWaiting {
		t.mu.Unlock()
		return nil, nil, errs.New(errs.Overloaded, "manager.Stage", "", fmt.Sprintf("%d requests of user %s with many files are under way", u.calls, who.Name)).
			WithRemedy("send them one after the other, and this one again later")
	}
	u.calls++
	t.mu.Unlock()
	out := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if u.calls--; u.calls == 0 {
			delete(t.users, who.UID)
		}
	}
	select {
	case u.working <- struct{}{}:
		return &turn{began: time.Now()}, func() { <-u.working; out() }, nil
	case <-ctx.Done():
		out()
		return nil, nil, errs.Wrap(ctx.Err(), "manager.Stage", "")
	}
}

// rest is called before each file, by any goroutine of the call: it sleeps when the call has worked for long enough.
func (t *turn) rest(ctx context.Context) error {
	if t == nil {
		return nil
	}
	wait := time.NewTimer(t.pause(time.Now()))
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return errs.Wrap(ctx.Err(), "manager.Stage", "")
	}
}

// pause is how long a goroutine of the call waits now. All of them rest together.
func (t *turn) pause(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	worked := now.Sub(t.began)
	if worked >= workTime {
		t.began = now.Add(min(worked*restShare, restMax))
	}
	return max(0, t.began.Sub(now))
}
