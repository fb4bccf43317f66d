package xrootd

import (
	"context"
	"encoding/binary"
	"sync"

	"hemera/platform/pause"
	"hemera/rules/checksum"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// buffers keeps the memory of earlier writes for reuse.
type buffers struct{ pool sync.Pool }

// get returns an empty buffer with room for n bytes.
func (b *buffers) get(n int) []byte {
	if v, ok := b.pool.Get().(*[]byte); ok && cap(*v) >= n {
		return (*v)[:0]
	}
	return make([]byte, 0, n)
}

// put returns a buffer, which must not be used any more.
func (b *buffers) put(p []byte) {
	if cap(p) > 0 {
		b.pool.Put(&p)
	}
}

// writePiece is one write request of a file: the payload in its wire form, kept until it is acknowledged, because it may
// have to be sent again.
type writePiece struct {
	off     int64  // in the file
	n       int    // bytes of data
	payload []byte // pages with checksums between, or plain data
	paged   bool

	h    *handle
	call *call
	err  error
}

// newWrite makes the payload; the caller may reuse p at once. sums may be nil.
func newWrite(b *buffers, p []byte, sums []uint32, off int64, paged bool) *writePiece {
	w := &writePiece{off: off, n: len(p), paged: paged}
	if !paged {
		w.payload = append(b.get(len(p)), p...)
		return w
	}
	w.payload = b.get(int(wire.PagesLen(off, int64(len(p)))))
	if sums != nil {
		w.payload = wire.AppendPages(w.payload, p, sums, off)
		return w
	}
	// Each page fragment follows its checksum.
	for at := off; len(p) > 0; {
		n := wire.FragmentLen(at, len(p))
		w.payload = binary.BigEndian.AppendUint32(w.payload, checksum.CRC32C(p[:n]))
		w.payload = append(w.payload, p[:n]...)
		p, at = p[n:], at+int64(n)
	}
	return w
}

// send queues the request on the handle; the payload must not change until the answer.
func (w *writePiece) send(ctx context.Context, h *handle) {
	w.h, w.call = h, &call{}
	if w.paged {
		w.err = h.conn.send(ctx, w.call, wire.Pgwrite{Handle: h.fh, Offset: w.off}, w.payload)
		return
	}
	w.err = h.conn.send(ctx, w.call, wire.Write{Handle: h.fh, Offset: w.off}, w.payload)
}

// wait blocks until the server has accepted every byte.
func (w *writePiece) wait(ctx context.Context, u URL, rules policy) error {
	spent := attempts{}
	for {
		if w.err != nil {
			return w.err
		}
		a := w.h.conn.wait(ctx, w.call)
		next := rules.decide(newRoute(u), a, spent)
		if next.stop && next.err != nil {
			return next.err
		}
		if next.stop { // accepted, except pages that the answer lists
			return w.sendBad(ctx, u.Redacted(), a.body)
		}
		if !next.wait {
			return errs.New(errs.IO, "xrootd.Write", u.Redacted(), "the server sends the writer elsewhere")
		}
		spent.waited += next.delay
		if err := pause.For(ctx, next.delay); err != nil {
			return err
		}
		// The server accepted nothing of it: send the same request again.
		w.send(ctx, w.h)
		w.h.conn.flush()
	}
}

// sendBad sends pages again that arrived damaged, by the list in the answer.
func (w *writePiece) sendBad(ctx context.Context, subject string, list []byte) error {
	bad, err := wire.ParsePageErrors(list)
	if err != nil {
		return errs.As(err, errs.Corrupt, "xrootd.Write", subject)
	}
	for _, off := range bad.Offsets {
		page, ok := w.page(off)
		if !ok {
			return errs.New(errs.Corrupt, "xrootd.Write", subject, "the server complains about a page that was not sent")
		}
		good := false
		for range pageRetries {
			r := wire.Pgwrite{Handle: w.h.fh, Offset: off, Flags: wire.PageRetry}
			a := w.h.conn.roundTrip(ctx, nil, r, page)
			if err := a.failure("xrootd.Write", subject); err != nil {
				return err
			}
			if good = len(a.body) == 0; good {
				break
			}
		}
		if !good {
			return errs.New(errs.Corrupt, "xrootd.Write", subject, "a page arrives damaged each time it is sent")
		}
	}
	return nil
}

// page returns the fragment at a file offset in the payload, with its checksum.
func (w *writePiece) page(off int64) ([]byte, bool) {
	if !w.paged || off < w.off || (off != w.off && off%hemera.PageSize != 0) {
		return nil, false
	}
	// Each page in the payload follows its checksum of 4 bytes.
	at := int(off - w.off + 4*int64(wire.Fragments(w.off, off-w.off)))
	if at+4 >= len(w.payload) {
		return nil, false
	}
	n := 4 + wire.FragmentLen(off, len(w.payload)-at-4)
	return w.payload[at : at+n], true
}

// finishWrite waits until the piece is accepted, and uses another handle if this one fails. Repeating a write does no
// harm: the same bytes go to the same place.
func (f *File) finishWrite(ctx context.Context, w *writePiece) error {
	p := policy{op: "xrootd.Write", waitFor: f.b.client.opts.WaitFor}
	first := true // startWrite has sent the request already
	return f.b.with(ctx, func(h *handle) error {
		// On a new handle, or if the file was opened again after the piece was sent.
		if !first || w.h != h {
			w.send(ctx, h)
			h.conn.flush()
		}
		first = false
		return w.wait(ctx, f.b.url, p)
	})
}

// startWrite sends one piece on the current handle. It fails with BadHandle if the file is closed.
func (f *File) startWrite(ctx context.Context, p []byte, sums []uint32, off int64) (*writePiece, error) {
	h, err := f.b.current()
	if err != nil {
		return nil, err
	}
	w := newWrite(&f.b.client.buffers, p, sums, off, h.pages)
	w.send(ctx, h)
	h.conn.flush()
	return w, nil
}

// WriteAt blocks until the server has accepted all of p. It is durable only after Sync or Close. A window of requests is
// in flight. The caller may reuse p when it returns.
func (f *File) WriteAt(ctx context.Context, p []byte, off int64) error {
	return f.WritePages(ctx, p, nil, off)
}

// WritePages writes like WriteAt, with the CRC32C of each page in sums; with nil sums it computes them. The server checks
// every page, and pages that arrive damaged are sent again.
func (f *File) WritePages(ctx context.Context, p []byte, sums []uint32, off int64) error {
	q := f.newQueue() // of this call alone: it returns when its own bytes are accepted
	for len(p) > 0 {
		n := min(len(p), f.b.client.opts.Chunk-int(off%int64(f.b.client.opts.Chunk)))
		var part []uint32
		if sums != nil {
			count := wire.Fragments(off, int64(n))
			part, sums = sums[:count], sums[count:]
		}
		if err := q.write(ctx, p[:n], part, off); err != nil {
			return err
		}
		p, off = p[n:], off+int64(n)
	}
	return q.drain(ctx)
}

// writeQueue is a bounded number of writes in flight, finished in order.
type writeQueue struct {
	file   *File
	pieces []*writePiece
	max    int
}

// newQueue makes a queue for a window of requests.
func (f *File) newQueue() *writeQueue {
	return &writeQueue{file: f, max: max(1, f.b.client.opts.Window/f.b.client.opts.Chunk)}
}

// write starts one request; it blocks while the queue is full. After an error the queue is not usable any more.
func (q *writeQueue) write(ctx context.Context, p []byte, sums []uint32, off int64) error {
	if len(q.pieces) >= q.max { // the oldest first: answers usually come in order
		if err := q.finishFirst(ctx); err != nil {
			return err
		}
	}
	w, err := q.file.startWrite(ctx, p, sums, off)
	if err != nil {
		return err
	}
	q.pieces = append(q.pieces, w)
	return nil
}

// drain blocks until the server has accepted everything.
func (q *writeQueue) drain(ctx context.Context) error {
	for len(q.pieces) > 0 {
		if err := q.finishFirst(ctx); err != nil {
			return err
		}
	}
	return nil
}

// finishFirst waits for the oldest request.
func (q *writeQueue) finishFirst(ctx context.Context) error {
	w := q.pieces[0]
	q.pieces = q.pieces[1:]
	err := q.file.finishWrite(ctx, w)
	if err == nil {
		q.file.b.accepted(w.off+int64(w.n), false)
		q.file.b.client.buffers.put(w.payload) // not after an error: the request may still be in transit
	}
	return err
}
