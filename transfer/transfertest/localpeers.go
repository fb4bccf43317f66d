package transfertest

import (
	"context"
	"sync"

	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// LocalPeers is [piece.Peers] among nodes of one process: pieces are opened by a call, not over
// a network. Simulations and tests of several nodes use it, and add faults with a wrapper.
type LocalPeers struct {
	mu    sync.RWMutex
	nodes map[string]hemera.Node
}

// NewLocalPeers makes an empty set.
func NewLocalPeers() *LocalPeers { return &LocalPeers{nodes: map[string]hemera.Node{}} }

// Add makes the node reachable at the address; nil makes the address unreachable again.
func (l *LocalPeers) Add(addr string, n hemera.Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodes[addr] = n
}

// open opens a piece at the node with the address.
func (l *LocalPeers) open(ctx context.Context, p piece.Remote, token string) (hemera.PieceHandle, error) {
	l.mu.RLock()
	n := l.nodes[p.Addr]
	l.mu.RUnlock()
	if n == nil {
		return nil, errs.New(errs.Unavailable, "transfertest.Dial", p.Addr, "no node answers there")
	}
	return n.OpenPiece(ctx, hemera.ParsePermit(token), hemera.PieceOpen{Index: p.Index, Base: p.Base, Adopt: p.Adopt, Path: p.Path, Head: p.Head})
}

// Create opens the piece for writing.
func (l *LocalPeers) Create(ctx context.Context, p piece.Remote, token string) (piece.Writer, error) {
	f, err := l.open(ctx, p, token)
	if err != nil {
		return nil, err
	}
	if !f.Info().Writable {
		_ = f.End(ctx, hemera.EndClose)
		return nil, errs.New(errs.Exists, "transfertest.Create", p.Addr, "the piece is sealed")
	}
	again := func(token string) (hemera.PieceHandle, error) { return l.open(context.WithoutCancel(ctx), p, token) }
	return &localWriter{PieceHandle: f, head: p.Head != "", token: token, again: again}, nil
}

// Open opens the piece for reading.
func (l *LocalPeers) Open(ctx context.Context, p piece.Remote, token string) (piece.Reader, error) {
	f, err := l.open(ctx, p, token)
	if err != nil {
		return nil, err
	}
	return &localReader{PieceHandle: f}, nil
}

// localWriter is a piece handle in the shape of a peer's.
type localWriter struct {
	hemera.PieceHandle
	head  bool
	token string
	again func(token string) (hemera.PieceHandle, error) // opens the piece once more, to abort it after its seal or to renew it
}

// Seal seals the piece, or offers it to the head.
func (w *localWriter) Seal(ctx context.Context, s hemera.SealInfo) error {
	if o, ok := w.PieceHandle.(hemera.Offerer); ok && !w.head {
		return o.Offer(ctx, s)
	}
	_, err := w.PieceHandle.Seal(ctx, s)
	return err
}

// Clone has the piece begin as a copy. A piece that knows no copies is one of an older node: its refusal is that of such a
// node, after which the head writes it.
func (w *localWriter) Clone(ctx context.Context, size int64) error {
	if c, ok := w.PieceHandle.(hemera.Cloner); ok {
		return c.Clone(ctx, size)
	}
	return errs.New(errs.Unsupported, "transfertest.Clone", "", "the piece cannot begin as a copy")
}

// Prove asks the sealed piece for its sums.
func (w *localWriter) Prove(ctx context.Context, q hemera.ProofRequest) (hemera.PieceProof, error) {
	p, ok := w.PieceHandle.(hemera.Prover)
	if !ok { // it was sealed and let go
		return hemera.PieceProof{}, errs.New(errs.Unsupported, "transfertest.Prove", "", "the piece takes no part in a write")
	}
	return p.Prove(ctx, q)
}

// Renew keeps the piece of a client for as long as the token is good.
func (w *localWriter) Renew(ctx context.Context, token string) error {
	f, err := w.again(token)
	if err != nil {
		return err
	}
	return f.End(ctx, hemera.EndDetach)
}

// Release ends the hold on the sealed piece.
func (w *localWriter) Release() { _ = w.End(context.Background(), hemera.EndClose) }

// HangUp ends the connection without a word: the piece stays for its head to come back.
func (w *localWriter) HangUp() { _ = w.End(context.Background(), hemera.EndDetach) }

// Abort removes the piece, sealed or not.
func (w *localWriter) Abort() {
	if w.End(context.Background(), hemera.EndAbort) == nil {
		return
	}
	if f, err := w.again(w.token); err == nil {
		_ = f.End(context.Background(), hemera.EndAbort)
	}
}

// localReader is a piece handle in the shape of a peer's.
type localReader struct{ hemera.PieceHandle }

// Size returns the piece's size when it was opened.
func (r *localReader) Size() int64 { return r.Info().Size }

// NextData asks the piece where data may begin.
func (r *localReader) NextData(off int64) (int64, error) {
	if s, ok := r.PieceHandle.(hemera.Sparse); ok {
		return s.NextData(off)
	}
	return off, nil
}

// Allocated asks the piece how much it takes.
func (r *localReader) Allocated() (int64, error) {
	if s, ok := r.PieceHandle.(hemera.Sparse); ok {
		return s.Allocated()
	}
	return r.Size(), nil
}

// Close ends the handle.
func (r *localReader) Close() error { return r.End(context.Background(), hemera.EndClose) }
