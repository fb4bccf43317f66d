package turns

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"hemera/words/hemera"
)

const (
	// share is the part of the processors, one in so many, that the work of one user takes beside other users.
	share = 20
	// beside is for how long a user counts as being there after a request.
	beside = 100 * time.Millisecond
	// fresh is for how long a request of a user says nothing new.
	fresh = 10 * time.Millisecond
	// stepUsual is what a step of work is booked for until it has ended.
	stepUsual = time.Millisecond
	// stepMax is the most that a step counts for: what waited for a disk or for a client did not work all the time.
	stepMax = 10 * time.Millisecond
	// usersKept is from how many users on those are forgotten whose work is paid for.
	usersKept = 1024
)

// budget has the work of one user take a share of the processors while other users are there, and all of them while none is. It reads the
// clock that its caller gives.
type budget struct {
	processors int
	seen       atomic.Pointer[presence]

	mu    sync.Mutex
	until map[hemera.Account]time.Time // when the work of each user so far is paid for
}

// presence are the two users whose requests came last.
type presence struct{ last, before visit }

type visit struct {
	who hemera.Account
	at  time.Time
}

// see takes note of a request of who. It costs an atomic read where nothing is new: two users who are there are enough for each other, and
// for a third.
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
	b.seen.CompareAndSwap(old, next) // another request that came at the same moment will do
}

// alone reports whether no other user was there lately.
func (b *budget) alone(who hemera.Account, now time.Time) bool {
	p := b.seen.Load()
	there := func(v visit) bool { return v.who != who && now.Sub(v.at) < beside && !v.at.IsZero() }
	return p == nil || !there(p.last) && !there(p.before)
}

// book returns when a step of work of who may begin, and counts it as a usual one.
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

// pay counts work of who that is done; booked of it has been counted before.
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

// add counts work from begin on. mu is held.
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

// wait blocks until a step of work of who may begin. It looks now and then whether the others have gone.
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
