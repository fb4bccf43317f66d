package xrootd

import (
	"context"
	"time"

	"hemera/platform/pause"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// requester sends requests along their routes. It carries out the decisions of [policy]. It has no state, so it can be
// copied.
type requester struct {
	pool *pool
	opts Options
}

// request is one operation, for any server on its route.
type request struct {
	op         string // as in errs.Error
	build      func(u URL) (wire.Request, []byte)
	repeatable bool          // see policy
	failover   bool          // see policy
	lane       int           // of the shared session
	silenceMax time.Duration // see call
	sink       sink          // gets the answer's bytes as they arrive; nil: they are collected
	exclusive  bool          // use a leased session
	recovers   bool          // an earlier session was lost, which may still hold locks
	stays      bool          // a redirect is the answer
	// onLateAnswer: see call.
	onLateAnswer func(conn *Conn, body []byte)
	// await, if set, waits for the answer in the caller's place.
	await func(ctx context.Context, conn *Conn, k *call) answer
}

// result is a good answer, with the session and the route that led to it.
type result struct {
	body       []byte
	conn       *Conn
	route      route
	redirected bool // the body is a redirect, for a request with stays
}

// do sends the request until the server to which the route leads has answered.
func (d requester) do(ctx context.Context, r route, q request) (result, error) {
	if err := r.url.checkPath(q.op); err != nil {
		return result{}, err
	}
	// The time is measured here and judged there.
	p := policy{op: q.op, repeatable: q.repeatable, failover: q.failover, retryFor: d.opts.RetryFor, waitFor: d.opts.WaitFor}
	spent := attempts{lost: q.recovers}
	var failing time.Time // time of the first failure, zero without any
	for {
		conn, a := d.attempt(ctx, r, q)
		if q.stays && a.err == nil && a.status == wire.StatusRedirect { // the redirect is the answer
			return result{a.body, conn, r, true}, nil
		}
		next := p.decide(r, a, spent)
		if next.stop {
			return result{a.body, conn, r, false}, next.err
		}
		spent.lost = spent.lost || a.err != nil
		if failing.IsZero() && (next.retry || a.err != nil) {
			failing = time.Now()
		}
		if next.retry {
			spent.failures++
			if spent.failures == failuresTold && d.opts.Trying != nil {
				d.opts.Trying(next.err, d.opts.RetryFor)
			}
			d.opts.Log.Debug("trying again", "op", q.op, "url", r.url.Redacted(), "after", next.delay, "error", next.err)
		}
		if next.wait {
			if spent.waited == 0 && next.delay >= waitTold && d.opts.Trying != nil {
				d.opts.Trying(next.err, d.opts.WaitFor)
			}
			spent.waited += next.delay
		}
		if err := pause.For(ctx, next.delay); err != nil {
			return result{}, errs.Wrap(err, q.op, r.url.Redacted())
		}
		if !failing.IsZero() {
			spent.failing = time.Since(failing)
		}
		r = next.route
	}
}

// attempt sends the request once, to the current server of the route. The connection is nil if there was none. It does
// not judge the answer.
func (d requester) attempt(ctx context.Context, r route, q request) (*Conn, answer) {
	conn, err := d.session(ctx, r.url.Endpoint, q)
	if err != nil {
		return nil, answer{err: err}
	}
	if q.exclusive {
		defer d.pool.release(conn)
	}
	k := &call{sink: q.sink, silenceMax: q.silenceMax, onLateAnswer: q.onLateAnswer}
	w, payload := q.build(r.url)
	if err := conn.send(ctx, k, w, payload); err != nil {
		return conn, answer{err: err}
	}
	conn.flush()
	if q.await != nil {
		return conn, q.await(ctx, conn, k)
	}
	return conn, conn.wait(ctx, k)
}

// session returns the session for one attempt.
func (d requester) session(ctx context.Context, e Endpoint, q request) (*Conn, error) {
	if q.exclusive {
		return d.pool.lease(ctx, e)
	}
	return d.pool.connect(ctx, e, q.lane)
}

// stream sends a request on its own session, and calls feed with the answer's bytes as they arrive. It ends with feed's
// error, if any.
func (d requester) stream(ctx context.Context, u URL, q request, feed func(chunk []byte) error) error {
	chunks := make(chunkSink, chunksAhead)
	var failed error
	q.exclusive, q.sink = true, chunks
	q.await = func(ctx context.Context, conn *Conn, k *call) answer {
		for {
			select {
			case chunk := <-chunks:
				if failed = feed(chunk); failed != nil {
					conn.Close() // the rest is not needed
					drain(chunks, k)
					return answer{}
				}
			case <-k.done:
				return k.answer
			case <-ctx.Done():
				conn.Close()
				drain(chunks, k)
				return answer{err: ctx.Err()}
			}
		}
	}
	_, err := d.do(ctx, newRoute(u), q)
	// The last chunks may still be in the channel when the answer is complete.
	for err == nil && failed == nil && len(chunks) > 0 {
		failed = feed(<-chunks)
	}
	if failed != nil {
		return failed
	}
	return err
}
