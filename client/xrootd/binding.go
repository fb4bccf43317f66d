package xrootd

import (
	"context"
	"errors"
	"sync"

	"hemera/platform/turn"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// binding connects an open file to its current handle at a server, and replaces the handle when its session is lost or
// its server cannot read the file. DESIGN.md has the rules.
type binding struct {
	client *Client
	url    URL // as opened, before redirects
	opts   OpenOptions
	lane   int // of the pool, for all handles of the file

	// turn belongs to the caller that opens the file again; mu is not held meanwhile.
	turn turn.Turn

	mu     sync.Mutex // guards the rest
	handle *handle
	route  route // where the handle is
	closed bool
	high   int64 // the server has accepted bytes up to here
	info   Info  // at the first open
	sized  bool  // the server gave an info
}

// handle is one opening of the file on one session. It does not change.
type handle struct {
	conn  *Conn
	fh    wire.Handle
	pages bool // pgread and pgwrite work
	gen   int  // counts openings of the file
}

// newHandle makes a handle. It keeps the session alive until leave or done.
func newHandle(conn *Conn, fh wire.Handle, gen int) *handle {
	conn.users.Add(1)
	return &handle{conn, fh, conn.HasPages(), gen}
}

// done lets the session end if it has no other user.
func (h *handle) done() { h.conn.users.Add(-1) }

// leave closes the handle without waiting; requests before it are still answered.
func (h *handle) leave() {
	h.done()
	if h.conn.send(noContext, &call{finish: func(*call) {}}, wire.Close{Handle: h.fh}) == nil {
		h.conn.flush()
	}
}

// abort cancels a write that must not continue, without waiting: it would leave a hole, and a close alone would make it
// visible.
func (h *handle) abort() {
	k := &call{finish: func(*call) {}}
	_ = h.conn.send(noContext, k, wire.Query{Kind: wire.QueryOpaquf, Handle: h.fh}, []byte(wire.OpaqueAbort))
	h.leave()
}

// closeLateOpen closes a file that was opened for a caller that did not wait for the answer.
func closeLateOpen(write bool) func(*Conn, []byte) {
	return func(conn *Conn, body []byte) {
		reply, err := wire.ParseOpenReply(body)
		if err != nil {
			return
		}
		h := newHandle(conn, reply.Handle, 0)
		if write {
			h.abort()
			return
		}
		h.leave()
	}
}

// openReason is the reason why a file is opened.
type openReason int

const (
	openFirst   openReason = iota
	openLost               // its session was lost
	openFailing            // its server could not read it
)

// open follows the route and makes the opened file the current handle. The caller holds the turn, or is the only one.
func (b *binding) open(ctx context.Context, r route, why openReason) error {
	again := why != openFirst
	// Says that this continues a read, see wire.OpaqueAgain.
	if again && !b.opts.Write {
		r.url.Opaque = r.url.Opaque.With(wire.OpaqueAgain, "1")
	}
	w := wire.Open{Mode: uint16(b.opts.Mode), Options: b.opts.flags(again)}
	a, err := b.client.do(ctx, r, request{
		op: "xrootd.Open", build: onPath(w), lane: b.lane,
		repeatable:   again || !b.opts.Exclusive,
		recovers:     why == openLost,
		failover:     !again || !b.opts.Write,
		onLateAnswer: closeLateOpen(b.opts.Write),
	})
	if err != nil {
		return err
	}
	reply, err := wire.ParseOpenReply(a.body)
	if err != nil {
		return errs.As(err, errs.Corrupt, "xrootd.Open", r.url.Redacted())
	}
	if b.opts.Write { // before data is sent, which a stalled disk may delay
		a.conn.raiseUserTimeout()
	}
	return b.bind(a, reply, again)
}

// bind makes a handle of an open's answer, unless the file has changed. It closes the old handle.
func (b *binding) bind(a result, reply wire.OpenReply, again bool) error {
	old, fresh, err := b.swap(a, reply, again)
	// Handles are closed without the lock, because that sends requests.
	switch {
	case err != nil && b.opts.Write:
		fresh.abort()
	case err != nil:
		fresh.leave()
	case old != nil:
		old.leave()
	}
	return err
}

// swap installs the new handle, and returns the old one. After an error the new one is not installed.
func (b *binding) swap(a result, reply wire.OpenReply, again bool) (old, fresh *handle, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	gen := 0 // of the first opening
	if b.handle != nil {
		gen = b.handle.gen + 1
	}
	fresh = newHandle(a.conn, reply.Handle, gen)
	if err := b.checkSame(a.route, reply, again); err != nil {
		return nil, fresh, err
	}
	old, b.handle, b.route = b.handle, fresh, a.route
	if reply.Stat != nil && !again {
		b.info, b.sized = Info{baseName(b.url.Path), *reply.Stat}, true
	}
	return old, fresh, nil
}

// checkSame fails with Conflict if the file that was opened again has changed, and with BadHandle if the file was closed
// meanwhile. The caller holds the lock.
func (b *binding) checkSame(r route, reply wire.OpenReply, again bool) error {
	switch {
	case !again:
		return nil
	case b.closed:
		return b.closedError()
	case reply.Stat == nil:
		return nil
	case b.opts.Write && reply.Stat.Size < b.high:
		return errs.New(errs.Conflict, "xrootd.GoOnWriting", r.url.Redacted(), "the server no longer has what was written before the connection was lost")
	case !b.opts.Write && b.sized && reply.Stat.Size != b.info.Size:
		return errs.New(errs.Conflict, "xrootd.GoOnReading", r.url.Redacted(), "the file was replaced while it was read").
			WithRemedy("read it again from its beginning")
	}
	return nil
}

// closedError returns the error of every call after Close.
func (b *binding) closedError() error {
	return errs.New(errs.BadHandle, "xrootd.Use", b.url.Redacted(), "the file is closed")
}

// current returns the handle to use now. It fails with BadHandle if the file is closed.
func (b *binding) current() (*handle, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, b.closedError()
	}
	return b.handle, nil
}

