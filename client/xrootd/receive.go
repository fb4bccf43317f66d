package xrootd

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"hemera/rules/wire"
)

// contained runs work of the session in a goroutine. A panic there ends the session.
func (c *Conn) contained(work func()) {
	c.opts.Panics.Go(nil, "xrootd.Serve", c.endpoint.String(), func() {
		err := c.opts.Panics.Do("xrootd.Serve", c.endpoint.String(), func() error { work(); return nil })
		if err != nil {
			c.fail(err)
		}
	})
}

// receive reads the answers until the connection ends, and then fails all remaining calls. It runs in a goroutine of its
// own.
func (c *Conn) receive() {
	err := c.readFrames()
	if errors.Is(err, io.EOF) {
		err = errors.New("the server closed the connection")
	}
	c.fail(err)
}

// readFrames passes each frame to its call until the connection or the protocol breaks.
func (c *Conn) readFrames() error {
	var head [wire.ResponseHeaderSize]byte
	for {
		// Blocks between frames while the server is silent; watch bounds that time.
		if _, err := io.ReadFull(c.in, head[:]); err != nil {
			return err
		}
		// A header counts as a sign of life, even if the body of the frame takes long.
		c.heard.Store(time.Now().UnixNano())
		h := wire.ParseResponseHeader(head[:])
		if h.Length < 0 {
			return malformed("length %d", h.Length)
		}
		var err error
		if h.Status == wire.StatusAttn {
			err = c.attend(h)
		} else {
			err = c.dispatch(h, c.in)
		}
		if err != nil {
			return err
		}
	}
}

// attend handles an unsolicited message (kXR_attn): an answer that was promised by kXR_waitresp. It ignores other
// messages, as the protocol allows.
func (c *Conn) attend(h wire.ResponseHeader) error {
	if h.Length > bodyMax {
		return malformed("message is larger than %d bytes", bodyMax)
	}
	outer := call{}
	if err := outer.take(c.in, frame{n: int(h.Length)}); err != nil {
		return err
	}
	// The message has a whole response in it, which is handled like any other.
	inner, body, ok, err := wire.ParseAttn(outer.got)
	if err != nil {
		return err
	}
	if !ok {
		return nil
	}
	return c.dispatch(inner, &receiver{Reader: bufio.NewReader(bytes.NewReader(body))})
}

// beginFrame returns the call of a frame, and marks it busy until endFrame.
func (c *Conn) beginFrame(id wire.StreamID) (*call, error) {
	slot := int(binary.BigEndian.Uint16(id[:]))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	// The slot of an abandoned call stays taken until its answer, so an unknown one breaks the protocol.
	if slot >= len(c.calls) || c.calls[slot] == nil {
		return nil, malformed("answer to a request that was not made")
	}
	k := c.calls[slot]
	if !k.abandoned {
		k.busy = true
	}
	return k, nil
}

// endFrame ends the processing of a frame; after the last frame the slot is free. It reports whether the session has
// ended meanwhile, so that this call has to be completed here. late is the time until which the server has promised an
// answer; zero for none.
func (c *Conn) endFrame(k *call, last bool, late time.Time) (ended bool) {
	c.mu.Lock()
	k.busy = false
	k.late = late
	ended = c.err != nil
	if last || ended {
		c.calls[k.slot] = nil
	}
	c.mu.Unlock()
	if last && !ended && k.slot != greetingSlot {
		c.free <- k.slot
	}
	return ended
}

// dispatch reads one frame's body from in and passes it to its call. An error ends the session: then the place of the
// next frame in the stream is unknown.
func (c *Conn) dispatch(h wire.ResponseHeader, in *receiver) error {
	k, err := c.beginFrame(h.Stream)
	if err != nil {
		return err
	}
	s := k.sink
	switch {
	case k.abandoned && k.onLateAnswer == nil: // the bytes are not needed
		s = discard{}
	case k.abandoned || s == nil: // the sink's memory belongs to its caller again: collect
		s = k
	}
	var a answer
	last, late := true, time.Time{}
	c.opts.answers.begin()
	switch h.Status {
	case wire.StatusOK:
		err = s.take(in, frame{n: int(h.Length)})
	case wire.StatusOKSoFar:
		last = false
		err = s.take(in, frame{n: int(h.Length)})
	case wire.StatusStatus:
		last, err = c.dispatchPages(h, in, s)
	case wire.StatusWaitResp: // the answer follows in an attn
		last = false
		late, err = readLate(in, int(h.Length))
	default: // error, redirect, wait, authmore: small, and for the caller and not its sink
		text := call{}
		err = text.take(in, frame{n: int(h.Length)})
		a = answer{status: h.Status, body: text.got}
	}
	c.opts.answers.end()
	if err != nil {
		c.fail(err)
		last, a = true, answer{err: lost(c.endpoint, true, err)}
	}
	abandoned := k.abandoned
	// The session has ended while the frame was read, and fail has left this call alone.
	if c.endFrame(k, last, late) && !last {
		last, a = true, answer{err: lost(c.endpoint, true, c.reason())}
	}
	switch {
	case last && !abandoned:
		k.complete(a)
	// In its own goroutine, as it sends requests and this one must continue to read.
	case last && k.onLateAnswer != nil && h.Status == wire.StatusOK && err == nil:
		c.contained(func() { k.onLateAnswer(c, k.got) })
	}
	return err
}

// dispatchPages reads a kXR_status frame: its own header, then the data that the header announces.
func (c *Conn) dispatchPages(h wire.ResponseHeader, in *receiver, s sink) (last bool, err error) {
	var b [wire.StatusBodySize]byte
	// The header's length includes only the status body; that has the length of the following data.
	if int(h.Length) != len(b) {
		return false, malformed("page answer with a header of %d bytes", h.Length)
	}
	if _, err := io.ReadFull(in, b[:]); err != nil {
		return false, err
	}
	st, err := wire.ParseStatusFrame(b[:])
	if err != nil {
		return false, err
	}
	f := frame{n: int(st.DataLength), offset: st.Offset, paged: true}
	return !st.Partial, s.take(in, f)
}

// readLate reads a promise to answer within some seconds.
func readLate(in *receiver, n int) (time.Time, error) {
	text := call{}
	if err := text.take(in, frame{n: n}); err != nil {
		return time.Time{}, err
	}
	w, err := wire.ParseWait(text.got)
	return time.Now().Add(waitTime(w)), err
}

// discard is the sink of abandoned calls.
type discard struct{}

// take implements sink.
func (discard) take(r *receiver, f frame) error {
	_, err := r.Discard(f.n)
	return err
}
