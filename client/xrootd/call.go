package xrootd

import (
	"fmt"
	"io"
	"time"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// bodyMax bounds, in bytes, an answer that is kept whole; larger ones go to a sink.
const bodyMax = 16 << 20

// frame is one part of an answer as it is in the stream.
type frame struct {
	n      int   // bytes that follow, and that the sink must read
	offset int64 // in the file; page answers only
	paged  bool  // kXR_status: pages with checksums, or the errors of written ones
}

// sink receives an answer's bytes as they arrive, in the session's reading goroutine. It must read exactly f.n bytes of r
// and must not block on anything else. An error ends the session.
type sink interface {
	take(r *receiver, f frame) error
}

// answer is the end of a request: the server's last frame, or err.
type answer struct {
	status wire.Status
	body   []byte // without a sink, and of errors, redirects and waits
	err    error  // the session ended, or the caller left
}

// failure returns nil for a good answer, else its error. Redirects and waits are errors here; operations that follow them
// handle them first.
func (a answer) failure(op, subject string) error {
	switch {
	case a.err != nil:
		return errs.Wrap(a.err, op, subject)
	case a.status == wire.StatusOK:
		return nil
	case a.status == wire.StatusError:
		e := wire.ParseError(a.body)
		kind := kindOf(e)
		e.Text = brief(e.Text, subject)
		return errs.As(e, kind, op, subject)
	}
	return errs.New(errs.Unavailable, op, subject, fmt.Sprintf("the server answered with status %d", a.status))
}

// waitTime returns the time for which to obey a server's "wait". It ignores negative numbers, and more than an hour.
func waitTime(w wire.Wait) time.Duration {
	return time.Duration(min(max(w.Seconds, 0), 3600)) * time.Second
}

// call is one request in flight. The fields above the line belong to the session's lock. Those below belong to one
// goroutine at a time: first the caller, then the reading goroutine, then the caller again, once the call has finished.
type call struct {
	slot       uint16        // index in Conn.calls; it is sent as the stream id
	busy       bool          // the reading goroutine is processing one of its frames
	abandoned  bool          // the caller has left; the slot stays taken until the answer has arrived
	since      time.Time     // when it was sent
	silenceMax time.Duration // the session ends after that time without any bytes from the server
	late       time.Time     // kXR_waitresp: the answer is not expected before; zero otherwise

	// ------
	sink   sink
	got    []byte // collected without a sink
	answer answer // set by complete
	// onLateAnswer, if set, runs in its own goroutine when a good answer to an abandoned call arrives.
	onLateAnswer func(conn *Conn, body []byte)
	// finish runs once, in the reading goroutine, and must not block. If it is nil, done is closed instead.
	finish func(*call)
	done   chan struct{}
}

// take collects a frame of an answer that has no sink.
func (c *call) take(r *receiver, f frame) error {
	if f.n > bodyMax-len(c.got) {
		return malformed("answer is larger than %d bytes", bodyMax)
	}
	if f.n == 0 {
		return nil
	}
	// Grow as bytes arrive, not by the length in the header.
	for left := f.n; left > 0; {
		n := min(left, 64<<10)
		at := len(c.got)
		c.got = append(c.got, make([]byte, n)...)
		if _, err := io.ReadFull(r, c.got[at:]); err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// complete ends the call, which the session has already removed. It is called once, without the session's lock.
func (c *call) complete(a answer) {
	if a.body == nil && a.err == nil {
		a.body = c.got
	}
	c.answer = a
	if c.finish != nil {
		c.finish(c)
		return
	}
	close(c.done)
}
