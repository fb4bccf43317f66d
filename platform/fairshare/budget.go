package fairshare

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"hemera/words/hemera"
)

const (
	// share is the divisor of the processors: the work of one user gets 1/share of them while other users are active.
	share = 20
	// beside is the time after a request for which a user counts as active.
	beside = 100 * time.Millisecond
	// fresh is the time for which a further request of a user is ignored.
	fresh = 10 * time.Millisecond
	// stepUsual is the estimated duration of a step, which is charged until the step has ended.
	stepUsual = time.Millisecond
	// stepMax is the largest duration that is charged for a step: a step that waited for a disk or for a client did not
	// work all the time.
	stepMax = 10 * time.Millisecond
	// usersKept is the number of users above which users whose work is paid for are dropped.
	usersKept = 1024
)

// budget limits the work of one user to a share of the processors while other users are active, and does not limit it
// otherwise. It uses the clock of its caller.
type budget struct {
	processors int
	seen       atomic.Pointer[presence]

	mu    sync.Mutex
	until map[hemera.Account]time.Time // time until which each user's work so far is paid for
}

// presence has the two users with the latest requests.
type presence struct{ last, before visit }

type visit struct {
	who hemera.Account
	at  time.Time
}

// see records a request of who. It costs one atomic read if nothing is new: two active users are enough for each other,
// and for a third.
func (b *budget) see(who hemera.Account, now time.Time) {
	old := b.seen.Load()
	next := &presence{last: visit{who, now}}
	if old != nil {
		isNew := func(v visit) bool { return now.Sub(v.at) < fresh }
		switch {
		case isNew(old.last) && (old.last.who == who || isNew(old.before)):
			return
		case old.last.who == who:
			next.before = old.before
		default:
			next.before = old.last
		}
	}
	b.seen.CompareAndSwap(old, next) // if another request came at the same moment, that one is enough
}

// alone reports whether no other user was active lately.
func (b *budget) alone(who hemera.Account, now time.Time) bool {
	p := b.seen.Load()
	there := func(v visit) bool { return v.who != who && now.Sub(v.at) < beside && !v.at.IsZero() }
	return p == nil || !there(p.last) && !there(p.before)
}

// book returns the time at which a step of work of who may begin, and charges a usual step.
func (b *budget) book(who hemera.Account, now time.Time) time.Time {
	if b.alone(who, now) {
		return now
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	begin := b.until[who]
	if begin.Before(now) {
		begin = now
	}
	b.add(who, begin, stepUsual)
	return begin
}

// pay charges finished work of who; booked of it has been charged before.
func (b *budget) pay(who hemera.Account, now time.Time, worked, booked time.Duration) {
	if b.alone(who, now) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	begin := b.until[who]
	if begin.Before(now) && booked == 0 {
		begin = now
	}
	b.add(who, begin, min(worked, stepMax)-booked)
}

// add charges work from begin on. The caller holds mu.
func (b *budget) add(who hemera.Account, begin time.Time, worked time.Duration) {
	if len(b.until) >= usersKept {
		for u, t := range b.until {
			if t.Before(begin) {
				delete(b.until, u)
			}
		}
	}
	b.until[who] = begin.Add(worked * share / time.Duration(b.processors))
}

// wait blocks until a step of work of who may begin. It checks from time to time whether the others have become inactive.
func (b *budget) wait(ctx context.Context, who hemera.Account) error {
	now := time.Now()
	for begin := b.book(who, now); begin.After(now) && !b.alone(who, now); now = time.Now() {
		timer := time.NewTimer(min(begin.Sub(now), beside))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
	return ctx.Err()
}
