package xrd

import (
	"io"

	"hemera"
	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/rules/wire"
)

// pgread answers kXR_pgread: pages with the checksums that are stored with them (§2.9).
func (h *readHandlers) pgread(r *request) error {
	q := wire.DecodePgread(r.Body)
	path, _, err := wire.PgreadArgs(r.payload)
	if err != nil {
		return err
	}
	f, err := r.session.handles.forReading(q.Handle)
	switch {
	case err != nil:
		return err
	case q.Offset < 0 || q.Length <= 0:
		return translate.Refuse(wire.ArgInvalid, "offset and length of a pgread must be positive")
	case path != 0:
		return r.session.streams.queueRead(path, r, f, func(r *request) error {
			return sendPages(r.conn.out, r.Stream, f.file, q.Offset, int64(q.Length))
		})
	}
	return sendPages(r.conn.out, r.Stream, f.file, q.Offset, int64(q.Length))
}

// sendPages sends n bytes of the file at off as pages. An error means that no final answer was sent.
func sendPages(o *transport.Sink, stream wire.StreamID, f hemera.Handle, off, n int64) error {
	// One chunk is read with its checksums, and sent with each page behind its own. The client checks what the disk
	// stored.
	k := o.Pool().Chunk()
	defer func() { o.Pool().PutChunk(k) }()
	for {
		want := transport.ChunkLen(off, n)
		got, err := f.ReadPages(k.Buf[:want], k.Sums[:], off)
		if hemera.KeepsBuffers(err) { // the next try reads another piece
			k = o.Pool().Chunk()
			if got, err = f.ReadPages(k.Buf[:want], k.Sums[:], off); hemera.KeepsBuffers(err) {
				k = o.Pool().Chunk()
			}
		}
		if err != nil && err != io.EOF {
			return err
		}
		last := int64(got) == n || int64(got) < want || err == io.EOF // all, or the end of the file
		frame := wire.StatusFrame{                                    // each frame has its offset and its own checksum (§2.9)
			Stream: stream, Request: wire.ReqPgread, Partial: !last,
			DataLength: int32(wire.PagesLen(off, int64(got))), Offset: off,
		}
		var head [wire.ResponseHeaderSize + wire.StatusBodySize]byte
		if err := o.Send(k.PageVec(frame.Append(head[:0]), got, off)); err != nil || last {
			return err
		}
		off, n = off+int64(got), n-int64(got)
	}
}
