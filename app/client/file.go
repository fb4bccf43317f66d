package client

import (
	"context"
	"strconv"
	"sync"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/rules/wire"
)

// OpenOptions says how to open a file. The zero value reads.
type OpenOptions struct {
	Write bool
	// Create makes the file, or empties the one that exists; with Exclusive that is Exists. Without
	// Create, Write updates a file that exists.
	Create    bool
	Exclusive bool
	Parents   bool // make missing directories above
	Persist   bool // remove the file if the client goes away before the close
	Force     bool // open even if another writer holds it
	Mode      uint32
	Size      int64 // expected, or 0
}

// flags are the options of the first open, or of one that opens again what the first one made.
func (o OpenOptions) flags(again bool) uint16 {
	f := wire.OpenRetStat
	switch {
	case !o.Write:
		return f | wire.OpenRead
	case again || !o.Create:
		f |= wire.OpenUpdate
	case o.Exclusive:
		f |= wire.OpenUpdate | wire.OpenNew
	default:
		f |= wire.OpenUpdate | wire.OpenDelete
	}
	if again {
		return f
	}
	for bit, set := range map[uint16]bool{wire.OpenMkpath: o.Parents, wire.OpenPosc: o.Persist, wire.OpenForce: o.Force} {
		if set {
			f |= bit
		}
	}
	return f
}

// File is an open file. It outlives its connection: a read goes on at another server when one fails,
// a write goes on at the same one. Methods may be called concurrently.
type File struct {
	client *Client
	url    URL // as opened, before redirects
	opts   OpenOptions
	lane   int

	mu     sync.Mutex // held while opening again
	handle *handle
	route  route // where the handle is
	closed bool
	high   int64 // the server has accepted bytes up to here
	info   Info  // at the open
	sized  bool  // the server gave an info
}

// handle is one opening of the file on one session.
type handle struct {
	conn  *Conn
	fh    wire.Handle
	pages bool // pgread and pgwrite work
	gen   int  // counts openings
}

// Open opens the file, following redirects and going round servers that fail.
func (c *Client) Open(ctx context.Context, u URL, o OpenOptions) (*File, error) {
	return c.openOn(ctx, u, o, c.deal())
}

// openOn is Open on one of the sessions with whatever server the file is at.
func (c *Client) openOn(ctx context.Context, u URL, o OpenOptions, lane int) (*File, error) {
	if o.Size > 0 && o.Create {
		u.Opaque = u.Opaque.With("oss.asize", strconv.FormatInt(o.Size, 10))
	}
	if id := hemera.TraceID(ctx); id != "" {
		u.Opaque = u.Opaque.With(hemera.OpaqueTrace, id)
	}
	f := &File{client: c, url: u, opts: o, lane: lane}
	if o.Exclusive && o.Write {
		if err := f.openExclusively(ctx, newRoute(u)); err != nil {
			return nil, err
		}
		return f, nil
	}
	if err := f.open(ctx, newRoute(u), openFirst); err != nil {
		return nil, err
	}
	return f, nil
}

// exclusiveGrace is for how long an exclusive create is brought to its end after its caller has left.
const exclusiveGrace = 2 * time.Second

// openExclusively makes a file that nobody else may be making. A caller that leaves must not leave the name
// taken: he could not make the file himself the next moment. So the open goes on for a while, and what it
// made is given up before the call returns.
func (f *File) openExclusively(ctx context.Context, r route) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		t := time.AfterFunc(exclusiveGrace, cancel)
		context.AfterFunc(lasting, func() { t.Stop() })
	})()
	if err := f.open(lasting, r, openFirst); err != nil || ctx.Err() == nil {
		return err
	}
	h := f.handle
	h.conn.roundTrip(lasting, nil, wire.Query{Kind: wire.QueryOpaquf, Handle: h.fh}, []byte(hemera.OpaqueAbort))
	h.leave()
	return errs.Wrap(ctx.Err(), "open", r.url.Redacted())
}

// openWhy is why a file is opened.
type openWhy int

const (
	openFirst   openWhy = iota
	openLost            // its session was lost
	openFailing         // its server could not read it
)

