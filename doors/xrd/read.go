package xrd

import (
	"errors"
	"io"
	"strconv"
	"time"

	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/platform/zerocopy"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// readStep bounds the bytes of an answer that are sent at a time without a copy.
	readStep = 1 << 20
	// frameMax bounds a frame, in bytes: stock clients request 8 MiB.
	frameMax = 16 << 20
)

// readHandlers answer reads of open files.
//
// A read is answered in frames. The path of its data depends on the file and the size:
//   - short reads go into the buffer of answers, and are sent with others;
//   - longer reads of a file whose pages are in memory and verified go through a pipe, or by sendfile, without a copy;
//   - reads of a file that was read ahead are sent from that memory;
//   - other reads go into a chunk, which is written with its header in one call.
//
// The file is read before the turn to write is taken; see package transport.
type readHandlers struct {
	pool        *transport.Pool
	managerAddr func() string
}

// elsewhere returns the outcome of a read of f that failed with err. If no piece is good and the file is on tape, it
// redirects the client to the manager, which recalls the file: the client opens it again there, which may take as long as
// a recall, and repeats the read. Frames may have been sent before; stock clients begin the answer again.
func (h *readHandlers) elsewhere(f *openFile, err error) error {
	if _, gone := errors.AsType[transport.Broken](err); err == nil || gone || !f.onTape {
		return err
	}
	addr := h.managerAddr()
	if kind := errs.KindOf(err); kind != errs.Corrupt && kind != errs.NoReplicas || addr == "" {
		return err
	}
	return redirectTo(addr, wire.Opaque(wire.OpaqueNoPiece+"="+strconv.FormatInt(time.Now().Unix(), 10)))
}

// read answers kXR_read.
func (h *readHandlers) read(r *request) error {
	q := wire.DecodeRead(r.Body)
	path, err := wire.ReadArgs(r.payload)
	if err != nil {
		return err
	}
	f, err := r.session.handles.forReading(q.Handle)
	switch {
	case err != nil:
		return err
	case q.Offset < 0 || q.Length < 0:
		return translate.Refuse(wire.ArgInvalid, "offset and length of a read must not be negative")
	case path != 0: // the answer goes out on the connection bound as this path
		return r.session.streams.queueRead(path, r, f, func(r *request) error {
			return h.elsewhere(f, sendRead(r.conn.out, r.Stream, f.file, q.Offset, int64(q.Length)))
		})
	}
	return h.elsewhere(f, sendRead(r.conn.out, r.Stream, f.file, q.Offset, int64(q.Length)))
}

// sendRead sends n bytes of the file at off. After an error no final answer was sent.
func sendRead(o *transport.Sink, stream wire.StreamID, f hemera.Handle, off, n int64) error {
	if n == 0 {
		return o.Answer(stream, wire.StatusOK, nil)
	}
	direct, _ := f.(zerocopy.Source) // nil for pieces at other nodes and for writes
	lender, _ := f.(hemera.Lender)
	if !o.ZeroCopy() {
		direct = nil
	}
	if n < zerocopy.SizeMin || direct == nil && n <= transport.SmallRead {
		return o.CollectRead(stream, f, off, int(n))
	}
	// Reads end at the end of the file, so the last frame is known before it is read.
	a := readAnswer{out: o, stream: stream, file: f, direct: direct, lender: lender, off: off, left: max(0, min(n, f.Info().Size-off))}
	for {
		last, err := a.frame() // one frame at a time, because the file may end or fail between two
		if err != nil || last {
			return err
		}
	}
}

// readAnswer sends the answer to one read in one or several frames. A part is a piece of the file's data. A frame has one
// part or, while the pages are verified, as many as a client takes in one frame.
type readAnswer struct {
	out    *transport.Sink
	stream wire.StreamID
	file   hemera.Handle
	direct zerocopy.Source               // the file, if its pages may be sent from memory
	lender hemera.Lender                 // the file, if it may have been read ahead
	off    int64                         // begin of the next part
	left   int64                         // remaining bytes of the answer
	within int64                         // of them, bytes of the current frame
	header [wire.ResponseHeaderSize]byte // here, so that a header costs no allocation
}

// frame sends the next frame, and reports whether it was the last.
func (a *readAnswer) frame() (last bool, err error) {
	a.within = a.verified()
	if a.within == 0 {
		part, err := a.part(min(a.left, readStep))
		if err != nil {
			return false, err
		}
		defer a.out.Pool().Release(&part)
		last = part.Ends || a.left == 0 // a short part means the end of the file
		return last, a.out.SendPart(a.head(part.Len, last), &part)
	}
	// Clients take more time for many frames than for one. Pages that have left memory meanwhile are read like any
	// others. If that fails the frame has begun, and the connection ends.
	n, last := a.within, a.within == a.left
	first, err := a.next()
	if err != nil {
		return false, err
	}
	return last, a.out.SendFrame(a.head(n, last), &first, a.next)
}

