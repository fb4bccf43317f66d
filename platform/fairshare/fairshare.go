// Package fairshare makes users take turns for expensive calls, such as one that reads thousands of names, or asks all nodes.
// The work of one user gets a twentieth of the processors while another user is active.
package fairshare

import (
	"context"
	"runtime"
	"sync"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// waitingMax bounds the calls of one user that wait for a turn. A user who reaches it runs many commands at once.
const waitingMax = 256

// Limiter bounds the number of callers that read much of the namespace at the same time. Waiting users get their turns
// one after the other, whatever number of calls each of them makes; the calls of one user are served in their order.
// After its work a user rests, in proportion to the work, while others are active. It is safe for concurrent use.
type Limiter struct {
	budget budget

	mu      sync.Mutex
	calls   map[hemera.Account]int           // under way; see Call
	free    int                              // places; while one is free, no call waits
	turns   []hemera.Account                 // users that wait, the next one first
	waiting map[hemera.Account][]chan<- bool // closed when the caller gets its place
	resting map[hemera.Account]int           // calls that rest before they wait
}

// New makes a limiter for all users: together they get at most half of the processors. At least one call may run, also on
// a machine with one processor.
func New() *Limiter { return Of(max(1, runtime.GOMAXPROCS(0)/2)) }

// Of makes a limiter with a number of places.
func Of(places int) *Limiter {
	return &Limiter{
		budget: budget{processors: runtime.GOMAXPROCS(0), until: map[hemera.Account]time.Time{}},
		calls:  map[hemera.Account]int{}, free: places, waiting: map[hemera.Account][]chan<- bool{},
		resting: map[hemera.Account]int{},
	}
}

// Seen records a request of who that does not take turns: for a while others rest because of it. Requests of the system
// itself do not count. It does not block.
func (l *Limiter) Seen(who hemera.Identity) {
	if who.Protocol != hemera.SystemIdentity().Protocol {
		l.budget.see(who.Account(), time.Now())
	}
}

// Acquire blocks until there is a place for a call of who. The caller calls release once, which frees the place. An admin
// never waits. It fails with Overloaded if too many calls of the user wait, or with the context's error.
func (l *Limiter) Acquire(ctx context.Context, who hemera.Identity) (release func(), err error) {
	if who.Admin {
		return func() {}, nil
	}
	l.Seen(who)
	asked := time.Now()
	defer func() { callOf(ctx).waited(time.Since(asked)) }()
	from := who.Account()
	l.mu.Lock()
	if l.resting[from]+len(l.waiting[from]) >= waitingMax {
		l.mu.Unlock()
		return nil, errs.New(errs.Overloaded, "turns.Acquire", who.Name, "too many calls of this user wait for their turn").
			WithRemedy("wait until searches and other commands of yours have ended")
	}
	l.resting[from]++
	l.mu.Unlock()
	err = l.budget.wait(ctx, from)
	l.mu.Lock()
	if l.resting[from]--; l.resting[from] == 0 {
		delete(l.resting, from)
	}
	if err != nil {
		l.mu.Unlock()
		return nil, err
	}
	queue := l.waiting[from]
	switch {
	case l.free > 0:
		l.free--
		l.mu.Unlock()
		return l.working(from), nil
	case len(queue) == 0:
		l.turns = append(l.turns, from)
	}
	turn := make(chan bool)
	l.waiting[from] = append(queue, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return l.working(from), nil
	case <-ctx.Done():
	}
	if !l.leave(from, turn) {
		l.release() // the turn came meanwhile
	}
	return nil, ctx.Err()
}

// working returns the function that ends a turn that begins now.
func (l *Limiter) working(who hemera.Account) (release func()) {
	began := time.Now()
	return func() {
		now := time.Now()
		l.budget.pay(who, now, now.Sub(began), stepUsual)
		l.release()
	}
}

// release frees a place, or gives it to the user with the next turn.
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

// leave removes a waiting call from its queue. It returns false if the call does not wait any more.
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

// listed is the number of entries of a list that are read in one turn.
const listed = 256

// List calls list, which reads entries from the namespace and passes them to visit, in turns of who. While visit runs,
// which may wait for a client, the caller has no turn; its time still counts as work of the user. Unless at is true, the
// first turn begins only after some entries, so that short lists take none.
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
		began := time.Now()
		defer func() { l.budget.pay(who.Account(), time.Now(), time.Since(began), 0) }()
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
