package piece

import (
	"context"

	"hemera/disk"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Target finds the capability's piece with the index among those on this node.
func (n *Node) Target(c *hemera.Capability, index uint8) (hemera.Target, error) {
	for _, t := range c.Targets {
		if t.Index == index && n.Local(t) {
			return t, nil
		}
	}
	return hemera.Target{}, errs.New(errs.Denied, "transfer.OpenPiece", Subject(c), "the capability has no such piece on this node")
}

// OpenSealed opens a local sealed piece of the capability's content and compares its footer with
// what the manager committed. Corrupt when they differ.
func (n *Node) OpenSealed(c *hemera.Capability, t hemera.Target) (disk.Reader, error) {
	store, err := n.Store(t)
	if err != nil {
		return nil, err
	}
	id := ID(c, t.Index)
	r, err := store.Open(id)
	if err != nil {
		// Found by the disk: a footer or a table that does not match its own checksum.
		if errs.KindOf(err) == errs.Corrupt {
			n.Counters.ChecksumErrors.Add(1)
		}
		return nil, err
	}
	if err := CheckFooter(r.Stat(), id, c); err != nil {
		n.Counters.ChecksumErrors.Add(1)
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// CheckFooter compares a piece's footer with the committed content.
func CheckFooter(stat hemera.PieceStat, id hemera.PieceID, c *hemera.Capability) error {
	if stat.ID != id {
		return errs.New(errs.Corrupt, "transfer.Open", id.String(), "the footer is of piece "+stat.ID.String())
	}
	if stat.FileSize != c.Size {
		return SizeMismatch("transfer.Open", id.String(), stat.FileSize, c.Size)
	}
	// The footer of every piece has the size of the whole file, and the data the size of its part.
	if want := layout.PieceSize(c.Layout, c.Size, id.Index); stat.Size != want {
		return SizeMismatch("transfer.Open", id.String(), stat.Size, want)
	}
	// Not all checksums need be in both: a space may have been given another kind since. Those that are must agree.
	for _, want := range c.Sums {
		if got, ok := hemera.FindChecksum(stat.Checksums, want.Kind); ok && got != want {
			return errs.New(errs.Corrupt, "transfer.Open", id.String(),
				"the footer says "+got.String()+", the namespace "+want.String())
		}
	}
	return nil
}

// OpenPeer opens a piece at another node, for reading. The token is made when the first peer needs it.
func (n *Node) OpenPeer(ctx context.Context, permit *hemera.Permit, p Remote) (Reader, error) {
	if p.Base { // committed, so that everybody who may update the file may read it
		token, err := permit.Token()
		if err != nil {
			return nil, err
		}
		p.Path = permit.WholePath()
		return n.Peers.Open(ctx, p, token)
	}
	p, token, err := n.Remote(permit, p.Target)
	if err != nil {
		return nil, err
	}
	return n.Peers.Open(ctx, p, token)
}

// RepairPage writes a good page over a bad one in the background. When too many repairs run, the
// piece is reported instead.
func (n *Node) RepairPage(t hemera.Target, id hemera.PieceID, page []byte, off int64) {
	// A device that fails in many places would be written to without end: the manager orders that repair instead.
	if n.repairs.Add(1) > repairsMax {
		n.repairs.Add(-1)
		n.Found(t, id, errs.Corrupt)
		return
	}
	// The reader that found the page does not wait for the repair.
	n.InBackground("transfer.Repair", id.String(), func() {
		defer n.repairs.Add(-1)
		store, err := n.Store(t)
		if err == nil {
			err = store.RepairPages(id, page, off)
		}
		if err != nil {
			n.Counters.RepairsFailed.Add(1)
			n.Found(t, id, err)
			n.Log.Warn("bad page not repaired", "piece", id.String(), "disk", t.Disk, "offset", off, "error", err)
			return
		}
		n.Counters.Repairs.Add(1)
		n.Log.Info("bad page repaired", "piece", id.String(), "disk", t.Disk, "offset", off)
	})
}