// open goes the route and makes what it finds the file's handle.
func (f *File) open(ctx context.Context, r route, why openWhy) error {
	again := why != openFirst
	if again && !f.opts.Write {
		r.url.Opaque = r.url.Opaque.With(hemera.OpaqueAgain, "1")
	}
	w := wire.Open{Mode: uint16(f.opts.Mode), Options: f.opts.flags(again)}
	a, err := f.client.do(ctx, r, request{
		op: "open", build: onPath(w), lane: f.lane,
		again:    again || !f.opts.Exclusive,
		recovers: why == openLost,
		failover: !again || !f.opts.Write,
		regret:   regretOpen(f.opts.Write),
	})
	if err != nil {
		return err
	}
	reply, err := wire.ParseOpenReply(a.body)
	if err != nil {
		return errs.As(err, errs.Corrupt, "open", r.url.Redacted())
	}
	if again && f.opts.Write && reply.Stat != nil && reply.Stat.Size < f.high {
		giveUp(a.conn, reply.Handle)
		return errs.New(errs.Conflict, "go on writing", r.url.Redacted(), "the server no longer has what was written before the connection was lost")
	}
	if again && !f.opts.Write && f.sized && reply.Stat != nil && reply.Stat.Size != f.info.Size {
		a.conn.users.Add(1)
		(&handle{conn: a.conn, fh: reply.Handle}).leave()
		return errs.New(errs.Conflict, "go on reading", r.url.Redacted(), "the file was replaced while it was read").
			WithRemedy("read it again from its beginning")
	}
	gen := 0
	if f.handle != nil {
		gen = f.handle.gen + 1
		f.handle.leave()
	}
	a.conn.users.Add(1)
	if f.opts.Write {
		a.conn.mayBeReluctant()
	}
	f.handle = &handle{a.conn, reply.Handle, a.conn.HasPages(), gen}
	f.route = a.route
	if reply.Stat != nil && !again {
		f.info, f.sized = Info{baseName(f.url.Path), *reply.Stat}, true
	}
	return nil
}

// giveUp ends a write that must not go on: it would leave a hole, and a close would make it visible.
func giveUp(conn *Conn, fh wire.Handle) {
	conn.users.Add(1)
	k := &call{finish: func(*call) {}}
	_ = conn.send(noContext, k, wire.Query{Kind: wire.QueryOpaquf, Handle: fh}, []byte(hemera.OpaqueAbort))
	(&handle{conn: conn, fh: fh}).leave()
}

// regretOpen ends what was opened for somebody who did not wait for the answer.
func regretOpen(write bool) func(*Conn, []byte) {
	return func(conn *Conn, body []byte) {
		reply, err := wire.ParseOpenReply(body)
		switch {
		case err != nil:
		case write:
			giveUp(conn, reply.Handle)
		default:
			conn.users.Add(1)
			(&handle{conn: conn, fh: reply.Handle}).leave()
		}
	}
}

// leave closes a handle without waiting; requests before it are still answered.
func (h *handle) leave() {
	h.conn.users.Add(-1)
	if h.conn.send(noContext, &call{finish: func(*call) {}}, wire.Close{Handle: h.fh}) == nil {
		h.conn.flush()
	}
}

// Info is what the server said at the open. Size is zero if it said nothing.
func (f *File) Info() Info { return f.info }

// URL is where the file was found: its server after all redirects.
func (f *File) URL() URL {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.route.url
}

// current is the handle to use now.
func (f *File) current() (*handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errs.New(errs.BadHandle, "use", f.url.Redacted(), "the file is closed")
	}
	return f.handle, nil
}

// recoveriesMax is how many times in a row one request is tried on a new handle.
const recoveriesMax = 8

// with runs op on the current handle, and again on a new one when that can help.
func (f *File) with(ctx context.Context, op func(h *handle) error) error {
	for tries := 0; ; tries++ {
		h, err := f.current()
		if err != nil {
			return err
		}
		if err = op(h); err == nil {
			return nil
		}
		if tries == recoveriesMax {
			return err
		}
		if err := f.recover(ctx, h, err); err != nil {
			return err
		}
	}
}

