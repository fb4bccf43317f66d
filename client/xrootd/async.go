package xrootd

import (
	"context"
	"slices"
	"sync"
	"time"

	"hemera/platform/turn"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// AsyncWriter writes to one opening of a file on one session. Its writes return when they are in the socket, before the
// server has answered; a failure is returned by a later call and is final. It ends with its session: unlike a [File] it
// never opens the file again. A node writes pieces to other nodes with it.
//
// It keeps no copy of sent data: a page that arrives damaged ends the writer. Its user has other pieces, from which the
// lost one is rebuilt.
//
// Methods are safe for concurrent use. Those that send (WritePages, Truncate, Sync, Query) wait for each other; the
// others return at once.
type AsyncWriter struct {
	client *Client // for its options
	handle *handle // never replaced
	peer   string  // host:port, the subject of errors

	turn turn.Turn // its holder sends, and may wait for answers
	vec  [][]byte  // the holder's, with room: a request's payload
	room []byte    // the same, for the checksums in vec

	mu       sync.Mutex    // shared with the reading goroutine
	inFlight int           // bytes of data sent and not acknowledged
	err      error         // final
	signal   chan struct{} // has a token after an answer; settle waits for it
	left     bool          // the handle is closed, or about to be
}

// newAsyncWriter takes over a handle, and the duty to close it.
func newAsyncWriter(c *Client, h *handle, peer string) *AsyncWriter {
	return &AsyncWriter{client: c, handle: h, peer: peer, turn: turn.New(), signal: make(chan struct{}, 1)}
}

// WritePages sends p, whose page fragments have the CRC32Cs sums. The caller may reuse both when it returns. It blocks
// while more than Options.Window bytes are not acknowledged, for at most Options.Stall without any answer.
func (w *AsyncWriter) WritePages(p []byte, sums []uint32, off int64) error {
	w.turn.Wait()
	defer w.turn.Release()
	for len(p) > 0 {
		// Requests end at multiples of the chunk, so that no page is in two of them.
		n := min(len(p), w.client.opts.Chunk-int(off%int64(w.client.opts.Chunk)))
		count := wire.Fragments(off, int64(n))
		if err := w.settle(noContext, w.client.opts.Window-n); err != nil {
			return err
		}
		w.start(p[:n], sums[:count], off)
		p, sums, off = p[n:], sums[count:], off+int64(n)
	}
	return w.failed()
}

// start sends one request; the reading goroutine handles its answer.
func (w *AsyncWriter) start(p []byte, sums []uint32, off int64) {
	w.mu.Lock()
	w.inFlight += len(p)
	w.mu.Unlock()
	k := &call{finish: func(k *call) { w.answered(len(p), k.answer) }} // finish may run before send returns, so the bytes are counted first
	var err error
	if w.handle.pages {
		w.room = slices.Grow(w.room[:0], 4*len(sums))[:4*len(sums)]
		w.vec = wire.PageVec(w.vec[:0], w.room, p, sums, off)
		err = w.handle.conn.send(noContext, k, wire.Pgwrite{Handle: w.handle.fh, Offset: off}, w.vec...)
	} else {
		err = w.handle.conn.send(noContext, k, wire.Write{Handle: w.handle.fh, Offset: off}, p)
	}
	if err == nil {
		w.handle.conn.flush()
	} else {
		w.answered(len(p), answer{err: err})
	}
	clear(w.vec) // keep no reference to the caller's memory
}

// answered runs in the session's reading goroutine and must not block. n is the number of bytes of data in the request.
func (w *AsyncWriter) answered(n int, a answer) {
	err := a.failure("xrootd.WriteTo", w.peer)
	if err == nil && len(a.body) > 0 { // the list of pages that did not match their checksums
		err = errs.New(errs.IO, "xrootd.WriteTo", w.peer, "pages arrived damaged")
	}
	w.mu.Lock()
	w.inFlight -= n
	if w.err == nil {
		w.err = err
	}
	w.mu.Unlock()
	w.wake()
}

// wake makes settle check the state again.
func (w *AsyncWriter) wake() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// failed returns the final error, or nil.
func (w *AsyncWriter) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// progress returns the state for settle.
func (w *AsyncWriter) progress() (inFlight int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inFlight, w.err
}

// settle blocks until at most limit bytes are not acknowledged. Without any answer for Options.Stall the writer fails
// with Timeout.
func (w *AsyncWriter) settle(ctx context.Context, limit int) error {
	stall := time.NewTimer(w.client.opts.Stall)
	defer stall.Stop()
	for {
		inFlight, err := w.progress()
		switch {
		case err != nil:
			return err
		case inFlight <= max(limit, 0):
			return nil
		}
		select {
		case <-w.signal:
			stall.Reset(w.client.opts.Stall)
		case <-stall.C:
			return w.fail(errs.New(errs.Timeout, "xrootd.WriteTo", w.peer, "no answer in time"))
		case <-ctx.Done():
			return w.fail(errs.Wrap(ctx.Err(), "xrootd.WriteTo", w.peer))
		}
	}
}

// fail sets the final error, unless there is one already, and returns it.
func (w *AsyncWriter) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	return w.err
}

