package direct

import (
	"context"
	"sync"
	"time"

	"hemera/transfer/piece"
	"hemera/words/errs"
)

// Nodes that cannot be reached are not tried again for a time that doubles with each failure. Otherwise a firewall
// between this machine and the nodes would delay each file of a tree by the time that a connection takes to fail.
const (
	absentLeast, absentMost = 10 * time.Second, 10 * time.Minute
	absentMax               = 4096 // nodes that are remembered
)

// reach opens pieces, and remembers the nodes that could not be reached.
type reach struct {
	piece.Peers
	now func() time.Time

	mu     sync.Mutex // guards what follows
	absent map[string]absence
}

// absence is the record of a node that could not be reached the last time.
type absence struct {
	failures int
	until    time.Time
}

func newReach(p piece.Peers, now func() time.Time) *reach {
	return &reach{Peers: p, now: now, absent: map[string]absence{}}
}

// Open implements [piece.Peers].
func (r *reach) Open(ctx context.Context, p piece.Remote, token string) (piece.Reader, error) {
	if !r.reachable(p.Addr) {
		return nil, errs.New(errs.Unavailable, "direct.OpenPiece", p.Addr, "the node could not be reached a short while ago")
	}
	piece, err := r.Peers.Open(ctx, p, token)
	r.tried(p.Addr, err)
	return piece, err
}

// Create implements [piece.Peers].
func (r *reach) Create(ctx context.Context, p piece.Remote, token string) (piece.Writer, error) {
	piece, err := r.Peers.Create(ctx, p, token)
	r.tried(p.Addr, err)
	return piece, err
}

// reachable reports whether a node may be tried now.
func (r *reach) reachable(addr string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, known := r.absent[addr]
	return !known || !r.now().Before(a.until)
}

// tried records the result of an open at a node.
func (r *reach) tried(addr string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch errs.KindOf(err) {
	case errs.Unavailable, errs.Timeout:
	default: // the node has answered
		delete(r.absent, addr)
		return
	}
	a := r.absent[addr]
	now := r.now()
	if now.Before(a.until) { // one of several opens that failed together
		return
	}
	if len(r.absent) >= absentMax {
		clear(r.absent)
	}
	r.absent[addr] = absence{a.failures + 1, now.Add(min(absentLeast<<min(a.failures, 10), absentMost))}
}
