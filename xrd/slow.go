package xrd

import (
	"context"
	"sync"
	"time"

	"hemera/wire"
)

// promiseSeconds is how long a client is told to wait for a promised answer.
const promiseSeconds = 1800

// promised runs work in place. If it takes longer than SlowAnswer the client is told that the
// answer comes later, so that it does not take the connection for dead (§5 STREAMTIMEOUT).
func (c *conn) promised(r *request, work func() ([]byte, error)) error {
	var mu sync.Mutex
	late, stream := false, r.Stream
	timer := time.AfterFunc(c.limits.SlowAnswer, func() {
		mu.Lock()
		defer mu.Unlock()
		late = true
		c.promise(stream)
	})
	body, err := work()
	timer.Stop()
	mu.Lock()
	defer mu.Unlock()
	switch {
	case late:
		return c.deliver(r, body, err)
	case err != nil:
		return err
	}
	return c.ok(r, body)
}

// beside runs work that ends a write, and answers when it is done, while the connection goes on:
// head nodes send the pieces of many files over one connection, and clients with many threads files,
// and those must not wait for each other's disks.
func (c *conn) beside(r *request, work func() ([]byte, error)) error {
	select {
	case c.slots <- struct{}{}:
	default:
		return c.promised(r, work)
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
			err = c.out.flush()
		}
		if err != nil {
			_ = c.nc.Close()
		}
	})
	return nil
}

// promise sends kXR_waitresp. A failure shows at the next write.
func (c *conn) promise(stream wire.StreamID) {
	_ = c.out.answer(stream, wire.StatusWaitResp, wire.Wait{Seconds: promiseSeconds}.Append(nil))
	_ = c.out.flush()
}

// deliver sends a promised answer.
func (c *conn) deliver(r *request, body []byte, err error) error {
	status := wire.StatusOK
	if err != nil {
		status, body = c.failure(r, err)
	}
	if err := c.out.collect(wire.AppendAsync(nil, r.Stream, status, body)); err != nil {
		return err
	}
	return c.out.flush()
}

// background runs work beside the connection. An answer that is there within the grace goes out in
// order; else it is promised, and the connection goes on.
func (c *conn) background(r *request, grace time.Duration, work func(context.Context) ([]byte, error)) error {
	select {
	case c.slots <- struct{}{}:
	default:
		return &waitFor{Seconds: 5, Text: "too much slow work on this connection"}
	}
	if err := c.out.flush(); err != nil {
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
