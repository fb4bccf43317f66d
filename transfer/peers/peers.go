// Package peers opens pieces on other nodes over the XRootD protocol: a node's half of the fan-out of
// a write, and of reads of pieces that it does not hold. It implements the interfaces of transfer
// with a client of client/xrootd.
//
// A piece is opened at its file's path, which its node compares with that of the capability in the request. A
// user's write waits for these calls, so a peer that does not answer fails within seconds and is not asked
// a second time: the caller chooses another disk. Sessions are per disk of a peer, because a peer handles
// the requests of one session in order, and a stalled disk must not delay the pieces on the others.
package peers

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"hemera/client/xrootd"
	"hemera/platform/contain"
	"hemera/rules/wire"
	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Peers is the pool of connections to other nodes. Methods may be called concurrently.
type Peers struct {
	client *xrootd.Client // with options for peers, see New
	panics *contain.Panics
}

var _ piece.Peers = (*Peers)(nil)

// piecePath stands in piece opens of files whose whole path is not known.
const piecePath = "/piece"

// New makes the connections' pool. Fields of o that are zero get values for peers: 3 s to
// connect, 10 s of silence, 32 MiB unanswered for each piece, two sessions for each disk, 4096 in all.
func New(o xrootd.Options) *Peers {
	if o.DialTimeout == 0 {
		o.DialTimeout = 3 * time.Second
	}
	if o.Stall == 0 {
		o.Stall = 10 * time.Second
	}
	if o.UserTimeout == 0 {
		o.UserTimeout = 5 * time.Second
	}
	if o.Window == 0 {
		o.Window = 32 << 20
	}
	if o.Sessions == 0 {
		o.Sessions = 2
	}
	if o.PoolMax == 0 {
		o.PoolMax = 4096
	}
	o.RetryFor = time.Nanosecond // the caller knows better places
	return &Peers{client: xrootd.New(o), panics: o.Panics}
}

// Close ends all sessions.
func (p *Peers) Close() error { return p.client.Close() }

// pieceURL names the piece at its node.
// The token is a secret: the URL is shown in errors by its Redacted form only.
func pieceURL(p piece.Remote, token string) (xrootd.URL, error) {
	e, err := xrootd.ParseEndpoint(p.Addr)
	if err != nil {
		return xrootd.URL{}, err
	}
	opaque := wire.Opaque("").With(wire.OpaqueCapability, token).
		With(wire.OpaquePiece, wire.EncodePieceOpen(hemera.PieceOpen{Index: p.Index, Base: p.Base}))
	if p.Head != "" {
		opaque = opaque.With(wire.OpaqueHead, p.Head)
	}
	if p.Adopt {
		opaque = opaque.With(wire.OpaqueTake, "1")
	}
	return xrootd.URL{Endpoint: e, Path: cmp.Or(p.Path, piecePath), Opaque: opaque}, nil
}

// Create implements [piece.Peers].
func (p *Peers) Create(ctx context.Context, r piece.Remote, token string) (piece.Writer, error) {
	open := func(ctx context.Context, token string) (*xrootd.AsyncWriter, error) {
		u, err := pieceURL(r, token)
		if err != nil {
			return nil, err
		}
		return p.client.OpenAsync(ctx, u, xrootd.OpenOptions{Group: int(r.Disk)})
	}
	w, err := open(ctx, token)
	if err != nil {
		return nil, err
	}
	return &writer{AsyncWriter: w, panics: p.panics, head: r.Head != "", token: token, reopen: open}, nil
}

// Open implements [piece.Peers].
func (p *Peers) Open(ctx context.Context, r piece.Remote, token string) (piece.Reader, error) {
	u, err := pieceURL(r, token)
	if err != nil {
		return nil, err
	}
	f, err := p.client.Open(ctx, u, xrootd.OpenOptions{Group: int(r.Disk)})
	if err != nil {
		return nil, err
	}
	if f.Info().Size < 0 {
		f.Release()
		return nil, errs.New(errs.Corrupt, "peers.OpenPieceAt", u.Addr(), "the size is negative")
	}
	return &reader{file: f, peer: u.Addr()}, nil
}

// reader is a sealed piece. Its calls have no context: the sessions' own timeouts end them.
type reader struct {
	file *xrootd.File // recovers by itself from a lost connection
	peer string       // host:port, for errors
	full atomic.Bool  // the peer does not support the questions about holes
}

// NextData implements [hemera.Sparse]. Of a peer that cannot tell holes all is data.
func (r *reader) NextData(off int64) (int64, error) {
	next, err := r.ask(wire.AskData(off), off)
	if err == nil && (next < off || next > max(off, r.Size())) {
		return off, r.malformed()
	}
	return next, err
}

