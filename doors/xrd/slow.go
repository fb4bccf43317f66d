package xrd

import (
	"context"
	"sync"
	"time"

	"hemera/rules/wire"
)

// promiseSeconds is how long a client is told to wait for a promised answer.
const promiseSeconds = 1800

// inPlace runs work that waits for a disk while the connection waits for it.
func (c *conn) inPlace(r *request, work func() ([]byte, error)) error {
	c.lend()
	return c.promised(r, work)
}

// promised runs work. If it takes longer than SlowAnswer the client is told that the answer comes later,
// so that it does not take the connection for dead (§5 STREAMTIMEOUT).
func (c *conn) promised(r *request, work func() ([]byte, error)) error {
	w := c.srv.waits.Get().(*wait)
	w.begin(c, r.Stream)
	body, err := work()
	if w.timer.Stop() { // else it may still run: then it is not used again
		w.conn = nil
		c.srv.waits.Put(w)
	} else if w.wasTold() {
		return c.deliver(r, body, err)
	}
	if err != nil {
		return err
	}
	return c.ok(r, body)
}

// wait is work that a client waits for.
type wait struct {
	timer  *time.Timer // runs tell; made with the first work
	conn   *conn
	stream wire.StreamID

	mu   sync.Mutex
	over bool // the work ended; the client will not be told any more
	told bool // the client was told that the answer comes later
}

// begin has the client told when the work is slow.
func (w *wait) begin(c *conn, stream wire.StreamID) {
	w.conn, w.stream = c, stream
	if w.timer == nil {
		w.timer = time.AfterFunc(c.limits.SlowAnswer, w.tell)
		return
	}
	w.timer.Reset(c.limits.SlowAnswer)
}

func (w *wait) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.told = true
		w.conn.promise(w.stream)
	}
}

// wasTold ends the work and reports whether the client was told; it will not be afterwards.
func (w *wait) wasTold() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	return w.told
}

// beside runs work that ends a write, and answers when it is done, while the connection goes on:
// head nodes send the pieces of many files over one connection, and clients with many threads files,
// and those must not wait for each other's disks.
func (c *conn) beside(r *request, work func() ([]byte, error)) error {
	select {
	case c.slots <- struct{}{}:
	default:
		return c.inPlace(r, work)
	}
	own := &request{RequestHeader: r.RequestHeader, trace: r.traceID()}
	c.jobs.Go(func() {
		defer func() { <-c.slots }()
		defer c.contain()
		err := c.promised(own, work)
		if err != nil {
			err = c.answerError(own, err)
		}
		if err == nil {
			err = c.out.Flush()
		}
		if err != nil {
			_ = c.nc.Close()
		}
	})
	return nil
}

// promise sends kXR_waitresp. A failure shows at the next write.
func (c *conn) promise(stream wire.StreamID) {
	_ = c.out.Answer(stream, wire.StatusWaitResp, wire.Wait{Seconds: promiseSeconds}.Append(nil))
	_ = c.out.Flush()
}

// deliver sends a promised answer.
func (c *conn) deliver(r *request, body []byte, err error) error {
	status := wire.StatusOK
	if err != nil {
		status, body = c.failure(r, err)
	}
	if err := c.out.Collect(wire.AppendAsync(nil, r.Stream, status, body)); err != nil {
		return err
	}
	return c.out.Flush()
}

// background runs work beside the connection. An answer that is there within the grace goes out in
// order; else it is promised, and the connection goes on.
func (c *conn) background(r *request, grace time.Duration, work func(context.Context) ([]byte, error)) error {
	select {
	case c.slots <- struct{}{}:
	default:
		return &waitFor{Seconds: 5, Text: "too much slow work on this connection"}
	}
	if err := c.out.Flush(); err != nil {
		return err
	}
	later := &request{RequestHeader: r.RequestHeader, trace: r.traceID()}
	type outcome struct {
		body []byte
		err  error
	}
	done := make(chan outcome, 1)
	c.jobs.Go(func() {
		defer func() { <-c.slots }()
		defer c.contain()
		body, err := work(c.traced(later))
		done <- outcome{body, err}
	})
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case o := <-done:
		if o.err != nil {
			return o.err
		}
		return c.ok(r, o.body)
	case <-t.C:
	}
	c.promise(r.Stream)
	c.jobs.Go(func() {
		select {
		case o := <-done:
			_ = c.deliver(later, o.body, o.err)
		case <-c.ctx.Done():
		}
	})
	return nil
}