// size returns the file's size at the open, and whether the server reported it.
func (b *binding) size() (int64, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.info.Size, b.sized
}

// place returns the route of the current handle.
func (b *binding) place() route {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.route
}

// close marks the file closed and returns its last handle, or nil if it was closed before.
func (b *binding) close() *handle {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	return b.handle
}

// accepted records up to where the server has the file; only a truncation reduces that.
func (b *binding) accepted(end int64, truncated bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if truncated || end > b.high {
		b.high = end
	}
}

// recoveriesMax is the number of times in a row that one request is tried on a new handle.
const recoveriesMax = 8

// with runs op on the current handle, and again on a new one if that can help. It calls op on one handle at a time; op
// must be able to run again from its beginning.
func (b *binding) with(ctx context.Context, op func(h *handle) error) error {
	for tries := 0; ; tries++ {
		h, err := b.current()
		if err != nil {
			return err
		}
		if err = op(h); err == nil {
			return nil
		}
		if tries == recoveriesMax { // servers come and go faster than one request
			return err
		}
		if err := b.recover(ctx, h, err); err != nil {
			return err
		}
	}
}

// recover replaces the handle that failed with cause. It returns cause if nothing can be done. It blocks while another
// caller opens the file again.
func (b *binding) recover(ctx context.Context, failed *handle, cause error) error {
	_, gone := isLoss(cause) // otherwise the server has answered, and the session is alive
	kind := errs.KindOf(cause)
	if ctx.Err() != nil || (!gone && (b.opts.Write || failoverReason(kind) == "" || kind == errs.NotFound)) {
		return cause
	}
	if b.turn.Acquire(ctx) != nil {
		return cause
	}
	defer b.turn.Release()
	if now, err := b.current(); err != nil || now.gen != failed.gen {
		return nil // another caller has done it, or closed the file, which current reports
	}
	r := b.place() // it does not change while the turn is held
	log := b.client.opts.Log.With("url", b.url.Redacted(), "error", cause)
	if b.opts.Write {
		log.Info("opening again to go on writing")
		return b.open(ctx, r, openLost)
	}
	if sent, is := errors.AsType[*sentElsewhere](cause); is {
		log.Info("opening where the server says to go on reading")
		return b.open(ctx, sent.to, openFailing)
	}
	if next, ok := r.failed(kind); ok {
		log.Info("opening elsewhere to go on reading")
		why := openFailing
		if gone {
			why = openLost
		}
		err := b.open(ctx, next, why)
		if err == nil || !gone {
			return err
		}
	} else if !gone {
		return cause // there is no manager to ask for another server
	}
	log.Info("opening again to go on reading")
	return b.open(ctx, newRoute(b.url), openLost)
}
