package transfer

import (
	"context"

	"hemera"
)

// Peers opens pieces on other nodes; package peers implements it over the XRootD protocol.
type Peers interface {
	// Create opens the target's piece for writing, as its head.
	Create(ctx context.Context, t hemera.Target, token string) (PeerWriter, error)
	// Open opens the sealed piece for reading.
	Open(ctx context.Context, p RemotePiece, token string) (PeerReader, error)
}

// RemotePiece names a piece to read at another node.
type RemotePiece struct {
	hemera.Target
	Base bool // as in [hemera.PieceOpen]
}

// PeerWriter is a pending piece on another node. An error is final for the piece.
type PeerWriter interface {
	// WritePages sends; p and sums may be reused when it returns, which can be before the peer has
	// them: a failure may show at any later call. It blocks while more than a bounded number of
	// bytes is unanswered.
	WritePages(p []byte, sums []uint32, off int64) error
	Truncate(size int64) error
	// Clone is as in [hemera.Cloner]. A peer that cannot do it refuses with Unsupported or Invalid.
	Clone(ctx context.Context, size int64) error
	Sync(ctx context.Context) error
	// Seal waits for everything sent and seals the piece.
	Seal(ctx context.Context, s hemera.SealInfo) error
	// Abort removes the piece at the peer, sealed or not. It does not wait.
	Abort()
	// Release ends the hold on a sealed piece: it is the file's, or left to the audit. Only until then
	// Abort removes it.
	Release()
}

// PeerReader is a sealed piece on another node; what it returns is verified end to end.
type PeerReader interface {
	// ReadPages is as in [hemera.Handle].
	ReadPages(p []byte, sums []uint32, off int64) (int, error)
	hemera.Sparse
	Size() int64
	Close() error
}
