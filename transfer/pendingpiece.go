package transfer

import (
	"context"
	"sync"
	"time"

	"hemera/disk"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// pendingPiece is one piece on this node that is written through its door: by its head, which is elsewhere, or by the client
// of a direct write until the head takes it.
//
// Its state is guarded by mu, which is not held while the disk is used: calls that use the piece are counted, and the
// call that ends it (seal, abort, expire, take) refuses new ones and waits for those in progress.
type pendingPiece struct {
	store  disk.Store
	id     hemera.PieceID
	cap    hemera.Capability
	counts *piece.Counters
	most   int64 // bytes that a client may give it

	mu    sync.Mutex
	w     disk.Writer       // nil once it is ended
	stat  *hemera.PieceStat // once it is sealed
	since time.Time         // when that was
	taken bool              // by [Pending.Take], or by the head for a piece of its own: what has the name now is another's
	heads bool              // it is the head's: a client's handles are of no use any more
	offer *hemera.SealInfo  // what its client offers it with; the client changes nothing then
	uses  int               // calls of w in progress
	idle  chan struct{}     // closed when uses becomes 0; made by the call that ends the piece
	ended chan struct{}     // while a call ends the piece: closed when it is done
}

// beginPiece creates the piece at a target of this node, for its head or a client.
func beginPiece(n *piece.Node, c *hemera.Capability, target hemera.Target, head bool) (*pendingPiece, error) {
	store, err := n.Store(target)
	if err != nil {
		return nil, err
	}
	id := piece.ID(c, target.Index)
	w, err := store.Create(id, piece.CreateOptions(c, target.Index))
	if err != nil {
		return nil, err
	}
	return &pendingPiece{store: store, id: id, cap: *c, w: w, counts: &n.Counters, heads: head, most: clientMax(c)}, nil
}

// use returns the writer for one call, which done must follow; nil if the piece is ended. If a call is ending the
// piece, use waits for it.
func (p *pendingPiece) use() disk.Writer {
	p.await()
	defer p.mu.Unlock()
	// Counted before the lock is released, so that a call that ends the piece waits for this one.
	if p.w != nil {
		p.uses++
	}
	return p.w
}

// done ends a use.
func (p *pendingPiece) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uses--
	if p.uses == 0 && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
}

// await waits until no call is ending the piece, and returns with mu held.
func (p *pendingPiece) await() {
	for p.mu.Lock(); p.ended != nil; p.mu.Lock() {
		ending := p.ended
		p.mu.Unlock()
		<-ending
	}
}

// beginEnd gives the caller the piece alone, until endEnd, and returns what is known of it.
func (p *pendingPiece) beginEnd() (w disk.Writer, stat *hemera.PieceStat, taken bool) {
	p.await()
	// From here on use and sealed wait, and so does the next call that would end the piece.
	p.ended = make(chan struct{})
	idle := make(chan struct{})
	if p.uses > 0 {
		p.idle = idle
	} else {
		close(idle)
	}
	w, stat, taken = p.w, p.stat, p.taken
	p.mu.Unlock()
	<-idle
	return w, stat, taken
}

// endEnd records what is left of the piece.
func (p *pendingPiece) endEnd(w disk.Writer, stat *hemera.PieceStat, taken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stat == nil && stat != nil {
		p.since = time.Now()
	}
	p.w, p.stat, p.taken = w, stat, taken
	close(p.ended)
	p.ended = nil
}

// sealed reports whether the piece is sealed. If a call is sealing it, sealed waits for that.
func (p *pendingPiece) sealed() bool {
	p.await()
	defer p.mu.Unlock()
	return p.stat != nil
}

// sealedPatience bounds the wait of a node that stops for the head of a piece that is sealed here. A head commits in a moment, and may copy the piece
// first; one that keeps the write for a person holds the piece for an hour, and needs nothing of its node.
const sealedPatience = 5 * time.Second

// busy reports whether the node of the piece is still needed for it. It does not wait for a call that ends the piece.
func (p *pendingPiece) busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stat == nil || time.Since(p.since) < sealedPatience
}

// take ends the piece for a caller that makes it, or has made it, in another way. It waits for calls in progress.
func (p *pendingPiece) take() {
	w, _, _ := p.beginEnd()
	if w != nil {
		_ = w.Abort()
	}
	p.endEnd(nil, nil, true)
}

// adopt makes the piece the head's.
func (p *pendingPiece) adopt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heads = true
}

// expire removes the piece unless it is sealed: what is sealed may be committed.
func (p *pendingPiece) expire(context.Context) {
	w, stat, taken := p.beginEnd()
	if w != nil {
		_ = w.Abort()
	}
	p.endEnd(nil, stat, taken)
}
