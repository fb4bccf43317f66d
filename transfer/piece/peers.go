package piece

import (
	"context"

	"hemera/words/hemera"
)

// Peers opens pieces on other nodes; package peers implements it over the XRootD protocol. Calls wait for the other node, as long as their context
// lasts. Unavailable or Timeout if it does not answer; else its own refusal.
type Peers interface {
	// Create opens the piece for writing: as the head of the write, or as the client of a direct write if p.Head is "". Nothing of the piece is
	// durable before [Writer] says so.
	Create(ctx context.Context, p Remote, token string) (Writer, error)
	// Open opens the sealed piece for reading.
	Open(ctx context.Context, p Remote, token string) (Reader, error)
}

// Remote names a piece at another node, and how it is opened: see [hemera.PieceOpen].
type Remote struct {
	hemera.Target
	Base  bool
	Adopt bool
	Path  string
	Head  string // a secret
}

// Remote returns how a target's piece is opened with the permit, as the head if this host can be one, and the token to show.
func (n *Node) Remote(permit *hemera.Permit, t hemera.Target) (p Remote, token string, err error) {
	if token, err = permit.Token(); err != nil {
		return p, "", err
	}
	p = Remote{Target: t, Path: permit.WholePath()}
	if n.HeadProof != nil && permit.Access != hemera.AccessRead {
		p.Head, err = n.HeadProof(token, t.Node)
	}
	return p, token, err
}

// Writer is a pending piece on another node. An error is final for the piece: Unavailable or Timeout if the peer does not answer, else what the peer
// says of an earlier call. Calls but WritePages wait for the peer's answer. What was sent is durable after a Sync or a Seal that asks for it, and the
// piece stays pending before Seal.
type Writer interface {
	// WritePages sends; p and sums may be reused when it returns, which can be before the peer has
	// them: a failure may show at any later call. It blocks while more than a bounded number of
	// bytes is unanswered.
	WritePages(p []byte, sums []uint32, off int64) error
	// Truncate sets the size once everything sent is accepted.
	Truncate(size int64) error
	// Clone is as in [hemera.Cloner]. A peer that cannot do it refuses with Unsupported or Invalid.
	Clone(ctx context.Context, size int64) error
	// Sync makes everything sent durable.
	Sync(ctx context.Context) error
	// Seal waits for everything sent and seals the piece, or offers it to the head if the writer is a client's.
	Seal(ctx context.Context, s hemera.SealInfo) error
	// Abort removes the piece at the peer, sealed or not. It does not wait.
	Abort()
	// Release ends the hold on a sealed piece: it is the file's, or left to the audit. Only until then
	// Abort removes it.
	Release()
}

// Reader is a sealed piece on another node; what it returns is verified end to end. Reads wait for the peer: Unavailable or Timeout if it does not
// answer, Corrupt for bytes that do not match their checksums.
type Reader interface {
	// ReadPages is as in [hemera.Handle].
	ReadPages(p []byte, sums []uint32, off int64) (int, error)
	hemera.Sparse
	// Size returns the size as of the open.
	Size() int64
	// Close does not wait for the peer, and never fails.
	Close() error
}
