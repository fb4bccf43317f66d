package xrootd

import (
	"context"
	"time"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// requester sends requests wherever their routes lead. It carries out what [policy] decides.
// It has no state of its own, so that it is copied freely.
type requester struct {
	pool *pool
	opts Options
}

// request is one operation, to be sent wherever its route leads.
type request struct {
	op         string // as in errs.Error
	build      func(u URL) (wire.Request, []byte)
	repeatable bool          // see policy
	failover   bool          // see policy
	lane       int           // of the shared session
	silenceMax time.Duration // see call
	sink       sink          // takes the answer's bytes as they come; nil: they are collected
	exclusive  bool          // use a leased session
	recovers   bool          // the loss of a session came before, which may still hold locks
	stays      bool          // a redirect is the answer
	// onLateAnswer: see call.
	onLateAnswer func(conn *Conn, body []byte)
	// await, if set, waits for the answer in the caller's way.
	await func(ctx context.Context, conn *Conn, k *call) answer
}

// result is a good answer, the session it came on and the route that led there.
type result struct {
	body       []byte
	conn       *Conn
	route      route
	redirected bool // the body is a redirect, of a request that stays
}

// do sends the request until it is answered, by the server it leads to.
func (d requester) do(ctx context.Context, r route, q request) (result, error) {
	if err := r.url.checkPath(q.op); err != nil {
		return result{}, err
	}
	// Time is measured here and judged there.
	p := policy{op: q.op, repeatable: q.repeatable, failover: q.failover, retryFor: d.opts.RetryFor, waitFor: d.opts.WaitFor}
	spent := attempts{lost: q.recovers}
	var failing time.Time // since when, zero while nothing has failed
	for {
		conn, a := d.attempt(ctx, r, q)
		if q.stays && a.err == nil && a.status == wire.StatusRedirect { // where it leads is what was asked
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
		if err := pause(ctx, next.delay); err != nil {
			return result{}, errs.Wrap(err, q.op, r.url.Redacted())
		}
		if !failing.IsZero() {
			spent.failing = time.Since(failing)
		}
		r = next.route
	}
}

// attempt asks the server that the route is at, once.
// The connection is nil if there was none. Its answer is not judged here.
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

// session finds the session for one attempt.
func (d requester) session(ctx context.Context, e Endpoint, q request) (*Conn, error) {
	if q.exclusive {
		return d.pool.lease(ctx, e)
	}
	return d.pool.connect(ctx, e, q.lane)
}

// stream does a request on a session of its own, and calls feed with the answer's bytes as they come. It ends with
// feed's error, if any.
func (d requester) stream(ctx context.Context, u URL, q request, feed func(chunk []byte) error) error {
	chunks := make(chunkSink, chunksAhead)
	var failed error
	q.exclusive, q.sink = true, chunks
	q.await = func(ctx context.Context, conn *Conn, k *call) answer {
		for {
			select {
			case chunk := <-chunks:
				if failed = feed(chunk); failed != nil {
					conn.Close() // nobody reads the rest
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
	// The last pieces may still be in the channel when the answer is complete.
	for err == nil && failed == nil && len(chunks) > 0 {
		failed = feed(<-chunks)
	}
	if failed != nil {
		return failed
	}
	return err
}
