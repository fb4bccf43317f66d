package node

import (
	"context"
	"sync"

	"hemera"
	"hemera/core/transfer"
	"hemera/errs"
)

// LocalPeers is [transfer.Peers] among nodes of one process: pieces are opened by a call, not over
// a network. It serves simulations and tests, where a wrapper adds the faults.
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
func (l *LocalPeers) open(ctx context.Context, p transfer.RemotePiece, token string) (hemera.PieceHandle, error) {
	l.mu.RLock()
	n := l.nodes[p.Addr]
	l.mu.RUnlock()
	if n == nil {
		return nil, errs.New(errs.Unavailable, "node.Dial", p.Addr, "no node answers there")
	}
	return n.OpenPiece(ctx, hemera.ParsePermit(token), hemera.PieceOpen{Index: p.Index, Base: p.Base})
}

// Create opens the target's piece for writing.
func (l *LocalPeers) Create(ctx context.Context, t hemera.Target, token string) (transfer.PeerWriter, error) {
	p := transfer.RemotePiece{Target: t}
	f, err := l.open(ctx, p, token)
	if err != nil {
		return nil, err
	}
	if !f.Info().Writable {
		_ = f.End(ctx, hemera.EndClose)
		return nil, errs.New(errs.Exists, "node.Create", t.Addr, "the piece is sealed")
	}
	again := func() (hemera.PieceHandle, error) { return l.open(context.WithoutCancel(ctx), p, token) }
	return &localWriter{PieceHandle: f, again: again}, nil
}

// Open opens the piece for reading.
func (l *LocalPeers) Open(ctx context.Context, p transfer.RemotePiece, token string) (transfer.PeerReader, error) {
	f, err := l.open(ctx, p, token)
	if err != nil {
		return nil, err
	}
	return &localReader{PieceHandle: f}, nil
}

// localWriter is a piece handle in the shape of a peer's.
type localWriter struct {
	hemera.PieceHandle
	again func() (hemera.PieceHandle, error) // opens the piece once more, to abort it after its seal
}

// Seal seals the piece.
func (w *localWriter) Seal(ctx context.Context, s hemera.SealInfo) error {
	_, err := w.PieceHandle.Seal(ctx, s)
	return err
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
	if f, err := w.again(); err == nil {
		_ = f.End(context.Background(), hemera.EndAbort)
	}
}

// localReader is a piece handle in the shape of a peer's.
type localReader struct{ hemera.PieceHandle }

// Size is the piece's size when it was opened.
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
