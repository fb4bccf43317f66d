package transfer

import (
	"hemera"
	"hemera/disk"
	"hemera/errs"
)

// openPiece opens a local sealed piece of the capability's content and compares its footer with
// what the manager committed. Corrupt when they differ.
func (h *Host) openPiece(c *hemera.Capability, t hemera.Target) (disk.Reader, error) {
	store, err := h.store(t)
	if err != nil {
		return nil, err
	}
	id := pieceID(c, t.Index)
	r, err := store.Open(id)
	if err != nil {
		if errs.KindOf(err) == errs.Corrupt {
			h.Counters.ChecksumErrors.Add(1)
		}
		return nil, err
	}
	if err := checkFooter(r.Stat(), id, c); err != nil {
		h.Counters.ChecksumErrors.Add(1)
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// checkFooter compares a piece's footer with the committed content.
func checkFooter(stat hemera.PieceStat, id hemera.PieceID, c *hemera.Capability) error {
	if stat.ID != id {
		return errs.New(errs.Corrupt, "transfer.Open", id.String(), "the footer is of piece "+stat.ID.String())
	}
	if stat.FileSize != c.Size {
		return sizeMismatch("transfer.Open", id.String(), stat.FileSize, c.Size)
	}
	if c.Layout.Data <= 1 && stat.Size != c.Size {
		return sizeMismatch("transfer.Open", id.String(), stat.Size, c.Size)
	}
	for _, want := range c.Sums {
		if got, ok := hemera.FindChecksum(stat.Checksums, want.Kind); ok && got != want {
			return errs.New(errs.Corrupt, "transfer.Open", id.String(),
				"the footer says "+got.String()+", the namespace "+want.String())
		}
	}
	return nil
}

// repairPage writes a good page over a bad one in the background. When too many repairs run, it is
// left to the next read or scrub.
func (h *Host) repairPage(t hemera.Target, id hemera.PieceID, page []byte, off int64) {
	if h.repairs.Add(1) > repairsMax {
		h.repairs.Add(-1)
		return
	}
	h.work.Go(func() {
		defer h.repairs.Add(-1)
		store, err := h.store(t)
		if err == nil {
			err = store.RepairPages(id, page, off)
		}
		if err != nil {
			h.Counters.RepairsFailed.Add(1)
			h.Log.Warn("bad page not repaired", "piece", id.String(), "disk", t.Disk, "offset", off, "err", err)
			return
		}
		h.Counters.Repairs.Add(1)
		h.Log.Info("bad page repaired", "piece", id.String(), "disk", t.Disk, "offset", off)
	})
}
