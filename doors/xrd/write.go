package xrd

import (
	"hemera"
	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/errs"
	"hemera/rules/wire"
)

// writeHandlers take the data of writes to open files. Whatever happens to a write, its data is taken off the connection
// to its end.
//
// The data of a write is read off the connection a chunk at a time and given to the file, so a write of any length takes
// 256 KiB. The client is slowed down by TCP: nothing is read ahead of the file.
//
// A write that was answered is accepted, not durable: sync and close are.
type writeHandlers struct{ pool *transport.Pool }

// write answers kXR_write. Its data may be of any length.
func (w *writeHandlers) write(r *request) error {
	q := wire.DecodeWrite(r.Body)
	n := int64(r.Length) // never negative: dispatch has checked it
	f, err := writeTarget(r, q.Handle, q.Offset, n)
	switch {
	// The data is on a bound connection. It has to be taken off there even if the write is refused.
	case q.Path != 0:
		return r.session.streams.queueWrite(q.Path, r, f, err, func(r *request) error { return w.takeWrite(r, f, q.Offset, n) })
	case err != nil:
		return r.drain(n, err)
	}
	return w.takeWrite(r, f, q.Offset, n)
}

// takeWrite takes the data of a write off the request's connection, and answers it.
func (w *writeHandlers) takeWrite(r *request, f *openFile, off, n int64) error {
	if err := w.takeData(r, f, off, n); err != nil {
		return err
	}
	return r.ok(nil)
}

// writeTarget finds the file of a write of n bytes at off, and checks the range.
func writeTarget(r *request, id wire.Handle, off, n int64) (*openFile, error) {
	f, err := r.session.handles.forWriting(id)
	switch {
	case err != nil:
		return nil, err
	case off < 0:
		return nil, translate.Refuse(wire.ArgInvalid, "the offset of a write must not be negative")
	case off > hemera.FileSizeMax-n: // written so that it cannot overflow
		return nil, errs.New(errs.TooLarge, "xrd.Write", f.path, "the write ends beyond the largest file")
	}
	return f, nil
}

// takeData writes the next n bytes of the connection to the file, a chunk at a time.
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
			k = new(transport.Chunk) // the call that is stuck has the other one
		}
		if err != nil {
			return r.drain(n, err) // the next request is behind this data
		}
	}
	return nil
}

// writev answers kXR_writev, whose data follows outside its length. When it fails the rest is
// dropped as long as that is bounded.
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

// dropVector drops what is left of a vector's data.
func dropVector(r *request, left int64, err error) error {
	if left > drainMax {
		return closeAfter{err}
	}
	return r.drain(left, err)
}
