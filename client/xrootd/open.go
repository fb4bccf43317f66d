package xrootd

import (
	"context"
	"strconv"
	"time"

	"hemera/platform/turn"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// OpenOptions says how to open a file. The zero value reads.
type OpenOptions struct {
	Write bool // with reads; otherwise read only
	// Create makes the file, or empties an existing one; with Exclusive it fails with Exists instead. Without Create,
	// Write updates an existing file.
	Create    bool
	Exclusive bool
	Parents   bool   // make missing directories above
	Persist   bool   // remove the file if the client disappears before the close
	Force     bool   // open even if another writer holds it
	Mode      uint32 // permission bits of a new file
	Size      int64  // expected, or 0
	// Group restricts the file to sessions for files of its group. A server handles the requests of one session in order,
	// so a request that waits for a device delays those behind it. 0 is the common group.
	Group int
}

// flags returns the options of the first open, or of one that opens the file again.
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
	// An open that continues has none of the options of the first one.
	if again {
		return f
	}
	if o.Parents {
		f |= wire.OpenMkpath
	}
	if o.Persist {
		f |= wire.OpenPosc
	}
	if o.Force {
		f |= wire.OpenForce
	}
	return f
}

// Open opens the file. It follows redirects, and asks the manager for another server if one fails.
func (c *Client) Open(ctx context.Context, u URL, o OpenOptions) (*File, error) {
	if o.Size > 0 && o.Create { // the manager chooses disks with room for it, and checks the quota
		u.Opaque = u.Opaque.With("oss.asize", strconv.FormatInt(o.Size, 10))
	}
	if id := hemera.TraceID(ctx); id != "" { // servers use it in their logs
		u.Opaque = u.Opaque.With(wire.OpaqueTrace, id)
	}
	b := &binding{client: c, url: u, opts: o, lane: c.lane(o.Group), turn: turn.New()}
	if o.Exclusive && o.Write { // needs more care when the caller leaves
		if err := b.openExclusively(ctx, newRoute(u)); err != nil {
			return nil, err
		}
		return &File{b}, nil
	}
	if err := b.open(ctx, newRoute(u), openFirst); err != nil {
		return nil, err
	}
	return &File{b}, nil
}

// OpenAsync opens a file for an [AsyncWriter]. It blocks like [Client.Open].
func (c *Client) OpenAsync(ctx context.Context, u URL, o OpenOptions) (*AsyncWriter, error) {
	o.Write = true
	f, err := c.Open(ctx, u, o)
	if err != nil {
		return nil, err
	}
	h, err := f.b.current()
	if err != nil {
		return nil, err
	}
	return newAsyncWriter(c, h, u.Addr()), nil
}

// Where asks a manager to which server an open leads, without opening the file there. It returns the URL to open, with
// the permission in it. For a write, the lock is held until the file is opened there and closed, or its permission
// expires. It fails with Unsupported if the server opens the file itself, like one without a manager.
func (c *Client) Where(ctx context.Context, u URL, o OpenOptions) (URL, error) {
	const op = "xrootd.AskWhereToOpen"
	u.Opaque = u.Opaque.With(wire.OpaqueWhere, "1")
	r := newRoute(u)
	a, err := c.do(ctx, r, request{
		op: op, build: onPath(wire.Open{Mode: uint16(o.Mode), Options: o.flags(false)}), repeatable: !o.Exclusive, stays: true,
	})
	if err != nil {
		return URL{}, err
	}
	if !a.redirected { // the file is open now, which was not wanted
		if reply, err := wire.ParseOpenReply(a.body); err == nil {
			newHandle(a.conn, reply.Handle, 0).leave()
		}
		return URL{}, errs.New(errs.Unsupported, op, u.Redacted(), "the server is no manager: it opened the file itself")
	}
	to, err := parseRedirect(a.body)
	if err == nil {
		r, err = a.route.redirected(to)
	}
	r.url.Opaque = r.url.Opaque.Without(wire.OpaqueWhere)
	return r.url, errs.Wrap(err, op, u.Redacted())
}

// exclusiveGrace is the time that an exclusive create may still take after its caller has cancelled it.
const exclusiveGrace = 2 * time.Second

// openExclusively creates a file that no other client may be creating. A caller that cancels must not leave the name
// taken: it could not create the file itself a moment later. So the open continues for a while, and a created file is
// aborted before the call returns.
func (b *binding) openExclusively(ctx context.Context, r route) error {
	// lasting has the values of ctx, but ends exclusiveGrace after it.
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		t := time.AfterFunc(exclusiveGrace, cancel)
		context.AfterFunc(lasting, func() { t.Stop() })
	})()
	if err := b.open(lasting, r, openFirst); err != nil || ctx.Err() == nil {
		return err
	}
	h, err := b.current()
	if err != nil {
		return err
	}
	h.conn.roundTrip(lasting, nil, wire.Query{Kind: wire.QueryOpaquf, Handle: h.fh}, []byte(wire.OpaqueAbort))
	h.leave()
	return errs.Wrap(ctx.Err(), "xrootd.Open", r.url.Redacted())
}