// verified returns the length of a frame of several parts whose pages are all verified; zero if there is none.
func (a *readAnswer) verified() int64 {
	if a.direct == nil || a.left <= readStep {
		return 0
	}
	n := min(a.left, frameMax)
	if _, ok := a.direct.Verified(a.off, n); !ok {
		return 0
	}
	return n
}

// next returns the next part of the current frame. It returns EOF after the last, and ErrUnexpectedEOF if the file ends
// before.
func (a *readAnswer) next() (transport.Part, error) {
	if a.within == 0 {
		return transport.Part{}, io.EOF
	}
	part, err := a.part(min(a.within, readStep))
	if err == nil && part.Len == 0 {
		err = io.ErrUnexpectedEOF
	}
	a.within -= part.Len
	return part, err
}

// part returns the next part of the answer, at most n bytes, without a copy if possible.
func (a *readAnswer) part(n int64) (part transport.Part, err error) {
	ok := false
	if a.direct != nil && n >= zerocopy.SizeMin {
		part, ok = a.out.Pool().Part(a.direct, a.off, n)
	}
	if !ok && a.lender != nil {
		part, ok = transport.LentPart(a.lender, a.off, n)
	}
	if !ok {
		part, err = a.out.Pool().ReadPart(a.file, a.off, n)
	}
	a.off, a.left = a.off+part.Len, a.left-part.Len
	return part, err
}

// head returns the header of a frame of n bytes.
func (a *readAnswer) head(n int64, last bool) []byte {
	// Clients join the frames of one stream until one has another status.
	status := wire.StatusOKSoFar
	if last {
		status = wire.StatusOK
	}
	return wire.ResponseHeader{Stream: a.stream, Status: status, Length: int32(n)}.Append(a.header[:0])
}

// readv answers kXR_readv with all elements, or with one error.
func (h *readHandlers) readv(r *request) error {
	count, err := wire.CheckSegments(r.payload)
	if err != nil {
		return err
	}
	// Everything is checked before the first byte is sent, because an error must be the whole answer. The read itself
	// fails if a file becomes shorter meanwhile.
	segments := make([]wire.Segment, count)
	for i := range segments {
		s := wire.ParseSegment(r.payload[i*wire.SegmentSize:])
		if _, err := r.session.handles.forReading(s.Handle); err != nil {
			return err
		}
		if s.Length > wire.ReadvElementMax {
			return translate.Refuse(wire.NoMemory, "an element of the vector is longer than readv_ior_max")
		}
		segments[i] = s
	}
	// A vector has up to 1024 elements, mostly of one file, so the size of each file is looked up once.
	sizes := map[wire.Handle]int64{}
	for _, s := range segments {
		size, known := sizes[s.Handle]
		if !known {
			size = r.session.handles.files[s.Handle].data().file.Info().Size
			sizes[s.Handle] = size
		}
		if s.Offset+int64(s.Length) > size {
			return errPastEnd
		}
	}
	return h.sendVector(r, segments)
}

// sendVector sends the elements in frames that end on element boundaries.
func (h *readHandlers) sendVector(r *request, segments []wire.Segment) error {
	k := h.pool.Chunk()
	defer func() { h.pool.PutChunk(k) }()
	used := 0 // bytes of the frame in k
	for i, s := range segments {
		need := wire.SegmentSize + int(s.Length)
		if used > 0 && used+need > len(k.Buf) {
			if err := h.sendFrame(r, wire.StatusOKSoFar, k, used); err != nil {
				return err
			}
			used = 0
		}
		last := i == len(segments)-1
		if need > len(k.Buf) { // it gets its own frame, which is read and sent in parts
			if err := h.sendElement(r, s, last); err != nil || last {
				return h.elsewhere(r.session.handles.files[s.Handle].data(), err)
			}
			continue
		}
		// Elements that fit are sent together: most vectors of analysis jobs have many small ones.
		var err error
		f := r.session.handles.files[s.Handle].data()
		if k, err = readElement(h.pool, k, used, f.file, s); err != nil {
			return h.elsewhere(f, err)
		}
		used += need
	}
	return h.sendFrame(r, wire.StatusOK, k, used)
}

// sendFrame sends n bytes of a chunk as a frame of the answer. The caller keeps the chunk.
func (h *readHandlers) sendFrame(r *request, status wire.Status, k *transport.Chunk, n int) error {
	head := wire.ResponseHeader{Stream: r.Stream, Status: status, Length: int32(n)}.Append(nil)
	return r.conn.out.Send(k.Vec(head, n))
}

