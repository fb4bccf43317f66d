package fairshare

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// callsMax bounds the calls of one user that are under way. A user who reaches it runs many commands at once.
const callsMax = 256

// stepTime is the time for which a call works before it rests.
const stepTime = 2 * time.Millisecond

// Call is a call that may need much work, such as one on thousands of files. It works step by step, and rests between the
// steps while other users are active. It occupies no place, so it may wait for disks. Admins get the nil call, which does
// not rest.
type Call struct {
	limiter *Limiter
	who     hemera.Account
	outer   *Call // the call that this one is a part of, or nil

	mu    sync.Mutex
	began time.Time // beginning of the current step
}

// callKey is the key of a context's call.
type callKey struct{}

// In returns a context whose calls are parts of this one and are not counted separately.
func (c *Call) In(ctx context.Context) context.Context { return context.WithValue(ctx, callKey{}, c) }

// callOf returns the call of a context, or nil.
func callOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Begin blocks until a call of who may work. The caller calls End once. It fails with Overloaded if the user has too many
// calls under way, or with the context's error.
func (l *Limiter) Begin(ctx context.Context, who hemera.Identity) (*Call, error) {
	if who.Admin {
		return nil, nil //nolint:nilnil // the call that need not rest
	}
	if outer := callOf(ctx); outer != nil && outer.limiter == l && outer.who == who.Account() {
		return &Call{outer: outer}, nil
	}
	l.Seen(who)
	c := &Call{limiter: l, who: who.Account()}
	if !l.count(c.who, 1) {
		return nil, errs.New(errs.Overloaded, "turns.Begin", who.Name, fmt.Sprintf("%d calls of this user are under way", callsMax)).
			WithRemedy("send them one after the other, and this one again later")
	}
	if err := l.budget.wait(ctx, c.who); err != nil {
		l.count(c.who, -1)
		return nil, err
	}
	c.began = time.Now()
	return c, nil
}

// count adds n to the number of a user's calls. If that is too large, it changes nothing and returns false.
func (l *Limiter) count(who hemera.Account, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := l.calls[who] + n
	switch {
	case sum > callsMax:
		return false
	case sum == 0:
		delete(l.calls, who)
	default:
		l.calls[who] = sum
	}
	return true
}

// Rest must be called between steps of the work, by any goroutine of the call. It blocks if the call has worked for long
// enough; all goroutines of the call rest together. It fails with the context's error.
func (c *Call) Rest(ctx context.Context) error {
	if c == nil {
		return ctx.Err()
	}
	if c.outer != nil {
		return c.outer.Rest(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.began) < stepTime {
		return ctx.Err()
	}
	c.limiter.budget.pay(c.who, now, now.Sub(c.began), stepUsual)
	err := c.limiter.budget.wait(ctx, c.who)
	c.began = time.Now()
	return err
}

// waited subtracts time that the call waited for a turn from its work.
func (c *Call) waited(d time.Duration) {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.began = c.began.Add(d)
	}
}

// End ends the call.
func (c *Call) End() {
	if c == nil || c.outer != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.limiter.budget.pay(c.who, now, now.Sub(c.began), stepUsual)
	c.limiter.count(c.who, -1)
}
