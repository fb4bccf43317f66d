package xrootd

import (
	"context"
	"io"

	"hemera/rules/wire"
)

// Reader reads a file in order, with a window of requests in flight ahead of its user. It is not safe for concurrent use
// and must be closed. It keeps at most Options.Window bytes, in buffers that the client reuses.
type Reader struct {
	ctx    context.Context
	file   *File
	pieces []*readPiece // in flight, in order
	next   int64        // offset of the next request
	end    int64
	window int
	ahead  int        // requests to keep in flight; grows while the user reads
	sums   bool       // keep page checksums
	rest   []byte     // of the piece being consumed
	now    *readPiece // with the bytes that Next returned last
	err    error      // final, io.EOF at the end
}

// NewReader reads from off up to end, or to the file's end at the open, if that comes first. It sends nothing before the
// first Next. The context bounds all of its calls.
func (f *File) NewReader(ctx context.Context, off, end int64) *Reader {
	if size, known := f.b.size(); known {
		end = min(end, size)
	}
	return &Reader{ctx: ctx, file: f, next: off, end: end, window: max(2, f.b.client.opts.Window/f.b.client.opts.Chunk), ahead: 2}
}

// KeepSums makes the reader keep the page checksums that were received with the data, for [Reader.Sums]. Call it before
// the first Next.
func (r *Reader) KeepSums() { r.sums = true }

// Sums returns the CRC32Cs of the page fragments that Next returned last, and their offset in the file.
func (r *Reader) Sums() (sums []uint32, off int64) { return r.now.sums, r.now.off }

// Next returns the next bytes, at most a chunk, verified. They are valid until the next call. At the end it returns
// io.EOF.
func (r *Reader) Next() ([]byte, error) {
	if r.now != nil {
		r.file.b.client.buffers.put(r.now.p)
		r.now = nil
	}
	if r.err != nil {
		return nil, r.err
	}
	r.fill() // before waiting, so that requests overlap with the work of the user
	if len(r.pieces) == 0 {
		r.err = io.EOF
		return nil, r.err
	}
	piece := r.pieces[0]
	r.pieces = r.pieces[1:]
	n, err := r.file.finishRead(r.ctx, piece)
	r.now = piece
	switch {
	case err != nil:
		r.err = err
	case n < len(piece.p): // the file is shorter now than at the open
		r.err = io.EOF
	}
	if n == 0 {
		return nil, r.err
	}
	return piece.p[:n], nil
}

// fill keeps the window full.
func (r *Reader) fill() {
	var fresh []*readPiece
	chunk := int64(r.file.b.client.opts.Chunk)
	for r.next < r.end && len(r.pieces) < r.ahead {
		n := min(chunk-r.next%chunk, r.end-r.next)
		p := &readPiece{p: r.file.b.client.buffers.get(int(chunk))[:n], off: r.next}
		if r.sums {
			p.sums = make([]uint32, wire.Fragments(p.off, n))
		}
		fresh = append(fresh, p)
		r.pieces = append(r.pieces, p)
		r.next += n
	}
	// Doubled with each call, so that a user that reads little does not load a whole window.
	r.ahead = min(r.ahead*2, r.window)
	r.file.startReads(r.ctx, fresh...)
}

// Read implements io.Reader, for users with their own buffer; Next avoids the copy.
func (r *Reader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		b, err := r.Next()
		if err != nil {
			return 0, err
		}
		r.rest = b
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close cancels requests in flight. The file stays open.
func (r *Reader) Close() error {
	dropReads(r.pieces)
	r.pieces, r.rest = nil, nil
	if r.err == nil {
		r.err = io.ErrClosedPipe
	}
	return nil
}

// Writer writes a file in order, asynchronously: a write returns before the server has it, and any later call may return
// its failure. It is not safe for concurrent use.
type Writer struct {
	ctx   context.Context
	file  *File
	queue *writeQueue // requests in flight
	buf   []byte      // collected, not sent
	off   int64       // of buf
	err   error
}

// NewWriter writes from off on. The context bounds all of its calls. It has no Close: call Flush, and then close the
// file.
func (f *File) NewWriter(ctx context.Context, off int64) *Writer {
	return &Writer{ctx: ctx, file: f, queue: f.newQueue(), off: off}
}

// Offset returns the file offset of the next byte that has not been sent. After a Flush without error the server has
// accepted all bytes before it.
func (w *Writer) Offset() int64 { return w.off }

// Write implements io.Writer; the caller may reuse p when it returns.
func (w *Writer) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 && w.err == nil {
		room := w.room()
		if len(w.buf) == 0 && len(p) >= room {
			w.send(p[:room]) // whole chunks need not be collected
			p = p[room:]
			continue
		}
		n := min(room-len(w.buf), len(p))
		if w.buf == nil {
			w.buf = w.file.b.client.buffers.get(w.file.b.client.opts.Chunk)
		}
		w.buf = append(w.buf, p[:n]...)
		if p = p[n:]; len(w.buf) == room {
			w.send(w.buf)
			w.buf = w.buf[:0]
		}
	}
	return total - len(p), w.err
}

// room returns the number of bytes that a request at the current offset may have.
func (w *Writer) room() int {
	// Requests end at multiples of the chunk, so that no page is in two of them.
	chunk := w.file.b.client.opts.Chunk
	return chunk - int(w.off%int64(chunk))
}

// send starts one request. After an error the writer does nothing any more.
func (w *Writer) send(p []byte) {
	if w.err = w.queue.write(w.ctx, p, nil, w.off); w.err == nil {
		w.off += int64(len(p))
	}
}

// Flush blocks until the server has accepted everything. The file stays open.
func (w *Writer) Flush() error {
	if w.err == nil && len(w.buf) > 0 {
		w.send(w.buf)
		w.buf = w.buf[:0]
	}
	if w.err == nil {
		w.err = w.queue.drain(w.ctx)
	}
	return w.err
}
