package client

import (
	"context"
	"errors"
	"time"

	"hemera/errs"
	"hemera/rules/wire"
)

// effort is what an operation has spent so far.
type effort struct {
	lost     bool          // a session was lost: locks may be our own, of before
	failures int           // after which the same servers were asked again
	failing  time.Duration // since the first failure of any kind
	waited   time.Duration // because servers said so
}

// verdict is what to do after one attempt: stop with err (nil is success), or go to next after delay.
type verdict struct {
	stop  bool
	err   error
	next  route
	delay time.Duration
	wait  bool // the delay is a server's wish
	again bool // this was a failure, and servers that failed are asked again
}

// policy is how an operation may be repeated.
type policy struct {
	op       string
	again    bool // a repetition cannot harm
	failover bool // another server may succeed where one failed
	retryFor time.Duration
	waitFor  time.Duration
}

// judge decides what follows an attempt at r. It is pure: time comes in with e.
func (p policy) judge(r route, a answer, e effort) verdict {
	subject := r.url.Redacted()
	if a.err != nil {
		return p.judgeLoss(r, a.err, e)
	}
	switch a.status {
	case wire.StatusOK:
		return verdict{stop: true}
	case wire.StatusRedirect:
		to, err := parseRedirect(a.body)
		if err == nil {
			r, err = r.redirected(to)
		}
		return verdict{stop: err != nil, err: errs.Wrap(err, p.op, subject), next: r}
	case wire.StatusWait:
		w, err := wire.ParseWait(a.body)
		if err != nil {
			return verdict{stop: true, err: errs.As(err, errs.Corrupt, p.op, subject)}
		}
		if e.waited+waitTime(w) > p.waitFor {
			return verdict{stop: true, err: errs.New(errs.Timeout, p.op, subject, "the server keeps asking to wait: "+w.Text)}
		}
		return verdict{next: r, delay: waitTime(w), wait: true}
	}
	err := a.failure(p.op, subject)
	if e.lost && errs.KindOf(err) == errs.NoReplicas && len(r.tried) > 0 {
		return p.repeat(r.forgiving(), err, e) // what broke was a connection, not a server
	}
	if next, ok := r.failed(errs.KindOf(err)); ok && p.failover {
		return verdict{next: next}
	}
	if e.lost && errs.KindOf(err) == errs.Locked {
		return p.repeat(r, err, e) // until the server has noticed that the old session is gone
	}
	return verdict{stop: true, err: err}
}

func (p policy) judgeLoss(r route, cause error, e effort) verdict {
	err := errs.Wrap(cause, p.op, r.url.Redacted())
	sent, loss := isLoss(cause)
	if !loss || errors.Is(cause, context.Canceled) || (sent && !p.again) {
		return verdict{stop: true, err: err}
	}
	if next, ok := r.failed(errs.Unavailable); ok && p.failover {
		return verdict{next: next}
	}
	return p.repeat(r, err, e)
}

// repeat asks again after a while, unless that has gone on for too long.
func (p policy) repeat(r route, err error, e effort) verdict {
	delay := backoff(e.failures)
	if e.failing+delay > p.retryFor {
		return verdict{stop: true, err: err}
	}
	return verdict{err: err, next: r, delay: delay, again: true}
}

// backoff is the pause after so many failures in a row: 50 ms, doubling to 2 s.
func backoff(failures int) time.Duration {
	return min(50*time.Millisecond<<min(failures, 10), 2*time.Second)
}

// failuresTold is the failure with which an operation has gone on for more than a second.
const failuresTold = 6

// pause waits, or returns the context's error.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
