package xrootd

import (
	"fmt"
	"io"
	"time"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// bodyMax bounds, in bytes, an answer that is kept whole; larger ones go to a sink of their own.
const bodyMax = 16 << 20

// frame is one piece of an answer as it stands in the stream.
type frame struct {
	n      int   // bytes that follow, and that the sink must read
	offset int64 // in the file; page answers only
	paged  bool  // kXR_status: pages with checksums, or the errors of written ones
}

// sink takes an answer's bytes as they arrive, in the session's reading goroutine. It must read
// exactly f.n bytes of r and must not wait for anything else. An error ends the session.
type sink interface {
	take(r *receiver, f frame) error
}

// answer is how a request ended: by the server's last frame, or by err.
type answer struct {
	status wire.Status
	body   []byte // without a sink, and of errors, redirects and waits
	err    error  // the session ended, or the caller left
}

// failure is nil for a good answer; else the error it stands for. Redirects and waits, which only
// operations that follow them understand, are errors here.
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

// waitTime is how long a server's "wait" shall be obeyed: hints beyond an hour are no hints.
// A negative number is no wait.
func waitTime(w wire.Wait) time.Duration {
	return time.Duration(min(max(w.Seconds, 0), 3600)) * time.Second
}

// call is one request in flight. The fields above the line belong to the session's lock, those
// below to one goroutine at a time: first the caller, then the reading goroutine, then again the
// caller, once the call has finished.
type call struct {
	slot       uint16        // of Conn.calls; its number travels as the stream id
	busy       bool          // the reading goroutine is in the middle of one of its frames
	abandoned  bool          // nobody waits; the slot stays taken until the answer has come
	since      time.Time     // when it was sent
	silenceMax time.Duration // without any bytes from the server, after which the session ends
	late       time.Time     // kXR_waitresp: not expected before; zero otherwise

	// ------
	sink   sink
	got    []byte // collected without a sink
	answer answer // set by complete
	// onLateAnswer, if set, runs in a goroutine of its own when a good answer comes to a call that was abandoned.
	onLateAnswer func(conn *Conn, body []byte)
	// finish runs once, in the reading goroutine, and must not wait. Without it done is closed.
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
	// Grown as bytes come, not by what the header says.
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

// complete ends the call. The session has already forgotten it.
// It is called once, without the session's lock.
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
