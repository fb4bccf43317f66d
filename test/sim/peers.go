package sim

import (
	"context"
	"sync"

	"hemera/test/sim/simnet"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// peers is the other nodes as one life of a node reaches them.
// Connections end with the process: the other side then sees what a closed socket shows.
type peers struct {
	w    *world
	life *process
	from simnet.Host

	mu   sync.Mutex           // never held over a call
	open map[*peerWriter]bool // writers that neither ended nor lost their connection
}

var _ piece.Peers = (*peers)(nil)

// newPeers makes the peers of one node's process.
func newPeers(w *world, life *process, from simnet.Host) *peers {
	return &peers{w: w, life: life, from: from, open: map[*peerWriter]bool{}}
}

// line is the connection to one life of a peer.
// A peer that starts again is another process: the old connection does not reach it.
type line struct {
	peers *peers
	to    *process
	host  simnet.Host
}

// dial finds the node of a target.
// A target of a machine that is off is unreachable, like one that never was.
func (p *peers) dial(t hemera.Target) (line, error) {
	m := p.w.machine(t.Addr)
	if m == nil || m.process() == nil {
		return line{}, simnet.ErrLost
	}
	return line{p, m.process(), m.host}, nil
}

// over makes a call on the line.
func over[T any](ctx context.Context, l line, do func(context.Context) (T, error)) (T, error) {
	var none T
	if l.peers.life.isDead() {
		return none, errDead
	}
	// The call ends when the caller dies; the callee may still finish it.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.peers.life.ctx, cancel)()
	out, err := simnet.Send(ctx, l.peers.w.net, l.peers.from, l.host, false, func(ctx context.Context) (T, error) { return into(ctx, l.to, do) })
	if l.peers.life.isDead() {
		return none, errDead
	}
	return out, err
}

// call does a call over the network; do runs at the other host.
func (l line) call(ctx context.Context, do func(context.Context) error) error {
	_, err := over(ctx, l, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) })
	return err
}

// Create implements piece.Peers.
// If the answer is lost, the piece exists at the peer without a writer here.
func (p *peers) Create(ctx context.Context, r piece.Remote, token string) (piece.Writer, error) {
	l, err := p.dial(r.Target)
	if err != nil {
		return nil, err
	}
	var made piece.Writer
	inner, err := over(ctx, l, func(ctx context.Context) (_ piece.Writer, err error) {
		made, err = p.w.local.Create(ctx, r, token)
		return made, err
	})
	if err != nil {
		if made != nil { // the answer was lost, and the connection with it
			(&peerWriter{Writer: made, line: l}).hangUp()
		}
		return nil, err
	}
	w := &peerWriter{Writer: inner, line: l}
	// Remembered, so that the death of this process can end it.
	p.mu.Lock()
	p.open[w] = true
	p.mu.Unlock()
	return w, nil
}

// Open implements piece.Peers.
// Readers hold nothing at the peer that outlives a call, so they need not be remembered.
func (p *peers) Open(ctx context.Context, r piece.Remote, token string) (piece.Reader, error) {
	l, err := p.dial(r.Target)
	if err != nil {
		return nil, err
	}
	inner, err := over(ctx, l, func(ctx context.Context) (piece.Reader, error) { return p.w.local.Open(ctx, r, token) })
	if err != nil {
		return nil, err
	}
	return &peerReader{inner, l}, nil
}

// hangUp ends every connection, as the end of the process does.
// The lock is not held meanwhile: a hang-up enters the other process.
func (p *peers) hangUp() {
	p.mu.Lock()
	open := p.open
	p.open = map[*peerWriter]bool{}
	p.mu.Unlock()
	for w := range open {
		w.hangUp()
	}
}

// forget removes a writer that has ended.
func (p *peers) forget(w *peerWriter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, w)
}

// peerWriter is a piece at another node: every call passes the network.
type peerWriter struct {
	piece.Writer
	line line
}

// WritePages implements piece.Writer. Doubles are off: one connection has an order.
func (w *peerWriter) WritePages(p []byte, sums []uint32, off int64) error {
	return w.line.call(context.Background(), func(context.Context) error { return w.Writer.WritePages(p, sums, off) })
}

// Truncate implements piece.Writer.
func (w *peerWriter) Truncate(size int64) error {
	return w.line.call(context.Background(), func(context.Context) error { return w.Writer.Truncate(size) })
}

// Clone implements piece.Writer.
func (w *peerWriter) Clone(ctx context.Context, size int64) error {
	return w.line.call(ctx, func(ctx context.Context) error { return w.Writer.Clone(ctx, size) })
}

// Sync implements piece.Writer.
func (w *peerWriter) Sync(ctx context.Context) error { return w.line.call(ctx, w.Writer.Sync) }

// Seal implements piece.Writer. A lost answer leaves it open whether the piece is sealed.
func (w *peerWriter) Seal(ctx context.Context, s hemera.SealInfo) error {
	return w.line.call(ctx, func(ctx context.Context) error { return w.Writer.Seal(ctx, s) })
}

// Prove has the peer prove its piece.
func (w *peerWriter) Prove(ctx context.Context, q hemera.ProofRequest) (hemera.PieceProof, error) {
	return over(ctx, w.line, func(ctx context.Context) (hemera.PieceProof, error) {
		return w.Writer.(interface {
			Prove(context.Context, hemera.ProofRequest) (hemera.PieceProof, error)
		}).Prove(ctx, q)
	})
}

// Abort asks the peer to remove the piece; when that is lost the peer sees the connection end.
func (w *peerWriter) Abort() {
	w.line.peers.forget(w)
	err := w.line.call(context.Background(), func(context.Context) error { w.Writer.Abort(); return nil })
	if err != nil {
		w.hangUp()
	}
}

// Release lets the peer keep the piece; when that is lost the peer sees the connection end.
func (w *peerWriter) Release() {
	w.line.peers.forget(w)
	err := w.line.call(context.Background(), func(context.Context) error { w.Writer.Release(); return nil })
	if err != nil {
		w.hangUp()
	}
}

// hangUp ends the connection as the peer sees it: the piece stays pending for a while. A dead peer has forgotten it.
func (w *peerWriter) hangUp() {
	if !w.line.to.enter() {
		return
	}
	defer w.line.to.leave()
	if c, ok := w.Writer.(interface{ HangUp() }); ok {
		c.HangUp()
	}
}

// peerReader reads a piece of another node through the network.
type peerReader struct {
	piece.Reader
	line line
}

// ReadPages implements piece.Reader.
func (r *peerReader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	// What is read may arrive after the reader has stopped waiting.
	type answer struct {
		n   int
		err error
	}
	// Buffers of its own: p belongs to a caller that may be gone when the answer comes.
	buf, crcs := make([]byte, len(p)), make([]uint32, len(sums))
	if sums == nil {
		crcs = nil
	}
	a, err := over(context.Background(), r.line, func(context.Context) (answer, error) {
		n, err := r.Reader.ReadPages(buf, crcs, off)
		return answer{n, err}, nil
	})
	if err != nil {
		return 0, err
	}
	copy(p, buf)
	copy(sums, crcs)
	return a.n, a.err
}
