package xrootd

import (
	"context"
	"errors"
	"time"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// attempts counts the attempts of one operation. The loop around decide updates it.
type attempts struct {
	lost     bool          // a session was lost: a lock may be our own, from before
	failures int           // number of failures after which the same servers were asked again
	failing  time.Duration // since the first failure of any kind
	waited   time.Duration // because servers asked for it
}

// decision says what to do after one attempt: stop with err (nil is success), or continue with route after delay.
type decision struct {
	stop  bool
	err   error
	route route
	delay time.Duration
	wait  bool // the server asked for the delay
	retry bool // this was a failure, and the same servers are asked again
}

// policy says how an operation may be repeated.
type policy struct {
	op         string
	repeatable bool // a repetition cannot do harm
	failover   bool // another server may succeed where one failed
	retryFor   time.Duration
	waitFor    time.Duration
}

// decide returns the decision after an attempt at r. It is pure: e has the times.
func (p policy) decide(r route, a answer, e attempts) decision {
	subject := r.url.Redacted()
	if a.err != nil {
		return p.decideLoss(r, a.err, e)
	}
	switch a.status {
	case wire.StatusOK:
		return decision{stop: true}
	case wire.StatusRedirect:
		to, err := parseRedirect(a.body)
		if err == nil {
			r, err = r.redirected(to)
		}
		return decision{stop: err != nil, err: errs.Wrap(err, p.op, subject), route: r} // at once
	case wire.StatusWait:
		w, err := wire.ParseWait(a.body)
		if err != nil {
			return decision{stop: true, err: errs.As(err, errs.Corrupt, p.op, subject)}
		}
		if e.waited+waitTime(w) > p.waitFor {
			return decision{stop: true, err: errs.New(errs.Timeout, p.op, subject, "the server keeps asking to wait: "+w.Text)}
		}
		return decision{err: errs.New(errs.Unavailable, p.op, subject, w.Text), route: r, delay: waitTime(w), wait: true}
	}
	err := a.failure(p.op, subject)
	// The order matters: a failure of servers first, then a failure that another server may not have, then our own lock.
	if e.lost && errs.KindOf(err) == errs.NoReplicas && len(r.tried) > 0 {
		return p.repeat(r.withoutTried(), err, e) // a connection broke, not a server
	}
	if next, ok := r.failed(errs.KindOf(err)); ok && p.failover {
		return decision{route: next}
	}
	if e.lost && errs.KindOf(err) == errs.Locked {
		return p.repeat(r, err, e) // until the server has noticed that the old session is gone
	}
	return decision{stop: true, err: err}
}

// decideLoss decides after an attempt without an answer: a lost session, no connection, or a caller that left.
func (p policy) decideLoss(r route, cause error, e attempts) decision {
	err := errs.Wrap(cause, p.op, r.url.Redacted())
	sent, loss := isLoss(cause)
	// Errors that are not losses: the caller's own end, or Permit's refusal.
	if !loss || errors.Is(cause, context.Canceled) || (sent && !p.repeatable) {
		return decision{stop: true, err: err}
	}
	if next, ok := r.failed(errs.Unavailable); ok && p.failover {
		return decision{route: next}
	}
	return p.repeat(r, err, e)
}

// repeat tries again after a pause, unless the time for retries is over.
func (p policy) repeat(r route, err error, e attempts) decision {
	delay := backoff(e.failures)
	if e.failing+delay > p.retryFor {
		return decision{stop: true, err: err}
	}
	return decision{err: err, route: r, delay: delay, retry: true}
}

// backoff returns the pause after a number of failures in a row: 50 ms, doubling to 2 s.
func backoff(failures int) time.Duration {
	return min(50*time.Millisecond<<min(failures, 10), 2*time.Second)
}

// failuresTold is the number of failures after which an operation has taken more than a second.
const failuresTold = 6

// waitTold is the least delay by a server that is reported to the user.
const waitTold = 2 * time.Second
