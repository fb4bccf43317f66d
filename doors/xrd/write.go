package xrd

import (
	"hemera"
	"hemera/doors/xrd/transport"
	"hemera/errs"
	"hemera/rules/wire"
)

// write answers kXR_write. The data is taken off the connection in chunks, whatever its length, and
// to its end whatever happens.
func (c *conn) write(r *request) error {
	q := wire.DecodeWrite(r.Body)
	n := int64(r.Length)
	h, err := c.target(q.Handle, q.Offset, n)
	switch {
	case q.Path != 0:
		return c.writeOnSubstream(q.Path, r, h, err, func(b *conn) error { return b.takeWrite(h, q.Offset, n) })
	case err != nil:
		return c.drain(n, err)
	}
	return c.takeWrite(h, q.Offset, n)
}

// takeWrite takes the data of the write that the connection is about, and answers it.
func (c *conn) takeWrite(h *handle, off, n int64) error {
	if err := c.takeData(h, off, n, 0); err != nil {
		return err
	}
	return c.ok(&c.current, nil)
}

// target finds the handle of a write and judges its range.
func (c *conn) target(id wire.Handle, off, n int64) (*handle, error) {
	h, err := c.session.handle(id)
	if err == nil {
		err = h.forWriting()
	}
	switch {
	case err != nil:
		return nil, err
	case off < 0:
		return nil, refuse(wire.ArgInvalid, "the offset of a write must not be negative")
	case off > hemera.FileSizeMax-n:
		return nil, errs.New(errs.TooLarge, "xrd.Write", h.path, "the write ends beyond the largest file")
	}
	return h, nil
}

// takeData writes the next n bytes of the connection to the file. Of the request, so many more are behind
// them.
func (c *conn) takeData(h *handle, off, n, behind int64) error {
	if n == 0 {
		return nil
	}
	k := c.srv.pool.Chunk()
	defer c.srv.pool.PutChunk(k)
	for n > 0 {
		p := k.Buf[:transport.ChunkLen(off, n)]
		if err := c.in.ReadFull(p); err != nil {
			return err
		}
		off, n = off+int64(len(p)), n-int64(len(p))
		if err := c.writing(h, n+behind, func() error { return h.file.WritePages(p, nil, off-int64(len(p))) }); err != nil {
			return c.drain(n, err)
		}
	}
	return nil
}

// writev answers kXR_writev, whose data follows outside its length. When it fails the rest is
// dropped as long as that is bounded.
func (c *conn) writev(r *request) error {
	count, err := wire.CheckSegments(r.payload)
	if err != nil {
		// Without the lengths the end of the data is not known.
		return closing{err}
	}
	segments := make([]wire.Segment, count)
	var left int64
	for i := range segments {
		segments[i] = wire.ParseSegment(r.payload[i*wire.SegmentSize:])
		left += int64(segments[i].Length)
	}
	touched := map[*handle]bool{}
	for _, s := range segments {
		h, err := c.target(s.Handle, s.Offset, int64(s.Length))
		if err != nil {
			return c.dropVector(left, err)
		}
		left -= int64(s.Length)
		if err := c.takeData(h, s.Offset, int64(s.Length), left); err != nil {
			return c.dropVector(left, err)
		}
		touched[h] = true
	}
	if wire.DecodeWritev(r.Body).Options&wire.WritevSync != 0 {
		for h := range touched {
			if err := h.file.Sync(c.traced(r)); err != nil {
				return err
			}
		}
	}
	return c.ok(r, nil)
}

func (c *conn) dropVector(left int64, err error) error {
	if left > drainMax {
		return closing{err}
	}
	return c.drain(left, err)
}
