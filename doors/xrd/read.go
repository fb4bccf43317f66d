package xrd

import (
	"io"
	"os"

	"hemera"
	"hemera/errs"
	"hemera/platform/vfs"
	"hemera/rules/wire"
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
	// readPiece is how much of an answer is sent at a time without copying it.
	readPiece = 1 << 20
	// frameMax is the longest frame: stock clients ask for 8 MiB.
	frameMax = 16 << 20
)

// read answers kXR_read.
func (c *conn) read(r *request) error {
	q := wire.DecodeRead(r.Body)
	path, err := wire.ReadArgs(r.payload)
	if err != nil {
		return err
	}
	h, err := c.session.usable(q.Handle)
	switch {
	case err != nil:
		return err
	case q.Offset < 0 || q.Length < 0:
		return refuse(wire.ArgInvalid, "offset and length of a read must not be negative")
	case path != 0:
		stream, f := r.Stream, h.file
		return c.onSubstream(path, substreamWork{request: *r, done: &h.inflight, run: func(b *conn) error {
			return sendRead(b.out, stream, f, q.Offset, int64(q.Length))
		}})
	}
	return sendRead(c.out, r.Stream, h.file, q.Offset, int64(q.Length))
}

// sendRead sends n bytes of the file at off. An error means that no final answer was sent.
func sendRead(o *sink, stream wire.StreamID, f hemera.Handle, off, n int64) error {
	if n == 0 {
		return o.answer(stream, wire.StatusOK, nil)
	}
	direct, _ := f.(verified)
	if o.sock == nil {
		direct = nil
	}
	if n < sendFileMin || direct == nil && n <= smallRead {
		return o.read(stream, f, off, int(n))
	}
	// Reads end at the end of the file, so the last frame is known before it is read.
	n = max(0, min(n, f.Info().Size-off))
	a := reading{out: o, stream: stream, file: f, direct: direct}
	for {
		sent, err := a.frame(off, n)
		if err != nil || a.last {
			return err
		}
		off, n = off+sent, n-sent
	}
}

// reading is the answer to one read.
type reading struct {
	out    *sink
	stream wire.StreamID
	file   hemera.Handle
	direct verified // the file, if its pages may be sent from memory
	last   bool     // the final frame was sent
	begins [wire.ResponseHeaderSize]byte
}

// frame sends one frame with the next of n bytes at off, and says how many.
func (a *reading) frame(off, n int64) (sent int64, err error) {
	if a.direct != nil && n > readPiece {
		whole := min(n, frameMax)
		if _, ok := a.direct.Verified(off, whole); ok {
			return whole, a.long(off, whole, whole == n)
		}
	}
	err = a.out.together(func() (err error) {
		sent, err = a.part(off, min(n, readPiece), func(sent int64, ends bool) []byte { return a.head(sent, ends || sent == n) })
		return err
	})
	return sent, err
}

// long sends one frame of n bytes that are verified: clients take more time over many frames than over
// one. What has left memory meanwhile is read like anything else; should that fail, the frame has begun, and
// only closing the connection tells the client.
func (a *reading) long(off, n int64, last bool) error {
	head := a.head(n, last)
	return a.out.together(func() error {
		for n > 0 {
			sent, err := a.part(off, min(n, readPiece), func(int64, bool) []byte { return head })
			if err == nil && sent == 0 {
				err = io.ErrUnexpectedEOF
			}
			switch {
			case err != nil && head == nil:
				return broken{err}
			case err != nil:
				return err
			}
			head, off, n = nil, off+sent, n-sent
		}
		return nil
	})
}

// part sends the next of n bytes at off, behind what head makes of how many these are and whether the file
// ends with them. It is called within together.
func (a *reading) part(off, n int64, head func(sent int64, ends bool) []byte) (sent int64, err error) {
	pool := a.out.pool
	if a.direct != nil && n >= sendFileMin {
		if pipe := pool.pipes.take(); pipe != nil {
			defer pool.pipes.giveBack(pipe)
			if sent = a.direct.Splice(pipe, off, n); sent > 0 {
				return sent, a.out.pipePart(head(sent, false), pipe)
			}
		} else if file, ok := a.direct.Verified(off, n); ok {
			return n, a.out.filePart(head(n, false), file, off, n)
		}
	}
	k := pool.chunk()
	defer pool.chunks.Put(k)
	sent, ends, err := k.read(a.file, off, n)
	if err != nil {
		return 0, err
	}
	return sent, a.out.sendPart(append(k.vec[:0], nil, head(sent, ends), k.buf[:sent]))
}

// head begins a frame of n bytes.
func (a *reading) head(n int64, last bool) []byte {
	a.last = last
	status := wire.StatusOKSoFar
	if last {
		status = wire.StatusOK
	}
	return wire.ResponseHeader{Stream: a.stream, Status: status, Length: int32(n)}.Append(a.begins[:0])
}

// read fills the chunk with the next of n bytes. It says how many it got, and whether there are no more.
func (k *chunk) read(f hemera.Handle, off, n int64) (got int64, last bool, err error) {
	want := chunkLen(off, n)
	i, err := f.ReadPages(k.buf[:want], nil, off)
	if err != nil && err != io.EOF {
		return 0, false, err
	}
	got = int64(i)
	return got, got == n || got < want, nil
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
		if _, err := c.session.usable(s.Handle); err != nil {
			return err
		}
		if s.Length > wire.ReadvElementMax {
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
	return c.out.together(func() error {
		for begun := false; n > 0; begun = true {
			p := k.buf[:chunkLen(off, n)]
			if err := readWhole(f, p, off); err != nil {
				if begun {
					return broken{err}
				}
				return err
			}
			if err := c.out.sendPart(append(k.vec[:0], nil, head, p)); err != nil {
				return err
			}
			head, off, n = nil, off+int64(len(p)), n-int64(len(p))
		}
		return nil
	})
}

// readWhole fills p or fails: the file may have become shorter since its size was asked.
func readWhole(f hemera.Handle, p []byte, off int64) error {
	n, err := f.ReadPages(p, nil, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		return refuse(wire.FSError, "an element of the vector is past the end of the file")
	}
	return errs.Wrap(err, "xrd.Readv", "")
}
