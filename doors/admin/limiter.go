package admin

import (
	"context"
	"runtime"
	"sync"

	"hemera"
	"hemera/errs"
)

// waitingMax bounds the calls of one user that wait for a turn. A user who reaches it has many commands under way.
const waitingMax = 256

// limiter bounds the number of callers that read much of the namespace at the same time. Users who wait get their turns one after
// the other, whatever number of calls each of them makes; the calls of one user are served in the order in which they came.
type limiter struct {
	mu      sync.Mutex
	free    int                              // places; nobody waits while there is one
	turns   []hemera.Account                 // that wait, the next one first
	waiting map[hemera.Account][]chan<- bool // closed when the place is the caller's
}

// newLimiter makes a limiter that all users share: they take at most half of the processors. At least one call may run, also on a
// machine with one processor.
func newLimiter() *limiter {
	return &limiter{free: max(1, runtime.GOMAXPROCS(0)/2), waiting: map[hemera.Account][]chan<- bool{}}
}

// acquire blocks until there is room for a call of who, and returns the function that frees it, which the caller calls once. An admin
// never waits. It fails with Overloaded if too many calls of the user wait, or with the context's error.
func (l *limiter) acquire(ctx context.Context, who hemera.Identity) (release func(), err error) {
	if who.Admin {
		return func() {}, nil
	}
	from := who.Account()
	l.mu.Lock()
	queue := l.waiting[from]
	switch {
	case l.free > 0:
		l.free--
		l.mu.Unlock()
		return l.release, nil
	case len(queue) >= waitingMax:
		l.mu.Unlock()
		return nil, errs.New(errs.Overloaded, "admin.Acquire", who.Name, "too many calls of this user wait for their turn").
			WithRemedy("wait until searches and other commands of yours have ended")
	case len(queue) == 0:
		l.turns = append(l.turns, from)
	}
	turn := make(chan bool)
	l.waiting[from] = append(queue, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return l.release, nil
	case <-ctx.Done():
	}
	if !l.leave(from, turn) {
		l.release() // the turn came meanwhile
	}
	return nil, ctx.Err()
}

// release frees a place, or gives it to the user whose turn it is.
func (l *limiter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.turns) == 0 {
		l.free++
		return
	}
	next := l.turns[0]
	l.turns = l.turns[1:]
	queue := l.waiting[next]
	close(queue[0])
	if queue = queue[1:]; len(queue) == 0 {
		delete(l.waiting, next)
		return
	}
	l.waiting[next] = queue
	l.turns = append(l.turns, next)
}

// leave takes a call that waits out of its queue, and reports false if it does not wait any more.
func (l *limiter) leave(from hemera.Account, turn chan<- bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.waiting[from]
	for i, c := range queue {
		if c != turn {
			continue
		}
		if queue = append(queue[:i:i], queue[i+1:]...); len(queue) > 0 {
			l.waiting[from] = queue
			return true
		}
		delete(l.waiting, from)
		for j, u := range l.turns {
			if u == from {
				l.turns = append(l.turns[:j:j], l.turns[j+1:]...)
				break
			}
		}
		return true
	}
	return false
}
