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

func (l *LocalPeers) open(ctx context.Context, t hemera.Target, token string) (hemera.File, error) {
	l.mu.RLock()
	n := l.nodes[t.Addr]
	l.mu.RUnlock()
	if n == nil {
		return nil, errs.New(errs.Unavailable, "node.Dial", t.Addr, "no node answers there")
	}
	return n.Open(ctx, hemera.ParsePermit(token), hemera.NodeOpen{Piece: true, Index: t.Index})
}

// Create opens the target's piece for writing.
func (l *LocalPeers) Create(ctx context.Context, t hemera.Target, token string) (transfer.PeerWriter, error) {
	f, err := l.open(ctx, t, token)
	if err != nil {
		return nil, err
	}
	if _, ok := f.(hemera.Sealer); !ok {
		_ = f.Close(ctx)
		return nil, errs.New(errs.Exists, "node.Create", t.Addr, "the piece is sealed")
	}
	again := func() (hemera.File, error) { return l.open(context.WithoutCancel(ctx), t, token) }
	return &localWriter{File: f, again: again}, nil
}

// Open opens the target's piece for reading.
func (l *LocalPeers) Open(ctx context.Context, t hemera.Target, token string) (transfer.PeerReader, error) {
	f, err := l.open(ctx, t, token)
	if err != nil {
		return nil, err
	}
	return &localReader{File: f}, nil
}

// localWriter is a piece handle in the shape of a peer's.
type localWriter struct {
	hemera.File
	again func() (hemera.File, error)
}

// Seal seals the piece.
func (w *localWriter) Seal(ctx context.Context, s hemera.SealInfo) error {
	_, err := w.File.(hemera.Sealer).Seal(ctx, s)
	return err
}

// Release ends the hold on the sealed piece.
func (w *localWriter) Release() { _ = w.Close(context.Background()) }

// HangUp ends the connection without a word: the piece stays for its head to come back.
func (w *localWriter) HangUp() { w.File.(hemera.Detacher).Detach() }

// Abort removes the piece, sealed or not.
func (w *localWriter) Abort() {
	if w.File.(hemera.Aborter).Abort(context.Background()) == nil {
		return
	}
	f, err := w.again()
	if err != nil {
		return
	}
	if sealed, ok := f.(hemera.Aborter); ok {
		_ = sealed.Abort(context.Background())
	}
}

type localReader struct{ hemera.File }

// Size is the piece's size when it was opened.
func (r *localReader) Size() int64 { return r.Info().Size }

// NextData asks the piece where data may begin.
func (r *localReader) NextData(off int64) (int64, error) {
	if s, ok := r.File.(hemera.Sparse); ok {
		return s.NextData(off)
	}
	return off, nil
}

// Allocated asks the piece how much it takes.
func (r *localReader) Allocated() (int64, error) {
	if a, ok := r.File.(hemera.Allocated); ok {
		return a.Allocated()
	}
	return r.Size(), nil
}

// Close ends the handle.
func (r *localReader) Close() error { return r.File.Close(context.Background()) }
