package xrd

import (
	"context"
	"strconv"
	"strings"

	"hemera"
	"hemera/errs"
	"hemera/rules/wire"
)

// openAtNode answers kXR_open with a manager's grant in its opaque part; without one the client is
// sent to the manager.
func (c *conn) openAtNode(r *request) error {
	raw, opaque := wire.SplitPath(r.payload)
	path, err := wire.CleanPath(raw)
	if err != nil {
		return err
	}
	o, err := openOptions(r)
	if err != nil {
		return err
	}
	if opaque.Has(tpcKey) {
		part, err := tpcPart(opaque)
		if err != nil {
			return err
		}
		if part == tpcPuller {
			return c.openRendezvous(r, path, opaque)
		}
	}
	if !opaque.Has(hemera.OpaqueCapability) {
		return c.toManager(r)
	}
	h, err := c.openFile(r, path, opaque, o)
	again := c.anewFor(opaque, o)
	if again != nil && comesBack(o) && isConflict(err) {
		h, err = newLostHandle(path, errs.As(err, errs.Conflict, "xrd.Write", path)), nil
	}
	if err != nil {
		return err
	}
	h.anew = again
	if err := c.arrangeCopy(h, path, opaque); err != nil {
		h.giveUp(c.ctx)
		return err
	}
	return c.okOpen(r, h, o)
}

func (c *conn) openFile(r *request, path string, opaque wire.Opaque, o wire.Open) (*handle, error) {
	open := nodeOpen(o)
	open.Path = path
	c.takeTrace(r, opaque)
	if text, ok := opaque.Get(hemera.OpaquePiece); ok {
		piece, err := hemera.ParsePieceOpen(text)
		if err != nil {
			return nil, errs.As(err, errs.Invalid, "xrd.Open", path)
		}
		piece.Truncate = open.Truncate
		return c.newHandle(path, o, func(h *handle) (err error) {
			h.piece, err = c.srv.o.Node.OpenPiece(c.traced(r), hemera.ParsePermit(opaque.Value(hemera.OpaqueCapability)), piece)
			h.file = h.piece
			return err
		})
	}
	return c.newHandle(path, o, func(h *handle) (err error) {
		h.whole, err = c.srv.o.Node.Open(c.traced(r), hemera.ParsePermit(opaque.Value(hemera.OpaqueCapability)), open)
		h.file = h.whole
		return err
	})
}

// nodeOpen is how a node opens what a client's open asks for.
func nodeOpen(o wire.Open) hemera.NodeOpen {
	return hemera.NodeOpen{Truncate: o.Options&(wire.OpenNew|wire.OpenDelete) != 0}
}

// takeTrace goes on with the client's trace id.
func (c *conn) takeTrace(r *request, opaque wire.Opaque) {
	if trace := opaque.Value(hemera.OpaqueTrace); trace != "" && len(trace) <= 64 {
		r.trace = printable(trace)
	}
}

// newHandle opens a file for one more handle.
func (c *conn) newHandle(path string, o wire.Open, open func(*handle) error) (*handle, error) {
	if len(c.session.handles) >= c.limits.Handles {
		return nil, c.tooMany()
	}
	place, err := c.place()
	if err != nil {
		return nil, err
	}
	h := &handle{place: place, path: path, posc: o.Options&wire.OpenPosc != 0}
	if err := open(h); err != nil {
		place.Give(1)
		return nil, openFailure(err)
	}
	h.writable = h.file.Info().Writable
	return h, nil
}

// okOpen answers an open with the handle it makes.
func (c *conn) okOpen(r *request, h *handle, o wire.Open) error {
	reply := wire.OpenReply{Handle: c.session.addHandle(h)}
	if o.Options&wire.OpenRetStat != 0 {
		s := statOf(h.file.Info())
		reply.Stat = &s
	}
	return c.ok(r, reply.Append(nil, o.Options&wire.OpenCompress != 0))
}

// holes tells a copy where the data of an open file goes on, so that holes are not sent, or how much it is.
func (c *conn) holes(r *request, id wire.Handle, arg string) error {
	h, err := c.session.handle(id)
	if err != nil {
		return err
	}
	var ask func() (int64, error)
	if arg == hemera.OpaqueAllocated {
		if a, ok := h.file.(hemera.Sparse); ok {
			ask = a.Allocated
		}
	} else {
		off, err := hemera.ParseAskData(arg)
		if err != nil {
			return errs.As(err, errs.Invalid, "xrd.Data", h.path)
		}
		if s, ok := h.file.(hemera.Sparse); ok {
			ask = func() (int64, error) { return s.NextData(off) }
		}
	}
	if ask == nil {
		return errs.New(errs.Unsupported, "xrd.Data", h.path, "the handle knows no holes")
	}
	h.inflight.Add(1)
	return c.beside(r, func() ([]byte, error) {
		defer h.inflight.Done()
		n, err := ask()
		return append(strconv.AppendInt(nil, n, 10), 0), err
	})
}

// finishPiece serves what a head node asks of a piece handle by kXR_query: to seal it or give it up.
func (c *conn) finishPiece(r *request, id wire.Handle, arg string) error {
	h, err := c.session.handle(id)
	if err != nil {
		return err
	}
	abort := strings.HasPrefix(arg, hemera.OpaqueAbort)
	if abort && h.sealed && h.writable {
		// What is sealed is given up too, as long as its head has not let go of it.
	} else if err := h.forWriting(); err != nil {
		return err
	}
	h.inflight.Wait()
	ctx := context.WithoutCancel(c.traced(r))
	if abort {
		h.sealed = true
		h.inflight.Add(1)
		return c.beside(r, func() ([]byte, error) {
			defer h.inflight.Done()
			return nil, h.end(ctx, hemera.EndAbort)
		})
	}
	seal, err := hemera.ParseSealInfo(arg)
	if err != nil {
		return errs.As(err, errs.Invalid, "xrd.Seal", h.path)
	}
	if h.piece == nil {
		return errs.New(errs.Unsupported, "xrd.Seal", h.path, "the handle is no piece")
	}
	if len(h.bad) > 0 {
		return refuse(wire.ChkSumErr, "pages whose checksums did not match were not sent again")
	}
	h.sealed = true
	h.inflight.Add(1)
	return c.beside(r, func() ([]byte, error) {
		defer h.inflight.Done()
		stat, err := h.piece.Seal(ctx, seal)
		if err != nil {
			return nil, err
		}
		return append([]byte("piece="+stat.ID.String()+"&size="+strconv.FormatInt(stat.Size, 10)), 0), nil
	})
}