// Allocated implements [hemera.Sparse].
func (r *reader) Allocated() (int64, error) {
	n, err := r.ask(wire.OpaqueAllocated, r.Size())
	if err == nil && n < 0 {
		return 0, r.malformed()
	}
	return n, err
}

// ask asks the peer for a number. The answer is full if the peer does not support the question.
func (r *reader) ask(what string, full int64) (int64, error) {
	if r.full.Load() {
		return full, nil
	}
	text, err := r.file.Query(context.Background(), wire.QueryOpaquf, what)
	if errors.Is(err, errs.Unsupported) { // not asked again
		r.full.Store(true)
		return full, nil
	}
	if err != nil {
		return full, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return full, r.malformed()
	}
	return n, nil
}

// malformed returns the error of an answer about holes that cannot be true.
func (r *reader) malformed() error {
	return errs.New(errs.Corrupt, "peers.ReadPieceAt", r.peer, "the answer to where its data is makes no sense")
}

// ReadPages implements [piece.Reader].
func (r *reader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	return r.file.ReadPages(context.Background(), p, sums, off)
}

// Size implements [piece.Reader]: bytes, as of the open.
func (r *reader) Size() int64 { return r.file.Info().Size }

// Close does not wait for the peer, whose disk may be stalled.
func (r *reader) Close() error {
	r.file.Release()
	return nil
}

// writer is a pending piece. WritePages, Truncate, Sync and Release are those of the AsyncWriter.
type writer struct {
	*xrootd.AsyncWriter
	panics *contain.Panics
	head   bool // else a client, which offers its piece instead of sealing it

	mu      sync.Mutex // guards what follows
	sealing bool       // a seal was sent: only an abort that the peer answers is known to remove the piece
	token   string     // the last one
	// reopen opens the piece once more, on another connection; nil once an abort has used it.
	reopen func(ctx context.Context, token string) (*xrootd.AsyncWriter, error)
}

// Seal implements piece.Writer.
func (w *writer) Seal(ctx context.Context, s hemera.SealInfo) error {
	w.mu.Lock()
	w.sealing = true
	w.mu.Unlock()
	ask := wire.EncodeOffer(s)
	if w.head {
		ask = wire.EncodeSealInfo(s)
	}
	_, err := w.Query(ctx, "peers.SealPieceAt", ask)
	return err
}

// Renew has the peer keep the piece of a client for as long as the token is good.
func (w *writer) Renew(ctx context.Context, token string) error {
	w.mu.Lock()
	reopen := w.reopen
	w.token = token
	w.mu.Unlock()
	if reopen == nil {
		return nil
	}
	again, err := reopen(ctx, token)
	if err == nil {
		again.Release() // which leaves it as it is
	}
	return err
}

// Prove asks the peer for the sums of a part of the piece that its client offers.
func (w *writer) Prove(ctx context.Context, q hemera.ProofRequest) (hemera.PieceProof, error) {
	const op = "peers.ProvePieceAt"
	w.mu.Lock()
	w.sealing = true
	w.mu.Unlock()
	text, err := w.Query(ctx, op, wire.EncodeProve(q))
	if err != nil {
		return hemera.PieceProof{}, err
	}
	p, err := wire.ParseProof(text)
	return p, errs.As(err, errs.Corrupt, op, "")
}

// Clone implements piece.Writer. A peer that does not know it refuses.
func (w *writer) Clone(ctx context.Context, size int64) error {
	return w.TryQuery(ctx, "peers.ClonePieceAt", wire.EncodeClone(size))
}

// abortTimeout bounds what is done to remove a sealed piece whose connection is gone.
const abortTimeout = 10 * time.Second

// Abort implements piece.Writer. It does not block. A peer that is gone removes an unsealed piece by itself, when it was
// not written to for long enough. It keeps a sealed one, which may be committed. So when the connection ends before the
// answer, Abort opens the sealed piece once more and aborts it there. If the peer cannot be reached either, the audit
// finds the piece.
func (w *writer) Abort() {
	w.mu.Lock()
	reopen, token := w.reopen, w.token
	if !w.sealing {
		reopen = nil
	}
	w.reopen = nil
	w.mu.Unlock()
	if reopen == nil {
		w.AsyncWriter.Abort(nil)
		return
	}
	w.AsyncWriter.Abort(func() { w.panics.Go(nil, "peers.Abort", "", func() { abortAgain(reopen, token) }) })
}

// abortAgain aborts a piece on a connection of its own.
func abortAgain(open func(context.Context, string) (*xrootd.AsyncWriter, error), token string) {
	ctx, cancel := context.WithTimeout(context.Background(), abortTimeout)
	defer cancel()
	if w, err := open(ctx, token); err == nil {
		w.Abort(nil)
	}
}
