package xrd

import (
	"hemera"
	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/rules/checksum"
	"hemera/rules/wire"
)

// pgwrite answers kXR_pgwrite: each page is checked against its checksum; good ones are written,
// bad ones are listed for the client to send again (§2.9).
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

// takePgwrite takes the pages of a write off the request's connection, and answers it.
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

// checkRetry fails for a page that is sent again although the server did not ask for it.
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

// takePages takes n bytes of page data off the connection and writes what matches its checksum. It returns the other
// pages.
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
			k = new(transport.Chunk) // the call that is stuck has the other one
		}
		if err != nil {
			return nil, r.drain(wire.PagesLen(off+want, n-want), err)
		}
		off, n = off+want, n-want
	}
	return bad, nil
}

// pageRun is consecutive page data with its checksums, at an offset of the file.
type pageRun struct {
	p    []byte
	sums []uint32
	off  int64
}

// write writes the pages from byte start to end, whose checksums are those from first to last.
func (u *pageRun) write(f *openFile, start, end, first, last int) error {
	if end == start {
		return nil
	}
	return f.file.WritePages(u.p[start:end], u.sums[first:last], u.off+int64(start))
}

// writePages writes the good pages of a run and returns bad with the others appended.
func writePages(f *openFile, u pageRun, bad []badPage) ([]badPage, error) {
	// A run of good pages is written with one call, with the client's checksums: they are what the disk keeps, so the
	// data is protected from the client to the disk.
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