// ask waits until everything written was acknowledged, sends one request, and waits for its answer.
func (w *AsyncWriter) ask(ctx context.Context, op string, r wire.Request, payload []byte) ([]byte, error) {
	a, err := w.exchange(ctx, op, r, payload)
	if err == nil {
		err = a.failure(op, w.peer)
	}
	if err != nil {
		return nil, w.fail(err)
	}
	return a.body, nil
}

// exchange does the same as ask without checking the answer. Its error is final.
func (w *AsyncWriter) exchange(ctx context.Context, op string, r wire.Request, payload []byte) (answer, error) {
	if err := w.turn.Acquire(ctx); err != nil {
		return answer{}, w.fail(errs.Wrap(err, op, w.peer))
	}
	defer w.turn.Release()
	if err := w.settle(ctx, 0); err != nil {
		return answer{}, err
	}
	k := &call{silenceMax: max(w.client.opts.Stall, deviceSilenceMax)}
	if err := w.handle.conn.send(ctx, k, r, payload); err != nil {
		return answer{}, w.fail(err)
	}
	w.handle.conn.flush()
	return w.handle.conn.wait(ctx, k), nil
}

// Truncate sets the size after everything written was accepted.
func (w *AsyncWriter) Truncate(size int64) error {
	_, err := w.ask(noContext, "xrootd.TruncateAt", wire.Truncate{Handle: w.handle.fh, Size: size}, nil)
	return err
}

// Sync blocks until everything written is durable.
func (w *AsyncWriter) Sync(ctx context.Context) error {
	_, err := w.ask(ctx, "xrootd.SyncAt", wire.Sync{Handle: w.handle.fh}, nil)
	return err
}

// Query sends an opaque request on the open file, after everything written was accepted; errors name the operation op. It
// returns the text of the answer.
func (w *AsyncWriter) Query(ctx context.Context, op, text string) (string, error) {
	body, err := w.ask(ctx, op, wire.Query{Kind: wire.QueryOpaquf, Handle: w.handle.fh}, []byte(text))
	return wire.Text(body), err
}

// TryQuery does the same as Query, but an error from the server does not end the writer: the request was not carried out,
// and the writer stays usable.
func (w *AsyncWriter) TryQuery(ctx context.Context, op, text string) error {
	a, err := w.exchange(ctx, op, wire.Query{Kind: wire.QueryOpaquf, Handle: w.handle.fh}, []byte(text))
	if err == nil && a.err != nil { // the session has ended
		return w.fail(a.failure(op, w.peer))
	}
	if err == nil {
		err = a.failure(op, w.peer)
	}
	return err
}

// Release closes the handle without waiting. A second call has no effect.
func (w *AsyncWriter) Release() {
	w.mu.Lock()
	left := w.left
	w.left = true
	w.mu.Unlock()
	if !left {
		w.handle.leave()
	}
}

// Abort cancels the write and releases the handle, without waiting for the server: a server that is gone removes the
// written bytes itself. If the connection ends before the server has answered, Abort calls unanswered once, if not nil,
// in a goroutine that must not block. It has no effect after Release.
func (w *AsyncWriter) Abort(unanswered func()) {
	_ = w.fail(errs.New(errs.Cancelled, "xrootd.WriteTo", w.peer, "the write was aborted"))
	w.mu.Lock()
	left := w.left
	w.mu.Unlock()
	if left {
		return
	}
	if unanswered == nil {
		unanswered = func() {}
	}
	k := &call{finish: func(k *call) {
		if k.answer.err != nil { // there was no answer
			unanswered()
		}
	}}
	q := wire.Query{Kind: wire.QueryOpaquf, Handle: w.handle.fh}
	if w.handle.conn.send(noContext, k, q, []byte(wire.OpaqueAbort)) != nil {
		unanswered()
		return
	}
	w.Release()
}
