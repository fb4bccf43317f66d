// Package turns has users take turns where one of them can ask for much: a call that reads thousands of names, or asks all nodes.
package turns

import (
	"context"
	"runtime"
	"sync"

	"hemera"
	"hemera/errs"
)

// waitingMax bounds the calls of one user that wait for a turn. A user who reaches it has many commands under way.
const waitingMax = 256

// Limiter bounds the number of callers that read much of the namespace at the same time. Users who wait get their turns one after
// the other, whatever number of calls each of them makes; the calls of one user are served in the order in which they came. It may be used concurrently.
type Limiter struct {
	mu      sync.Mutex
	free    int                              // places; nobody waits while there is one
	turns   []hemera.Account                 // that wait, the next one first
	waiting map[hemera.Account][]chan<- bool // closed when the place is the caller's
}

// New makes a limiter that all users share: they take at most half of the processors. At least one call may run, also on a
// machine with one processor.
func New() *Limiter { return Of(max(1, runtime.GOMAXPROCS(0)/2)) }

// Of makes a limiter with a number of places.
func Of(places int) *Limiter {
	return &Limiter{free: places, waiting: map[hemera.Account][]chan<- bool{}}
}

// Acquire blocks until there is room for a call of who, and returns the function that frees it, which the caller calls once. An admin
// never waits. It fails with Overloaded if too many calls of the user wait, or with the context's error.
func (l *Limiter) Acquire(ctx context.Context, who hemera.Identity) (release func(), err error) {
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
		return nil, errs.New(errs.Overloaded, "turns.Acquire", who.Name, "too many calls of this user wait for their turn").
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
func (l *Limiter) release() {
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
func (l *Limiter) leave(from hemera.Account, turn chan<- bool) bool {
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

// listed is how many entries of a list are read in one turn.
const listed = 256

// List has list visit entries in turns of who, which list must read from the namespace. While visit gets entries, which may wait for a
// client, the caller has no turn. The first turn comes after so many entries that short lists take none, unless at is true.
func List[T any](ctx context.Context, l *Limiter, who hemera.Identity, at bool, list func(visit func(T) error) error, visit func(T) error) error {
	if l == nil || who.Admin {
		return list(visit)
	}
	release := func() {}
	defer func() { release() }()
	acquire := func() (err error) {
		next, err := l.Acquire(ctx, who)
		if err == nil {
			release = sync.OnceFunc(next)
		}
		return err
	}
	if at {
		if err := acquire(); err != nil {
			return err
		}
	}
	var read []T
	flush := func() error {
		release()
		for _, e := range read {
			if err := visit(e); err != nil {
				return err
			}
		}
		read = read[:0]
		return nil
	}
	err := list(func(e T) error {
		if read = append(read, e); len(read) < listed {
			return nil
		}
		if err := flush(); err != nil {
			return err
		}
		return acquire()
	})
	if err != nil {
		return err
	}
	return flush()
}
