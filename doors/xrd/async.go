package xrd

import (
	"context"
	"sync"
	"time"

	"hemera/rules/wire"
)

const (
	// promisedSeconds is the time that clients wait for a promised answer.
	promisedSeconds = 1800
	// asyncMax bounds the asynchronous work of one connection.
	asyncMax = 64
)

// asyncWork runs work of one connection outside its goroutine, each in a goroutine of its own, which answers when it is
// done. Answers come in any order. It is safe for concurrent use.
//
// The work must not use the fields that belong to the connection's goroutine: it has the handle of a file, which is
// counted as in use, and a copy of the request. It may answer on the Sink.
type asyncWork struct {
	slots   chan struct{}  // one element for each work under way
	running sync.WaitGroup // also goroutines that wait for a slot
}

// acquire takes a slot. It returns false if none is free. The caller passes the slot to start, or releases it.
func (a *asyncWork) acquire() bool {
	select {
	case a.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// release frees a slot.
func (a *asyncWork) release() { <-a.slots }

// start runs work on a goroutine of its own and then releases the slot, which the caller has acquired.
func (a *asyncWork) start(c *conn, work func()) {
	a.running.Go(func() {
		defer a.release()
		defer c.containPanic()
		work()
	})
}

// runInline runs work that waits for a disk, and answers. The connection waits meanwhile.
func runInline(r *request, work func() ([]byte, error)) error {
	r.lend()
	return withWaitResp(r, work)
}

// withWaitResp runs work and answers. If work takes longer than SlowAnswer it promises the answer, so that the client
// does not regard the connection as lost (§5 STREAMTIMEOUT).
func withWaitResp(r *request, work func() ([]byte, error)) error {
	waits := &r.conn.srv.waits
	w := waits.Get().(*slowAnswer) // pooled with its timer
	w.begin(r)
	body, err := work()
	if w.timer.Stop() { // otherwise it may still run; then it is not used again
		w.conn = nil
		waits.Put(w)
	} else if w.wasPromised() {
		return deliver(r, body, err)
	}
	if err != nil {
		return err
	}
	return r.ok(body)
}

// slowAnswer promises an answer that takes long.
type slowAnswer struct {
	timer  *time.Timer // runs promise; made at the first use
	conn   *conn
	stream wire.StreamID

	mu       sync.Mutex
	done     bool          // the answer is complete and is not promised any more
	promised chan struct{} // non-nil when the answer is promised; closed when the promise was sent
}

// begin starts the timer of one request.
func (w *slowAnswer) begin(r *request) {
	w.conn, w.stream = r.conn, r.Stream
	after := r.conn.srv.o.Limits.SlowAnswer
	if w.timer == nil {
		w.timer = time.AfterFunc(after, w.promise)
		return
	}
	w.timer.Reset(after)
}

// promise sends the promise unless the answer is complete. It runs in the timer's goroutine and does not hold mu while it
// sends.
func (w *slowAnswer) promise() {
	w.mu.Lock()
	if w.done {
		w.mu.Unlock()
		return
	}
	w.promised = make(chan struct{})
	w.mu.Unlock()
	defer close(w.promised)
	defer w.conn.containPanic()
	promiseAnswer(w.conn, w.stream)
}

// wasPromised ends the wait and reports whether the answer was promised. If so, it waits until the promise was sent: a
// client would take an answer before its promise for another request's.
func (w *slowAnswer) wasPromised() bool {
	w.mu.Lock()
	w.done = true
	promised := w.promised
	w.mu.Unlock()
	if promised == nil {
		return false
	}
	<-promised
	return true
}

// runAsync runs work that ends a write, and answers when it is done. The connection serves other requests meanwhile: a
// head node sends the pieces of many files over one connection, and these must not wait for each other's disks. Without a
// free slot runAsync works like runInline.
func runAsync(r *request, work func() ([]byte, error)) error {
	c := r.conn
	if !c.async.acquire() {
		return runInline(r, work)
	}
	own := r.detach() // the request itself ends when this function returns
	c.async.start(c, func() {
		err := withWaitResp(own, work)
		if err != nil {
			err = own.fail(err)
		}
		if err == nil {
			err = c.out.Flush()
		}
		if err != nil { // the connection's goroutine will see the error too
			_ = c.nc.Close()
		}
	})
	return nil
}

// promiseAnswer sends kXR_waitresp. It ignores errors: the next write fails too.
func promiseAnswer(c *conn, stream wire.StreamID) {
	_ = c.out.Answer(stream, wire.StatusWaitResp, wire.Wait{Seconds: promisedSeconds}.Append(nil))
	_ = c.out.Flush()
}

// deliver sends a promised answer.
func deliver(r *request, body []byte, err error) error {
	status := wire.StatusOK
	if err != nil {
		status, body = r.failure(err)
	}
	if err := r.conn.out.Collect(wire.AppendAsync(nil, r.Stream, status, body)); err != nil {
		return err
	}
	return r.conn.out.Flush()
}

// runAsyncAfter runs work outside the connection's goroutine. An answer within the grace is sent in order. Otherwise it
// is promised, and the connection serves other requests.
func runAsyncAfter(r *request, grace time.Duration, work func(context.Context) ([]byte, error)) error {
	c := r.conn
	if !c.async.acquire() {
		return &waitFor{Seconds: retryBusySeconds, Text: "too much slow work on this connection"}
	}
	if err := c.out.Flush(); err != nil {
		c.async.release()
		return err
	}
	later := r.detach() // for the answer after a promise
	type outcome struct {
		body []byte
		err  error
	}
	done := make(chan outcome, 1) // buffered, so that the work can end when nothing receives
	c.async.start(c, func() {
		body, err := work(later.context())
		done <- outcome{body, err}
	})
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case o := <-done:
		if o.err != nil {
			return o.err
		}
		return r.ok(o.body)
	case <-t.C:
	}
	promiseAnswer(c, r.Stream)
	c.async.running.Go(func() {
		defer c.containPanic()
		select {
		case o := <-done:
			_ = deliver(later, o.body, o.err)
		case <-c.ctx.Done():
		}
	})
	return nil
}
