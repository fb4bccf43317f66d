package client

import (
	"context"
	"sync"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/rules/wire"
)

// peerWriter is a pending piece on another node. Writes return when they are in the socket; the
// session's reading goroutine takes the answers.
type peerWriter struct {
	client *Client
	handle *handle
	peer   string

	use sync.Mutex // one caller at a time

	mu       sync.Mutex // what follows is shared with the reading goroutine
	inFlight int        // payload bytes sent and not answered
	bad      []*badWrite
	err      error // final
	signal   chan struct{}
	left     bool
	sealing  bool // asked to seal: only an abort that the peer answers is known to remove the piece

	// again opens the piece once more, on another connection; nil where that was done already.
	again func(context.Context) (*peerWriter, error)
}

// badWrite is a write of which the peer could not use some pages.
type badWrite struct {
	piece *writePiece
	list  []byte
}

func newPeerWriter(c *Client, h *handle, peer string) *peerWriter {
	return &peerWriter{client: c, handle: h, peer: peer, signal: make(chan struct{}, 1)}
}

// WritePages implements transfer.PeerWriter.
func (w *peerWriter) WritePages(p []byte, sums []uint32, off int64) error {
	w.use.Lock()
	defer w.use.Unlock()
	for len(p) > 0 {
		n := min(len(p), w.client.opts.Chunk-int(off%int64(w.client.opts.Chunk)))
		count := wire.Fragments(off, int64(n))
		if err := w.settle(noContext, w.client.opts.Window-n); err != nil {
			return err
		}
		w.start(w.client.newWrite(p[:n], sums[:count], off, w.handle.pages))
		p, sums, off = p[n:], sums[count:], off+int64(n)
	}
	return w.failed()
}

// start sends a piece whose answer nobody waits for.
func (w *peerWriter) start(piece *writePiece) {
	n := len(piece.payload)
	w.mu.Lock()
	w.inFlight += n
	w.mu.Unlock()
	piece.send(noContext, w.handle, func(k *call) { w.answered(piece, k.answer) })
	if piece.err != nil {
		w.answered(piece, answer{err: piece.err})
		return
	}
	w.handle.conn.flush()
}

// answered runs in the reading goroutine.
func (w *peerWriter) answered(piece *writePiece, a answer) {
	err := a.failure("write piece at", w.peer)
	w.mu.Lock()
	w.inFlight -= len(piece.payload)
	switch {
	case err != nil && w.err == nil:
		w.err = err
	case err == nil && len(a.body) > 0:
		w.bad = append(w.bad, &badWrite{piece, a.body})
	case err == nil:
		w.client.buffers.put(piece.payload)
	}
	w.mu.Unlock()
	w.wake()
}

func (w *peerWriter) wake() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

func (w *peerWriter) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// look takes the state that callers decide by.
func (w *peerWriter) look() (inFlight int, bad *badWrite, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.bad) > 0 && w.err == nil {
		bad, w.bad = w.bad[0], w.bad[1:]
	}
	return w.inFlight, bad, w.err
}

// settle waits until at most limit bytes are unanswered, and sends pages again that arrived
// damaged. Without any answer for the stall time the peer is given up.
func (w *peerWriter) settle(ctx context.Context, limit int) error {
	stall := time.NewTimer(w.client.opts.Stall)
	defer stall.Stop()
	for {
		inFlight, bad, err := w.look()
		switch {
		case err != nil:
			return err
		case bad != nil:
			if err := bad.piece.sendBad(ctx, w.peer, bad.list); err != nil {
				return w.giveUp(err)
			}
			continue
		case inFlight <= max(limit, 0):
			return nil
		}
		select {
		case <-w.signal:
			stall.Reset(w.client.opts.Stall)
		case <-stall.C:
			return w.giveUp(errs.New(errs.Timeout, "write piece at", w.peer, "no answer in time"))
		case <-ctx.Done():
			return w.giveUp(errs.Wrap(ctx.Err(), "write piece at", w.peer))
		}
	}
}

// giveUp makes err the final one, if none is yet.
func (w *peerWriter) giveUp(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	return w.err
}

// ask sends one request after everything written was answered.
func (w *peerWriter) ask(ctx context.Context, op string, r wire.Request, payload []byte) error {
	w.use.Lock()
	defer w.use.Unlock()
	if err := w.settle(ctx, 0); err != nil {
		return err
	}
	k := &call{patience: max(w.client.opts.Stall, slowPatience)}
	if err := w.handle.conn.send(ctx, k, r, payload); err != nil {
		return w.giveUp(err)
	}
	w.handle.conn.flush()
	if err := w.handle.conn.wait(ctx, k).failure(op, w.peer); err != nil {
		return w.giveUp(err)
	}
	return nil
}

// Truncate implements transfer.PeerWriter.
func (w *peerWriter) Truncate(size int64) error {
	return w.ask(noContext, "truncate piece at", wire.Truncate{Handle: w.handle.fh, Size: size}, nil)
}

// Sync implements transfer.PeerWriter.
func (w *peerWriter) Sync(ctx context.Context) error {
	return w.ask(ctx, "sync piece at", wire.Sync{Handle: w.handle.fh}, nil)
}

// Seal implements transfer.PeerWriter.
func (w *peerWriter) Seal(ctx context.Context, s hemera.SealInfo) error {
	w.mu.Lock()
	w.sealing = true
	w.mu.Unlock()
	return w.ask(ctx, "seal piece at", wire.Query{Kind: wire.QueryOpaquf, Handle: w.handle.fh}, []byte(s.Encode()))
}

// Release implements transfer.PeerWriter. It does not wait.
func (w *peerWriter) Release() { w.leave() }

// abortPatience bounds what is done to remove a sealed piece whose connection is gone.
const abortPatience = 10 * time.Second

// Abort implements transfer.PeerWriter. It does not wait: a peer that is gone removes an unsealed piece
// by itself, when nobody has written to it for long enough. A sealed one it keeps, as that may be
// committed: so when the connection ends before the answer, the piece is opened once more and given up
// there. What is left when the peer cannot be reached either, the audit finds.
func (w *peerWriter) Abort() {
	_ = w.giveUp(errs.New(errs.Cancelled, "write piece at", w.peer, "given up"))
	w.mu.Lock()
	left, again := w.left, w.again
	if !w.sealing {
		again = nil
	}
	w.again = nil
	w.mu.Unlock()
	if left {
		return
	}
	cut := func() {
		if again != nil {
			go abortAgain(again)
		}
	}
	k := &call{finish: func(k *call) {
		if k.answer.err != nil { // none came
			cut()
		}
	}}
	q := wire.Query{Kind: wire.QueryOpaquf, Handle: w.handle.fh}
	if w.handle.conn.send(noContext, k, q, []byte(hemera.OpaqueAbort)) != nil {
		cut()
		return
	}
	w.leave()
}

// abortAgain gives a piece up on a connection of its own.
func abortAgain(open func(context.Context) (*peerWriter, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), abortPatience)
	defer cancel()
	if w, err := open(ctx); err == nil {
		w.Abort()
	}
}

// leave closes the handle, once.
func (w *peerWriter) leave() {
	w.mu.Lock()
	left := w.left
	w.left = true
	w.mu.Unlock()
	if !left {
		w.handle.leave()
	}
}