// recover replaces the handle that failed with cause. It returns cause if nothing can be done.
func (f *File) recover(ctx context.Context, failed *handle, cause error) error {
	_, gone := isLoss(cause)
	kind := errs.KindOf(cause)
	if ctx.Err() != nil || (!gone && (f.opts.Write || failoverReason(kind) == "" || kind == errs.NotFound)) {
		return cause
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.handle.gen != failed.gen {
		return nil // someone else has done it; current tells
	}
	log := f.client.opts.Log.With("url", f.url.Redacted(), "because", cause)
	if f.opts.Write {
		log.Info("opening again to go on writing")
		return f.open(ctx, f.route, openLost)
	}
	if next, ok := f.route.failed(kind); ok {
		log.Info("opening elsewhere to go on reading")
		why := openFailing
		if gone {
			why = openLost
		}
		err := f.open(ctx, next, why)
		if err == nil || !gone {
			return err
		}
	} else if !gone {
		return cause
	}
	log.Info("opening again to go on reading")
	return f.open(ctx, newRoute(f.url), openLost)
}

// slowPatience is the least silence granted to requests that wait for a device, not for the network.
const slowPatience = time.Minute

// ask does one small request on the handle.
func (f *File) ask(ctx context.Context, op string, q func(h *handle) (wire.Request, []byte)) ([]byte, error) {
	return f.askFor(ctx, max(f.client.opts.Stall, slowPatience), op, q)
}

// askFor is ask with another patience.
func (f *File) askFor(ctx context.Context, patience time.Duration, op string, q func(h *handle) (wire.Request, []byte)) ([]byte, error) {
	var body []byte
	err := f.with(ctx, func(h *handle) error {
		for p, e := (policy{op: op, waitFor: f.client.opts.WaitFor}), (effort{}); ; {
			w, payload := q(h)
			k := &call{patience: patience}
			if err := h.conn.send(ctx, k, w, payload); err != nil {
				return err
			}
			h.conn.flush()
			a := h.conn.wait(ctx, k)
			v := p.judge(newRoute(f.url), a, e)
			if v.stop {
				body = a.body
				return v.err
			}
			if !v.wait {
				return errs.New(errs.Unsupported, op, f.url.Redacted(), "redirect in the middle of a file")
			}
			e.waited += v.delay
			if err := pause(ctx, v.delay); err != nil {
				return err
			}
		}
	})
	return body, err
}

// Sync returns when the server has made everything written durable.
func (f *File) Sync(ctx context.Context) error {
	_, err := f.ask(ctx, "sync", func(h *handle) (wire.Request, []byte) { return wire.Sync{Handle: h.fh}, nil })
	return err
}

// Truncate sets the size.
func (f *File) Truncate(ctx context.Context, size int64) error {
	_, err := f.ask(ctx, "truncate", func(h *handle) (wire.Request, []byte) { return wire.Truncate{Handle: h.fh, Size: size}, nil })
	if err == nil {
		f.accepted(size, true)
	}
	return err
}

// accepted notes how far the server has the file; only a truncation makes that less.
func (f *File) accepted(end int64, truncated bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if truncated || end > f.high {
		f.high = end
	}
}

// Stat asks the server about the file as it is now.
func (f *File) Stat(ctx context.Context) (Info, error) {
	body, err := f.ask(ctx, "stat", func(h *handle) (wire.Request, []byte) { return wire.Stat{Handle: h.fh}, nil })
	if err != nil {
		return Info{}, err
	}
	s, err := wire.ParseStat(body)
	return Info{baseName(f.url.Path), s}, errs.As(err, errs.Corrupt, "stat", f.url.Redacted())
}

// Query asks a question about the open file.
func (f *File) Query(ctx context.Context, kind uint16, arg string) (string, error) {
	body, err := f.ask(ctx, "query", func(h *handle) (wire.Request, []byte) {
		return wire.Query{Kind: kind, Handle: h.fh}, []byte(arg)
	})
	return wire.Text(body), err
}

// Close ends all use of the file. Of a written file, nil means what the server means by it: at
// Hemera that the content is durable and visible. After an error of a write the content is not to
// be relied on. A second Close is BadHandle. When ctx is over already the server is told and not waited for, and a
// write is given up.
func (f *File) Close(ctx context.Context) error {
	if over := ctx.Err(); over != nil {
		f.letGo()
		if !f.opts.Write {
			return nil
		}
		return errs.Wrap(over, "close", f.url.Redacted())
	}
	_, err := f.ask(ctx, "close", func(h *handle) (wire.Request, []byte) { return wire.Close{Handle: h.fh}, nil })
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		f.handle.conn.users.Add(-1)
	}
	if !f.opts.Write {
		return nil
	}
	return err
}

// letGo ends all use of the file without waiting: a session lives on, and the server would keep what is open
// in it.
func (f *File) letGo() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	if !f.opts.Write {
		f.handle.leave()
		return
	}
	giveUp(f.handle.conn, f.handle.fh)
	f.handle.conn.users.Add(-1)
}

// Abandon gives up a write: nothing of it becomes visible where the server can do that; elsewhere
// the file, if this open made it, is removed.
func (f *File) Abandon(ctx context.Context) error {
	if _, err := f.Query(ctx, wire.QueryOpaquf, hemera.OpaqueAbort); err == nil {
		return f.Close(ctx)
	}
	err := f.Close(ctx)
	if f.opts.Create {
		err = f.client.Remove(ctx, f.url)
	}
	return err
}
