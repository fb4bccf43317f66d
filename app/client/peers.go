package client

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/core/transfer"
	"hemera/errs"
	"hemera/rules/wire"
)

// Peers opens pieces on other nodes: a node's half of the fan-out of a write, and of reads of pieces
// it does not hold. A client's write waits for it, so a dead peer is given up within seconds and
// never asked twice.
type Peers struct {
	client *Client
}

var _ transfer.Peers = (*Peers)(nil)

// piecePath stands in piece opens where a file's path would: the capability says which file it is.
const piecePath = "/piece"

// NewPeers makes the connections' pool. Fields of o that are zero get values for peers: 3 s to
// connect, 10 s of silence, 32 MiB unanswered for each piece, two sessions for each disk, 4096 in all.
func NewPeers(o Options) *Peers {
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
	return &Peers{client: New(o)}
}

// Close ends all sessions.
func (p *Peers) Close() error { return p.client.Close() }

// pieceURL names the piece at its node.
func pieceURL(p transfer.RemotePiece, token string) (URL, error) {
	e, err := ParseEndpoint(p.Addr)
	if err != nil {
		return URL{}, err
	}
	opaque := wire.Opaque("").With(hemera.OpaqueCapability, token).
		With(hemera.OpaquePiece, hemera.PieceOpen{Index: p.Index, Base: p.Base}.Encode())
	return URL{Endpoint: e, Path: piecePath, Opaque: opaque}, nil
}

// lane gives each disk sessions of its own: a peer handles the requests of one session in order, so a
// disk that hangs stalls what is sent behind it.
func (p *Peers) lane(t hemera.Target) int {
	return int(t.Disk)*p.client.opts.Sessions + p.client.deal()
}

// Create opens the target's piece for writing.
func (p *Peers) Create(ctx context.Context, t hemera.Target, token string) (transfer.PeerWriter, error) {
	u, err := pieceURL(transfer.RemotePiece{Target: t}, token)
	if err != nil {
		return nil, err
	}
	open := func(ctx context.Context) (*peerWriter, error) {
		f, err := p.client.openOn(ctx, u, OpenOptions{Write: true}, p.lane(t))
		if err != nil {
			return nil, err
		}
		return newPeerWriter(p.client, f.handle, u.Addr()), nil
	}
	w, err := open(ctx)
	if err != nil {
		return nil, err
	}
	w.again = open
	return w, nil
}

// Open opens the sealed piece for reading.
func (p *Peers) Open(ctx context.Context, r transfer.RemotePiece, token string) (transfer.PeerReader, error) {
	u, err := pieceURL(r, token)
	if err != nil {
		return nil, err
	}
	f, err := p.client.openOn(ctx, u, OpenOptions{}, p.lane(r.Target))
	if err != nil {
		return nil, err
	}
	if f.info.Size < 0 {
		f.letGo()
		return nil, errs.New(errs.Corrupt, "open piece at", u.Addr(), "the size is negative")
	}
	return &peerReader{file: f}, nil
}

// peerReader is an open file without a context: the sessions' own timeouts end its calls.
type peerReader struct {
	file *File
	full atomic.Bool // the peer knows no holes
}

// NextData implements [hemera.Sparse]. To a peer that knows no holes all is data.
func (r *peerReader) NextData(off int64) (int64, error) {
	next, err := r.ask(hemera.AskData(off), off)
	if err == nil && (next < off || next > max(off, r.Size())) {
		return off, r.senseless()
	}
	return next, err
}

// Allocated implements [hemera.Sparse].
func (r *peerReader) Allocated() (int64, error) {
	n, err := r.ask(hemera.OpaqueAllocated, r.Size())
	if err == nil && n < 0 {
		return 0, r.senseless()
	}
	return n, err
}

// ask asks for a number, which is full at a peer that knows no holes.
func (r *peerReader) ask(what string, full int64) (int64, error) {
	if r.full.Load() {
		return full, nil
	}
	text, err := r.file.Query(noContext, wire.QueryOpaquf, what)
	if errors.Is(err, errs.Unsupported) {
		r.full.Store(true)
		return full, nil
	}
	if err != nil {
		return full, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return full, r.senseless()
	}
	return n, nil
}

func (r *peerReader) senseless() error {
	return errs.New(errs.Corrupt, "read piece at", r.file.url.Addr(), "the answer to where its data is makes no sense")
}

func (r *peerReader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	return r.file.ReadPages(noContext, p, sums, off)
}

func (r *peerReader) Size() int64 { return r.file.info.Size }

// Close does not wait for the peer, whose disk may hang.
func (r *peerReader) Close() error {
	r.file.letGo()
	return nil
}