// sendElement sends one element that is longer than a chunk as a frame of its own. If the file fails when the frame has
// begun, the connection ends.
func (h *readHandlers) sendElement(r *request, s wire.Segment, last bool) error {
	status := wire.StatusOKSoFar
	if last {
		status = wire.StatusOK
	}
	head := wire.ResponseHeader{Stream: r.Stream, Status: status, Length: wire.SegmentSize + s.Length}.Append(nil)
	head = s.Append(head)
	f, off, n := r.session.handles.files[s.Handle].data().file, s.Offset, int64(s.Length)
	next := func() (transport.Part, error) {
		if n == 0 {
			return transport.Part{}, io.EOF
		}
		part, err := h.pool.ReadPart(f, off, n)
		if err != nil {
			return part, errs.Wrap(err, "xrd.Readv", "")
		}
		if part.Len < transport.ChunkLen(off, n) {
			h.pool.Release(&part)
			return transport.Part{}, errPastEnd
		}
		off, n = off+part.Len, n-part.Len
		return part, nil
	}
	first, err := next()
	if err != nil {
		return err
	}
	return r.conn.out.SendFrame(head, &first, next)
}

// errPastEnd refuses a vector with an element past the end. The file may have become shorter since its size was looked
// up.
var errPastEnd = translate.Refuse(wire.FSError, "an element of the vector is past the end of the file; invalid argument")

// readElement reads an element behind the used bytes of a chunk. While a device does not answer, it reads into another
// chunk, with a copy of the used bytes. It returns the chunk that now belongs to the caller: a stuck call may write to
// the other one at any time.
func readElement(pool *transport.Pool, k *transport.Chunk, used int, f hemera.Handle, s wire.Segment) (*transport.Chunk, error) {
	from := used + wire.SegmentSize
	for tries := 1; ; tries++ {
		s.Append(k.Buf[:used])
		err := readWhole(f, k.Buf[from:from+int(s.Length)], s.Offset)
		if !hemera.KeepsBuffers(err) {
			return k, err
		}
		// The used bytes are not touched by the stuck call, so they can be copied.
		other := pool.Chunk()
		copy(other.Buf[:used], k.Buf[:used])
		if k = other; tries == transport.StalledTries {
			return k, err
		}
	}
}

// readWhole fills p or fails: the file may have become shorter since its size was looked up.
func readWhole(f hemera.Handle, p []byte, off int64) error {
	n, err := f.ReadPages(p, nil, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		return errPastEnd
	}
	return errs.Wrap(err, "xrd.Readv", "")
}

// pgread answers kXR_pgread: pages with their stored checksums (§2.9).
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
			return h.elsewhere(f, sendPages(r.conn.out, r.Stream, f.file, q.Offset, int64(q.Length)))
		})
	}
	return h.elsewhere(f, sendPages(r.conn.out, r.Stream, f.file, q.Offset, int64(q.Length)))
}

// sendPages sends n bytes of the file at off as pages. After an error no final answer was sent.
func sendPages(o *transport.Sink, stream wire.StreamID, f hemera.Handle, off, n int64) error {
	// Each page follows its checksum. The client verifies the checksums of the disk.
	lender, _ := f.(hemera.Lender)
	k := o.Pool().Chunk()
	defer func() { o.Pool().PutChunk(k) }()
	for {
		want := transport.ChunkLen(off, n)
		loan, ends := hemera.Loan{}, false
		if lender != nil {
			loan = lender.Lend(off, want)
		}
		data, sums := loan.Data, loan.Sums
		if len(data) == 0 {
			var got int
			var err error
			if k, got, err = readChunk(o.Pool(), k, f, off, want); err != nil && err != io.EOF {
				return err
			}
			data, sums, ends = k.Buf[:got], k.Sums[:], int64(got) < want || err == io.EOF
		}
		last := ends || int64(len(data)) == n
		frame := wire.StatusFrame{ // each frame has its offset and its own checksum (§2.9)
			Stream: stream, Request: wire.ReqPgread, Partial: !last,
			DataLength: int32(wire.PagesLen(off, int64(len(data)))), Offset: off,
		}
		var head [wire.ResponseHeaderSize + wire.StatusBodySize]byte
		err := o.Send(k.PageVec(frame.Append(head[:0]), data, sums, off))
		if loan.Return != nil {
			loan.Return()
		}
		if err != nil || last {
			return err
		}
		off, n = off+int64(len(data)), n-int64(len(data))
	}
}

// readChunk reads n bytes at off into the chunk. While a device does not answer, it reads into another chunk: each try
// reads another piece. It returns the chunk that now belongs to the caller.
func readChunk(pool *transport.Pool, k *transport.Chunk, f hemera.Handle, off, n int64) (*transport.Chunk, int, error) {
	got, err := f.ReadPages(k.Buf[:n], k.Sums[:], off)
	for tries := 1; tries < transport.StalledTries && hemera.KeepsBuffers(err); tries++ {
		k = pool.Chunk()
		got, err = f.ReadPages(k.Buf[:n], k.Sums[:], off)
	}
	if hemera.KeepsBuffers(err) {
		k = pool.Chunk()
	}
	return k, got, err
}
