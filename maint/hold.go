package maint

import (
	"context"
	"net"

	"hemera"
)

const (
	// heldShare is the part of what is free on a filesystem that held pieces may have there, one in so
	// many. Beyond that the oldest go before their time: nothing fails for lack of room because of them.
	heldShare = 4
	// heldMax is how many pieces a disk holds. It bounds the records of them in the manager's store.
	heldMax = 100_000
)

// due lists pieces that the disk is to remove now: those whose time is over or that never had any, else
// the oldest of those that it holds too many of.
func (r *remover) due(ctx context.Context, v *hemera.View, d hemera.Disk) (pieces []hemera.PieceID, holds bool, err error) {
	files := r.engine.Files
	pieces, err = files.Unlinked(ctx, d.ID, removeBatch)
	if err != nil || len(pieces) > 0 {
		return pieces, false, err
	}
	held, bytes, err := files.DiskHeld(ctx, d.ID)
	if err != nil || held == 0 {
		return nil, false, err
	}
	if n := surplus(v, d, held, bytes); n > 0 {
		pieces, err = files.Held(ctx, d.ID, int(min(n, removeBatch)))
	}
	return pieces, true, err
}

// surplus is about how many of its held pieces the disk lets go before their time. One that is to become
// empty holds none.
func surplus(v *hemera.View, d hemera.Disk, held, bytes int64) int64 {
	if d.Config == hemera.ConfigDrain || d.Config == hemera.ConfigEmpty {
		return held
	}
	n := held - heldMax
	if over := bytes - d.Free/(heldShare*sharers(v, d)); over > 0 {
		n = max(n, (over*held+bytes-1)/bytes)
	}
	return max(0, min(n, held))
}

// sharers counts the disks that share the room of d: folders of one filesystem of their host.
func sharers(v *hemera.View, d hemera.Disk) (n int64) {
	host := func(d hemera.Disk) string {
		node, _ := v.Node(d.Node)
		h, _, _ := net.SplitHostPort(node.Addr)
		return h
	}
	for _, o := range v.Disks {
		if o.ID == d.ID || d.Filesystem != 0 && o.Filesystem == d.Filesystem && host(o) == host(d) {
			n++
		}
	}
	return max(1, n)
}
