package xrd

import (
	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/rules/checksum"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// writeHandlers write the data of requests to open files. Also after a failure the data of a write is read from the
// connection to its end.
//
// The data is read in chunks and passed to the file, so a write of any length takes one chunk of memory. TCP slows the
// client down: nothing is read ahead of the file.
//
// A write that was answered is accepted, but not durable; sync and close make it durable.
type writeHandlers struct{ pool *transport.Pool }

// write answers kXR_write. Its data may be of any length.
func (w *writeHandlers) write(r *request) error {
	q := wire.DecodeWrite(r.Body)
	n := int64(r.Length) // never negative: dispatch has checked it
	f, err := writeTarget(r, q.Handle, q.Offset, n)
	switch {
	// The data is on a bound connection and must be read there even if the write is refused.
	case q.Path != 0:
		return r.session.streams.queueWrite(q.Path, r, f, err, func(r *request) error { return w.takeWrite(r, f, q.Offset, n) })
	case err != nil:
		return r.drain(n, err)
	}
	return w.takeWrite(r, f, q.Offset, n)
}

// takeWrite reads the data of a write from the request's connection, and answers it.
func (w *writeHandlers) takeWrite(r *request, f *openFile, off, n int64) error {
	if err := w.takeData(r, f, off, n); err != nil {
		return err
	}
	return r.ok(nil)
}

// writeTarget returns the file of a write of n bytes at off. It fails if the range is not valid.
func writeTarget(r *request, id wire.Handle, off, n int64) (*openFile, error) {
	f, err := r.session.handles.forWriting(id)
	switch {
	case err != nil:
		return nil, err
	case off < 0:
		return nil, translate.Refuse(wire.ArgInvalid, "the offset of a write must not be negative")
	case off > hemera.FileSizeMax-n: // in this form it cannot overflow
		return nil, errs.New(errs.TooLarge, "xrd.Write", f.path, "the write ends beyond the largest file: file too large")
	}
	return f, nil
}

// takeData writes the next n bytes of the connection to the file in chunks.
func (w *writeHandlers) takeData(r *request, f *openFile, off, n int64) error {
	if n == 0 {
		return nil
	}
	k := w.pool.Chunk()
	defer func() { w.pool.PutChunk(k) }()
	for n > 0 {
		p := k.Buf[:transport.ChunkLen(off, n)]
		if err := r.conn.in.ReadFull(p); err != nil {
			return err
		}
		err := f.file.WritePages(p, nil, off) // blocks for the disk, at most until it counts as stalled
		off, n = off+int64(len(p)), n-int64(len(p))
		if hemera.KeepsBuffers(err) {
			k = new(transport.Chunk) // the stuck call has the other one
		}
		if err != nil {
			return r.drain(n, err) // the next request follows this data
		}
	}
	return nil
}

// writev answers kXR_writev, whose data follows outside its length. If it fails the rest of the data is dropped, up to
// drainMax.
func (w *writeHandlers) writev(r *request) error {
	count, err := wire.CheckSegments(r.payload) // the payload is the list of ranges; the data follows it
	if err != nil {
		// Without the lengths the end of the data is not known.
		return closeAfter{err}
	}
	segments := make([]wire.Segment, count)
	var left int64
	for i := range segments {
		segments[i] = wire.ParseSegment(r.payload[i*wire.SegmentSize:])
		left += int64(segments[i].Length)
	}
	touched := map[*openFile]bool{} // files to sync
	for _, s := range segments {
		f, err := writeTarget(r, s.Handle, s.Offset, int64(s.Length))
		if err != nil {
			return dropVector(r, left, err)
		}
		left -= int64(s.Length) // takeData drains its own rest
		if err := w.takeData(r, f, s.Offset, int64(s.Length)); err != nil {
			return dropVector(r, left, err)
		}
		touched[f] = true
	}
	if wire.DecodeWritev(r.Body).Options&wire.WritevSync != 0 { // one answer for write and sync
		for f := range touched {
			if err := f.file.Sync(r.context()); err != nil {
				return err
			}
		}
	}
	return r.ok(nil)
}

// dropVector drops the remaining data of a vector.
func dropVector(r *request, left int64, err error) error {
	if left > drainMax {
		return closeAfter{err}
	}
	return r.drain(left, err)
}

// pgwrite answers kXR_pgwrite: it verifies each page, writes the good pages, and lists the bad ones for the client to
// send again (§2.9).
func (w *writeHandlers) pgwrite(r *request) error {
	q := wire.DecodePgwrite(r.Body)
	n := int64(r.Length) // with the checksums between the pages
	f, err := writeTarget(r, q.Handle, q.Offset, n)
	if q.Path != 0 {
		return r.session.streams.queueWrite(q.Path, r, f, err, func(r *request) error { return w.takePgwrite(r, f, q) })
	}
	if err != nil {
		return r.drain(n, err)
	}
	return w.takePgwrite(r, f, q)
}

// takePgwrite reads the pages of a write from the request's connection, and answers it.
func (w *writeHandlers) takePgwrite(r *request, f *openFile, q wire.Pgwrite) error {
	n, err := wire.PagesDataLen(q.Offset, int64(r.Length)) // of file data
	if err == nil {
		err = checkRetry(f, q, n)
	}
	if err != nil {
		return r.drain(int64(r.Length), err)
	}
	bad, err := w.takePages(r, f, q.Offset, n)
	if err != nil {
		return err
	}
	return okPages(r, q.Offset, bad)
}

// checkRetry fails for a page that is sent again without a request of the server.
func checkRetry(f *openFile, q wire.Pgwrite, n int64) error {
	switch {
	case q.Flags&wire.PageRetry == 0: // a first attempt
		return nil
	case wire.Fragments(q.Offset, n) != 1:
		return translate.Refuse(wire.ArgInvalid, "a page sent again must be one page")
	case !f.bad.has(q.Offset):
		return translate.Refuse(wire.ArgInvalid, "this page was not asked for again")
	}
	return nil
}

// badPage is a page whose checksum did not match.
type badPage struct {
	off int64
	n   int
}

// takePages reads n bytes of page data from the connection and writes the pages with matching checksums. It returns the
// other pages.
func (w *writeHandlers) takePages(r *request, f *openFile, off, n int64) ([]badPage, error) {
	if n == 0 {
		return nil, nil
	}
	k := w.pool.Chunk()
	defer func() { w.pool.PutChunk(k) }()
	var bad []badPage
	for n > 0 {
		want := transport.ChunkLen(off, n)
		raw := k.Buf[:wire.PagesLen(off, want)] // pages and checksums as they come
		if err := r.conn.in.ReadFull(raw); err != nil {
			return nil, err
		}
		p, sums, err := wire.CutPages(raw, k.Sums[:], off) // moves the pages together, in place
		if err == nil {
			bad, err = writePages(f, pageRun{p, sums, off}, bad) // bad pages do not fail the request
		}
		if hemera.KeepsBuffers(err) {
			k = new(transport.Chunk) // the stuck call has the other one
		}
		if err != nil {
			return nil, r.drain(wire.PagesLen(off+want, n-want), err)
		}
		off, n = off+want, n-want
	}
	return bad, nil
}

// pageRun is a run of consecutive pages with their checksums, at an offset of the file.
type pageRun struct {
	p    []byte
	sums []uint32
	off  int64
}

// write writes the pages from byte start to end, with the checksums from first to last.
func (u *pageRun) write(f *openFile, start, end, first, last int) error {
	if end == start {
		return nil
	}
	return f.file.WritePages(u.p[start:end], u.sums[first:last], u.off+int64(start))
}

// writePages writes the good pages of a run, and returns bad with the others appended.
func writePages(f *openFile, u pageRun, bad []badPage) ([]badPage, error) {
	// A run of good pages is written with one call, with the client's checksums. The disk stores these, so they protect
	// the data from the client to the disk.
	start, first := 0, 0 // of consecutive good pages: in p, in sums
	at := 0
	for i, sum := range u.sums {
		off := u.off + int64(at)
		n := wire.FragmentLen(off, len(u.p)-at)
		if checksum.CRC32C(u.p[at:at+n]) == sum {
			f.bad.remove(off)
			at += n
			continue
		}
		if err := u.write(f, start, at, first, i); err != nil {
			return nil, err
		}
		if err := f.bad.add(off, n, len(bad)); err != nil { // the rest of the request is dropped then
			return nil, err
		}
		bad = append(bad, badPage{off, n})
		at += n
		start, first = at, i+1
	}
	return bad, u.write(f, start, at, first, len(u.sums))
}

// okPages answers with the list of bad pages.
func okPages(r *request, off int64, bad []badPage) error {
	frame := wire.StatusFrame{Stream: r.Stream, Request: wire.ReqPgwrite, Offset: off}
	if len(bad) == 0 { // the usual case has an empty body
		return r.conn.out.Collect(frame.Append(nil))
	}
	list := wire.PageErrors{FirstLength: int16(bad[0].n), LastLength: int16(bad[len(bad)-1].n)} // the client sends these pages again, one by one
	for _, b := range bad {
		list.Offsets = append(list.Offsets, b.off)
	}
	frame.DataLength = int32(8 + 8*len(bad))
	return r.conn.out.Collect(list.Append(frame.Append(nil)))
}
