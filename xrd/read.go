package xrd

import (
	"io"
	"os"

	"hemera"
	"hemera/errs"
	"hemera/vfs"
	"hemera/wire"
)

// verified is a File whose pages may be known to be good and in memory; then they are sent without
// passing through this process. Splice puts as many into the empty pipe as fit. Verified is for when there
// is no pipe; ok is false when the range has to be read.
type verified interface {
	Splice(pipe *vfs.Pipe, off, n int64) int64
	Verified(off, n int64) (f *os.File, ok bool)
}

const (
	// sendFileMin is the shortest read for which sendfile is cheaper than a copy (measured).
	sendFileMin = 16 << 10
	// readPiece is the longest piece of an answer sent with sendfile.
	readPiece = 1 << 20
)

// read answers kXR_read.
func (c *conn) read(r *request) error {
	q := wire.DecodeRead(r.Body)
	path, err := wire.ReadArgs(r.payload)
	if err != nil {
		return err
	}
	h, err := c.session.handle(q.Handle)
	switch {
	case err != nil:
		return err
	case h.sealed:
		return errBadHandle
	case q.Offset < 0 || q.Length < 0:
		return refuse(wire.ArgInvalid, "offset and length of a read must not be negative")
	case path != 0:
		return c.onLink(path, linkRead{request: *r, file: h.file, done: &h.inflight, off: q.Offset, n: int64(q.Length)})
	}
	return sendRead(c.out, r.Stream, h.file, q.Offset, int64(q.Length))
}

// sendRead sends n bytes of the file at off. An error means that no final answer was sent.
func sendRead(o *sink, stream wire.StreamID, f hemera.File, off, n int64) error {
	if n == 0 {
		return o.answer(stream, wire.StatusOK, nil)
	}
	direct, _ := f.(verified)
	if !canSendFile(o.tcp) {
		direct = nil
	}
	if n < sendFileMin || direct == nil && n <= smallRead {
		return o.read(stream, f, off, int(n))
	}
	// Reads end at the end of the file, so the last frame is known before it is read.
	n = max(0, min(n, f.Info().Size-off))
	for {
		sent, last, err := sendSome(o, stream, f, direct, off, n)
		if err != nil || last {
			return err
		}
		off, n = off+sent, n-sent
	}
}

// sendSome sends one frame with the next of n bytes of the file at off, and says how many and whether they
// were the last. direct is the file if its pages may be sent from memory.
func sendSome(o *sink, stream wire.StreamID, f hemera.File, direct verified, off, n int64) (sent int64, last bool, err error) {
	if piece := min(n, readPiece); direct != nil && piece >= sendFileMin {
		if pipe := o.pool.pipes.take(); pipe != nil {
			defer o.pool.pipes.giveBack(pipe)
			if sent = direct.Splice(pipe, off, piece); sent > 0 {
				return sent, sent == n, o.sendPipe(frameOf(stream, sent, n), pipe)
			}
		} else if file, ok := direct.Verified(off, piece); ok {
			return piece, piece == n, o.sendFile(frameOf(stream, piece, n), file, off, piece)
		}
	}
	k := o.pool.chunk()
	defer o.pool.chunks.Put(k)
	sent, status, err := k.read(f, off, n)
	if err != nil {
		return 0, false, err
	}
	head := wire.ResponseHeader{Stream: stream, Status: status, Length: int32(sent)}
	return sent, status == wire.StatusOK, o.send(append(k.vec[:0], nil, head.Append(k.crc[:0]), k.buf[:sent]))
}

// frameOf begins the frame with the next piece of n bytes.
func frameOf(stream wire.StreamID, piece, n int64) wire.ResponseHeader {
	status := wire.StatusOKSoFar
	if piece == n {
		status = wire.StatusOK
	}
	return wire.ResponseHeader{Stream: stream, Status: status, Length: int32(piece)}
}

