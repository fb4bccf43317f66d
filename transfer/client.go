package transfer

import (
	"context"
	"time"

	"hemera/rules/layout"
	"hemera/transfer/ledger"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// A host that is a client makes the pieces of its own direct writes, until their head takes them.

// clientMax returns the number of bytes that a client may give one piece. Where a quota bounds the write that is the
// piece of what was announced, which the quota counts since the open.
func clientMax(c *hemera.Capability) int64 {
	if c.SizeMax > 0 {
		return layout.PieceMax(c.Layout, c.Size)
	}
	return hemera.FileSizeMax
}

// removeClientPieces has the nodes of a write's targets remove what its client has made there. Of a write that its head has bytes
// of there is nothing.
func (h *head) removeClientPieces(ctx context.Context) {
	if !h.cap.ClientWrites() || h.node.HeadProof == nil {
		return
	}
	for _, t := range h.permit.Targets {
		h.node.Background(h.cap, func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), piece.CallTimeout)
			defer cancel()
			p, token, err := h.node.Remote(h.permit, t)
			if err != nil {
				return
			}
			// A node that cannot be asked removes it when the capability expires.
			p.Adopt = true
			if out, err := h.node.Peers.Create(ctx, p, token); err == nil {
				out.Abort()
			}
		})
	}
}

// renewer is a [piece.Writer] of a client's piece, which ends with its capability.
type renewer interface {
	Renew(ctx context.Context, token string) error
}

// renewClient keeps the pieces of a host that is a client beyond the end of its capability, which is near. A piece that cannot be renewed ends, and
// fails the next write to it.
func (p *pieces) renewClient() {
	h := p.head
	now := time.Now()
	if h.node.HeadProof != nil || h.permit.Expires.IsZero() || h.permit.Expires.Sub(now) > hemera.CapabilityLifetime/4 || now.Before(p.renews) {
		return
	}
	p.renews = now.Add(time.Minute)
	ctx, cancel := context.WithTimeout(h.ctx, piece.CallTimeout)
	defer cancel()
	grant, err := h.writes.Control.Replace(ctx, h.permit, nil)
	var token string
	if err == nil {
		h.permit = grant.Permit
		token, err = grant.Permit.Token()
	}
	if err == nil {
		err = first(p.each(ledger.Live, everyPiece, nil, func(_ int, pc *headPiece) error {
			if r, ok := pc.out.(renewer); ok {
				return r.Renew(ctx, token)
			}
			return nil
		}))
	}
	if err != nil {
		h.node.Log.Info("a capability was not renewed", "path", h.cap.Path, "trace", h.cap.Trace, "error", err)
	}
}
