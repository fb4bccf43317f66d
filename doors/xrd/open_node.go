package xrd

import (
	"context"
	"errors"
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
	if again != nil && comesBack(o) && errors.Is(err, errs.Conflict) {
		h, err = &handle{file: lostFile{path, errs.As(err, errs.Conflict, "xrd.Write", path)}, path: path, writable: true}, nil
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
	if index, ok := opaque.Get(hemera.OpaquePiece); ok {
		n, err := strconv.ParseUint(index, 10, 8)
		if err != nil {
			return nil, errs.New(errs.Invalid, "xrd.Open", path, hemera.OpaquePiece+" is not a piece number")
		}
		open.Piece, open.Index = true, uint8(n)
	}
	c.takeTrace(r, opaque)
	return c.newHandle(path, o, func() (hemera.File, error) {
		return c.srv.o.Node.Open(c.traced(r), hemera.ParsePermit(opaque.Value(hemera.OpaqueCapability)), open)
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
func (c *conn) newHandle(path string, o wire.Open, open func() (hemera.File, error)) (*handle, error) {
	if len(c.session.handles) >= c.limits.Handles {
		return nil, c.tooMany()
	}
	place, err := c.place()
	if err != nil {
		return nil, err
	}
	f, err := open()
	if err != nil {
		place.Give(1)
		return nil, openFailure(err)
	}
	return &handle{file: f, place: place, path: path, posc: o.Options&wire.OpenPosc != 0, writable: f.Info().Writable}, nil
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
		if a, ok := h.file.(hemera.Allocated); ok {
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
		a, ok := h.file.(hemera.Aborter)
		if !ok {
			return errs.New(errs.Unsupported, "xrd.Abort", h.path, "the handle cannot be given up")
		}
		h.sealed = true
		h.inflight.Add(1)
		return c.beside(r, func() ([]byte, error) {
			defer h.inflight.Done()
			return nil, a.Abort(ctx)
		})
	}
	seal, err := hemera.ParseSealInfo(arg)
	if err != nil {
		return errs.As(err, errs.Invalid, "xrd.Seal", h.path)
	}
	s, ok := h.file.(hemera.Sealer)
	if !ok {
		return errs.New(errs.Unsupported, "xrd.Seal", h.path, "the handle is no piece")
	}
	if len(h.bad) > 0 {
		return refuse(wire.ChkSumErr, "pages whose checksums did not match were not sent again")
	}
	h.sealed = true
	h.inflight.Add(1)
	return c.beside(r, func() ([]byte, error) {
		defer h.inflight.Done()
		stat, err := s.Seal(ctx, seal)
		if err != nil {
			return nil, err
		}
		return append([]byte("piece="+stat.ID.String()+"&size="+strconv.FormatInt(stat.Size, 10)), 0), nil
	})
}
