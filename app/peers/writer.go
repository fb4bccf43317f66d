package peers

import (
	"context"
	"sync"
	"time"

	"hemera"
	"hemera/platform/xrootd"
	"hemera/rules/wire"
)

// writer is a pending piece. WritePages, Truncate, Sync and Release are those of the AsyncWriter.
type writer struct {
	*xrootd.AsyncWriter

	mu      sync.Mutex // guards what follows
	sealing bool       // a seal was sent: only an abort that the peer answers is known to remove the piece
	// reopen opens the piece once more, on another connection; nil once an abort has used it.
	reopen func(context.Context) (*xrootd.AsyncWriter, error)
}

// Seal implements transfer.PeerWriter.
func (w *writer) Seal(ctx context.Context, s hemera.SealInfo) error {
	w.mu.Lock()
	w.sealing = true
	w.mu.Unlock()
	return w.Query(ctx, "peers.SealPieceAt", wire.EncodeSealInfo(s))
}

// abortTimeout bounds what is done to remove a sealed piece whose connection is gone.
const abortTimeout = 10 * time.Second

// Abort implements transfer.PeerWriter. It does not block. A peer that is gone removes an unsealed piece
// by itself, when nobody has written to it for long enough. It keeps a sealed one, which may be committed. So
// when the connection ends before the answer, Abort opens the sealed piece once more and aborts it
// there. If the peer cannot be reached either, the audit finds the piece.
func (w *writer) Abort() {
	w.mu.Lock()
	reopen := w.reopen
	if !w.sealing {
		reopen = nil
	}
	w.reopen = nil
	w.mu.Unlock()
	if reopen == nil {
		w.AsyncWriter.Abort(nil)
		return
	}
	w.AsyncWriter.Abort(func() { go abortAgain(reopen) })
}

// abortAgain aborts a piece on a connection of its own.
func abortAgain(open func(context.Context) (*xrootd.AsyncWriter, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), abortTimeout)
	defer cancel()
	if w, err := open(ctx); err == nil {
		w.Abort(nil)
	}
}