// read fills the chunk with the next of n bytes. It says how many it got, and the status of a frame
// that carries them.
func (k *chunk) read(f hemera.File, off, n int64) (int64, wire.Status, error) {
	want := chunkLen(off, n)
	got, err := f.ReadAt(k.buf[:want], off)
	if err != nil && err != io.EOF {
		return 0, 0, err
	}
	if int64(got) == n || int64(got) < want {
		return int64(got), wire.StatusOK, nil
	}
	return int64(got), wire.StatusOKSoFar, nil
}

// readv answers kXR_readv: every element whole, or an error for all.
func (c *conn) readv(r *request) error {
	count, err := wire.CheckSegments(r.payload)
	if err != nil {
		return err
	}
	segments := make([]wire.Segment, count)
	for i := range segments {
		s := wire.ParseSegment(r.payload[i*wire.SegmentSize:])
		h, err := c.session.handle(s.Handle)
		switch {
		case err != nil:
			return err
		case h.sealed:
			return errBadHandle
		case s.Length > wire.ReadvElementMax:
			return refuse(wire.NoMemory, "an element of the vector is longer than readv_ior_max")
		}
		segments[i] = s
	}
	sizes := map[wire.Handle]int64{}
	for _, s := range segments {
		size, known := sizes[s.Handle]
		if !known {
			size = c.session.handles[s.Handle].file.Info().Size
			sizes[s.Handle] = size
		}
		if s.Offset+int64(s.Length) > size {
			return refuse(wire.FSError, "an element of the vector is past the end of the file")
		}
	}
	return c.sendVector(r.Stream, segments)
}

// sendVector sends the elements in frames that end on element borders.
func (c *conn) sendVector(stream wire.StreamID, segments []wire.Segment) error {
	k := c.srv.pool.chunk()
	defer c.srv.pool.chunks.Put(k)
	used := 0
	for i, s := range segments {
		need := wire.SegmentSize + int(s.Length)
		if used > 0 && used+need > len(k.buf) {
			if err := c.sendFrame(stream, wire.StatusOKSoFar, k, used); err != nil {
				return err
			}
			used = 0
		}
		last := i == len(segments)-1
		if need > len(k.buf) {
			if err := c.sendElement(stream, k, s, last); err != nil || last {
				return err
			}
			continue
		}
		s.Append(k.buf[:used])
		if err := readWhole(c.session.handles[s.Handle].file, k.buf[used+wire.SegmentSize:used+need], s.Offset); err != nil {
			return err
		}
		used += need
	}
	return c.sendFrame(stream, wire.StatusOK, k, used)
}

func (c *conn) sendFrame(stream wire.StreamID, status wire.Status, k *chunk, n int) error {
	head := wire.ResponseHeader{Stream: stream, Status: status, Length: int32(n)}.Append(k.crc[:0])
	return c.out.send(append(k.vec[:0], nil, head, k.buf[:n]))
}

// sendElement sends one element that is longer than a chunk as a frame of its own. When the file
// fails after the frame began, only closing the connection tells the client.
func (c *conn) sendElement(stream wire.StreamID, k *chunk, s wire.Segment, last bool) error {
	status := wire.StatusOKSoFar
	if last {
		status = wire.StatusOK
	}
	head := wire.ResponseHeader{Stream: stream, Status: status, Length: wire.SegmentSize + s.Length}.Append(k.crc[:0])
	head = s.Append(head)
	f, off, n := c.session.handles[s.Handle].file, s.Offset, int64(s.Length)
	for begun := false; n > 0; begun = true {
		p := k.buf[:chunkLen(off, n)]
		if err := readWhole(f, p, off); err != nil {
			if begun {
				return broken{err}
			}
			return err
		}
		if err := c.out.send(append(k.vec[:0], nil, head, p)); err != nil {
			return err
		}
		head, off, n = nil, off+int64(len(p)), n-int64(len(p))
	}
	return nil
}

// readWhole fills p or fails: the file may have become shorter since its size was asked.
func readWhole(f hemera.File, p []byte, off int64) error {
	n, err := f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		return refuse(wire.FSError, "an element of the vector is past the end of the file")
	}
	return errs.Wrap(err, "xrd.Readv", "")
}
