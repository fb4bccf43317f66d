package xrootd

import (
	"context"
	"io"

	"hemera/platform/pause"
	"hemera/rules/checksum"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// readPiece is one read request of a file: the memory for its bytes, and the request while it is in flight. It may be
// sent several times, on several handles, but only on one at a time.
type readPiece struct {
	p    []byte
	sums []uint32 // nil if not wanted
	off  int64    // in the file

	h     *handle
	call  *call
	pages *pageSink // of a pgread
	data  *dataSink // of a read
	err   error     // it could not be sent
}

// sentElsewhere is the error of a read that the server redirects to another one, where the file has to be opened again.
type sentElsewhere struct {
	error
	to route
}

// Unwrap returns the error itself.
func (e *sentElsewhere) Unwrap() error { return e.error }

// send queues the request on the handle; wait returns a failure.
func (r *readPiece) send(ctx context.Context, h *handle) {
	r.h, r.call, r.err, r.pages, r.data = h, &call{}, nil, nil, nil
	if h.pages { // each page with its checksum, if the server supports it
		r.pages = &pageSink{p: r.p, sums: r.sums, off: r.off}
		r.call.sink = r.pages
		r.err = h.conn.send(ctx, r.call, wire.Pgread{Handle: h.fh, Offset: r.off, Length: int32(len(r.p))})
		return
	}
	r.data = &dataSink{p: r.p}
	r.call.sink = r.data
	r.err = h.conn.send(ctx, r.call, wire.Read{Handle: h.fh, Offset: r.off, Length: int32(len(r.p))})
}

// wait returns the number of bytes received, all of them verified.
func (r *readPiece) wait(ctx context.Context, u URL, rules policy) (int, error) {
	spent := attempts{}
	for {
		if r.err != nil {
			return 0, r.err
		}
		a := r.h.conn.wait(ctx, r.call)
		next := rules.decide(newRoute(u), a, spent)
		if next.stop && next.err != nil {
			return 0, next.err // with decides whether another handle helps
		}
		if next.stop {
			break
		}
		if !next.wait {
			return 0, &sentElsewhere{errs.New(errs.IO, "xrootd.Read", u.Redacted(), "the server sends the reader elsewhere"), next.route}
		}
		spent.waited += next.delay
		if err := pause.For(ctx, next.delay); err != nil {
			return 0, err
		}
		r.send(ctx, r.h)
		r.h.conn.flush()
	}
	if r.data != nil {
		if r.sums != nil { // nothing to compare them with
			checksum.PageSums(r.p[:r.data.got], r.off, r.sums)
		}
		return r.data.got, nil
	}
	return r.pages.got, r.readAgain(ctx, u)
}

// pageRetries is the number of times that one bad page is requested again before the read fails.
const pageRetries = 3

// readAgain requests pages again that did not match their checksums.
func (r *readPiece) readAgain(ctx context.Context, u URL) error {
	// One page at a time: bad ones are rare, and a short answer is less likely to be damaged again.
	for _, b := range r.pages.bad {
		off := r.off + int64(b.at)
		good := false
		for range pageRetries {
			s := &pageSink{p: r.p[b.at : b.at+b.n], off: off}
			if r.sums != nil {
				i := r.pages.index(b.at)
				s.sums = r.sums[i : i+1]
			}
			w := wire.Pgread{Handle: r.h.fh, Offset: off, Length: int32(b.n)}
			a := r.h.conn.roundTrip(ctx, s, w, []byte{0, wire.PageRetry})
			if err := a.failure("xrootd.Read", u.Redacted()); err != nil {
				return err
			}
			if good = len(s.bad) == 0 && s.got == b.n; good {
				break
			}
		}
		if !good {
			return errs.New(errs.Corrupt, "xrootd.Read", u.Redacted(), "a page does not match its checksum, also when asked for again")
		}
	}
	return nil
}

// dropReads abandons requests in flight, so that the caller may reuse their memory.
func dropReads(pieces []*readPiece) {
	// Waiting with a context that has ended abandons the call.
	gone, cancel := context.WithCancel(noContext)
	cancel()
	for _, r := range pieces {
		if r.err == nil && r.call != nil {
			r.h.conn.wait(gone, r.call)
		}
	}
}

// finishRead waits for the piece's bytes, and uses another handle if this one fails. It returns fewer bytes than the
// piece has only at the end of the file.
func (f *File) finishRead(ctx context.Context, r *readPiece) (int, error) {
	p := policy{op: "xrootd.Read", waitFor: f.b.client.opts.WaitFor}
	n := 0
	first := true // startReads has sent the request already
	err := f.b.with(ctx, func(h *handle) error {
		if !first || r.h == nil {
			r.send(ctx, h)
			h.conn.flush()
		}
		first = false
		var err error
		n, err = r.wait(ctx, f.b.url, p)
		if err != nil && r.h != h {
			// The piece was sent on an older handle, so its failure does not concern the current one.
			r.send(ctx, h)
			h.conn.flush()
			n, err = r.wait(ctx, f.b.url, p)
		}
		return err
	})
	return n, err
}

// startReads sends pieces on the current handle. finishRead returns failures.
func (f *File) startReads(ctx context.Context, pieces ...*readPiece) {
	h, err := f.b.current()
	for _, r := range pieces {
		if err != nil {
			continue // finishRead returns the error
		}
		r.send(ctx, h)
	}
	if err == nil && len(pieces) > 0 {
		h.conn.flush()
	}
}

// ReadAt reads like io.ReaderAt, with a context: it returns fewer bytes than requested only at the end, with io.EOF, or
// with an error. The bytes are verified if the server supports pgread.
func (f *File) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	return f.ReadPages(ctx, p, nil, off)
}

// ReadPages reads like ReadAt and also returns the CRC32C of each page fragment, aligned to file offsets. The bytes are
// verified on arrival. Servers without pgread send no checksums; then the sums are computed from the received bytes. sums
// may be nil. ReadPages keeps up to a window of requests in flight.
func (f *File) ReadPages(ctx context.Context, p []byte, sums []uint32, off int64) (int, error) {
	if off < 0 {
		return 0, errs.New(errs.Invalid, "xrootd.Read", f.b.url.Redacted(), "the offset is negative")
	}
	// A window of requests is in flight; each finished one lets the next one start.
	pieces := cutReads(p, sums, off, f.b.client.opts.Chunk)
	window := max(1, f.b.client.opts.Window/f.b.client.opts.Chunk)
	sent := min(window, len(pieces))
	f.startReads(ctx, pieces[:sent]...)
	total := 0
	for i, r := range pieces {
		n, err := f.finishRead(ctx, r)
		total += n
		if err == nil && n < len(r.p) { // the file ends here
			err = io.EOF
		}
		if err != nil {
			dropReads(pieces[i+1 : sent]) // the caller may reuse p when this returns
			return total, err
		}
		if sent < len(pieces) {
			f.startReads(ctx, pieces[sent])
			sent++
		}
	}
	return total, nil
}

// cutReads divides a read into requests that begin at multiples of the chunk, so that no page is in two.
func cutReads(p []byte, sums []uint32, off int64, chunk int) []*readPiece {
	var pieces []*readPiece
	for len(p) > 0 {
		n := min(len(p), chunk-int(off%int64(chunk)))
		r := &readPiece{p: p[:n], off: off}
		if sums != nil {
			count := wire.Fragments(off, int64(n))
			r.sums, sums = sums[:count], sums[count:]
		}
		pieces = append(pieces, r)
		p, off = p[n:], off+int64(n)
	}
	return pieces
}
