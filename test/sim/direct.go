package sim

import (
	"context"
	"log/slog"

	"hemera/disk"
	"hemera/rules/capability"
	"hemera/test/sim/simnet"
	"hemera/transfer"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// direct writes the content as `hemera cp` does: this client codes it, sends the pieces to their nodes, and has the head take
// them. What is left is the close. Nothing was committed if it fails.
func (h *handle) direct(ctx context.Context, p []byte) error {
	// A process of its own: the client's connections to nodes are not those of a node.
	life := newProcess()
	nodes := newPeers(h.client.w, life, h.client.host)
	host := &transfer.Host{
		Node: piece.Node{
			Self:  func() hemera.NodeID { return 0 },
			Disk:  func(hemera.DiskID) (disk.Store, bool) { return nil, false },
			Peers: nodes, Log: slog.New(slog.DiscardHandler),
		},
		Born:   func() hemera.Epoch { return 0 },
		Writes: transfer.Writes{Control: adopting{h}, Patience: 1},
	}
	// The client's connections end with its work, whatever it left open.
	defer func() {
		host.Wait()
		nodes.hangUp()
		life.die()
	}()
	f, err := transfer.NewPending(host).Open(ctx, h.grant.Permit, hemera.NodeOpen{Truncate: true})
	if err != nil {
		return err
	}
	// Parts that are no multiple of a block, so that rows are cut.
	for at := 0; at < len(p); at += 100_000 {
		if err := f.WritePages(p[at:min(at+100_000, len(p))], nil, int64(at)); err != nil {
			_ = f.End(ctx, hemera.EndAbort)
			return err
		}
	}
	return f.End(ctx, hemera.EndClose)
}

// adopting is the head of a direct write in the place of a manager.
// What a node asks a manager for, this client asks the head of its write for.
type adopting struct{ handle *handle }

// Commit has the head take the pieces. The close comes later.
func (a adopting) Commit(ctx context.Context, r hemera.CommitRequest) error {
	if r.Size == 0 {
		return nil
	}
	return a.handle.again(ctx, func(ctx context.Context, f hemera.File) error {
		d, ok := f.(hemera.DirectFile)
		if !ok {
			return simnet.ErrLost // it was committed, or aborted, before
		}
		return d.Adopt(ctx, hemera.SealInfo{FileSize: r.Size, Checksums: r.Checksums}, r.Pieces)
	})
}

// Abort leaves the write to the end of the handle.
func (a adopting) Abort(context.Context, *hemera.Permit) error { return nil }

// Keep does nothing: only heads keep writes.
func (a adopting) Keep(context.Context, *hemera.Permit, int64) error { return nil }

// Replace asks the head for other disks.
func (a adopting) Replace(ctx context.Context, _ *hemera.Permit, failed []hemera.DiskID) (g hemera.Grant, err error) {
	var token string
	err = a.handle.again(ctx, func(ctx context.Context, f hemera.File) (err error) {
		d, ok := f.(hemera.DirectFile)
		if !ok {
			return simnet.ErrLost
		}
		token, err = d.Replacement(ctx, failed)
		return err
	})
	if err != nil {
		return g, err
	}
	c, err := capability.Peek(token)
	g.Permit = hemera.VerifiedPermit(c, token)
	a.handle.client.w.overheard.add(g) // for the rogue, as other grants
	return g, err
}
