package xrd

import (
	"hemera/doors/xrd/transport"
	"hemera/rules/checksum"
	"hemera/rules/wire"
)

// pgwrite answers kXR_pgwrite: each page is checked against its checksum; good ones are written,
// bad ones are listed for the client to send again (§2.9).
func (c *conn) pgwrite(r *request) error {
	q := wire.DecodePgwrite(r.Body)
	left := int64(r.Length)
	h, err := c.target(q.Handle, q.Offset, left)
	if q.Path != 0 {
		return c.writeOnSubstream(q.Path, r, h, err, func(b *conn) error { return b.takePgwrite(h, q, left) })
	}
	if err != nil {
		return c.drain(left, err)
	}
	return c.takePgwrite(h, q, left)
}

// takePgwrite takes the pages of the write that the connection is about, and answers it.
func (c *conn) takePgwrite(h *handle, q wire.Pgwrite, left int64) error {
	n, err := wire.PagesDataLen(q.Offset, left)
	if err == nil {
		err = checkPageWrite(h, q, n)
	}
	if err != nil {
		return c.drain(left, err)
	}
	bad, err := c.takePages(h, q.Offset, n)
	if err != nil {
		return err
	}
	return c.okPages(&c.current, q.Offset, bad)
}

func checkPageWrite(h *handle, q wire.Pgwrite, n int64) error {
	if q.Flags&wire.PageRetry == 0 {
		return nil
	}
	if wire.Fragments(q.Offset, n) != 1 {
		return refuse(wire.ArgInvalid, "a page sent again must be one page")
	}
	h.badMu.Lock()
	defer h.badMu.Unlock()
	if _, expected := h.bad[q.Offset]; !expected {
		return refuse(wire.ArgInvalid, "this page was not asked for again")
	}
	return nil
}

// badPage is a page whose checksum did not match.
type badPage struct {
	off int64
	n   int
}

// takePages takes n bytes of page data off the connection and writes what matches its checksum.
func (c *conn) takePages(h *handle, off, n int64) ([]badPage, error) {
	if n == 0 {
		return nil, nil
	}
	k := c.srv.pool.Chunk()
	defer c.srv.pool.PutChunk(k)
	var bad []badPage
	for n > 0 {
		want := transport.ChunkLen(off, n)
		raw := k.Buf[:wire.PagesLen(off, want)]
		if err := c.in.ReadFull(raw); err != nil {
			return nil, err
		}
		rest := wire.PagesLen(off+want, n-want)
		p, sums, err := wire.CutPages(raw, k.Sums[:], off)
		if err == nil {
			bad, err = c.writePages(h, run{p, sums, off, rest}, bad)
		}
		if err != nil {
			return nil, c.drain(rest, err)
		}
		off, n = off+want, n-want
	}
	return bad, nil
}

// run is consecutive page data, with how many bytes of the request are behind it.
type run struct {
	p    []byte
	sums []uint32
	off  int64
	rest int64
}

// writePages writes the good pages of a run and returns bad with the others appended.
func (c *conn) writePages(h *handle, of run, bad []badPage) ([]badPage, error) {
	p, sums, off := of.p, of.sums, of.off
	start, first := 0, 0 // of consecutive good pages: in p, in sums
	flush := func(end, last int) error {
		if end == start {
			return nil
		}
		return c.writing(h, of.rest, func() error { return h.file.WritePages(p[start:end], sums[first:last], off+int64(start)) })
	}
	at := 0
	for i, sum := range sums {
		f := wire.FragmentLen(off+int64(at), len(p)-at)
		if checksum.CRC32C(p[at:at+f]) == sum {
			h.corrected(off + int64(at))
			at += f
			continue
		}
		if err := flush(at, i); err != nil {
			return nil, err
		}
		if err := h.remember(off+int64(at), f, len(bad)); err != nil {
			return nil, err
		}
		bad = append(bad, badPage{off + int64(at), f})
		at += f
		start, first = at, i+1
	}
	return bad, flush(at, len(sums))
}

// corrected notes that a page came whole.
func (h *handle) corrected(off int64) {
	h.badMu.Lock()
	defer h.badMu.Unlock()
	delete(h.bad, off)
}

// remember notes a bad page that the client has to send again before it closes.
func (h *handle) remember(off int64, n, already int) error {
	h.badMu.Lock()
	defer h.badMu.Unlock()
	if h.bad == nil {
		h.bad = map[int64]int{}
	}
	h.bad[off] = n
	if already >= wire.PageErrorsMax || len(h.bad) > wire.PageErrorsFileMax {
		return refuse(wire.TooManyErrs, "too many pages do not match their checksums")
	}
	return nil
}

// okPages answers with the list of bad pages.
func (c *conn) okPages(r *request, off int64, bad []badPage) error {
	frame := wire.StatusFrame{Stream: r.Stream, Request: wire.ReqPgwrite, Offset: off}
	if len(bad) == 0 {
		return c.out.Collect(frame.Append(nil))
	}
	list := wire.PageErrors{FirstLength: int16(bad[0].n), LastLength: int16(bad[len(bad)-1].n)}
	for _, b := range bad {
		list.Offsets = append(list.Offsets, b.off)
	}
	frame.DataLength = int32(8 + 8*len(bad))
	return c.out.Collect(list.Append(frame.Append(nil)))
}
