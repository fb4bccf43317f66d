package sim

import (
	"math/rand/v2"
	"slices"

	"hemera/rules/layout"
	"hemera/words/hemera"
)

// rebuildOld makes pieces of coded files from an older generation, where some drive still has that, reports the orders done, and
// returns the others (RebuildOld). Footer, checksums of pages and length of such a piece are right.
func (b *believed) rebuildOld(w *world, orders []hemera.Order) []hemera.Order {
	return slices.DeleteFunc(orders, func(o hemera.Order) bool {
		h := w.head.Load()
		if o.Kind != hemera.OrderCopy || h == nil {
			return false
		}
		e, _, err := h.tree.Inspection.Resolve(h.ctx, o.Piece.File)
		d, ok := h.Cluster.View().Disk(o.Disk)
		if err != nil || !ok || !e.Layout.Coded() || e.Gen != o.Piece.Gen {
			return false
		}
		// Of the same place in the file, so that all but its bytes is right.
		old := older(w, o.Piece)
		size := int(layout.PieceSize(e.Layout, e.Size, o.Piece.Index))
		if old == nil || size == 0 || w.drive(d).plant(rand.New(rand.NewPCG(1, 1)), o.Piece, plantWhole, &e, resized(old, size)) != nil {
			return false
		}
		// It stands where the copy should: the node never gets the order.
		w.trace.Add("sim", "makes piece %s on disk %d from an older generation", o.Piece, o.Disk)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.done = append(b.done, hemera.OrderResult{ID: o.ID})
		return true
	})
}

// older returns the bytes of the same piece of an older generation on some drive; nil if no drive has it.
func older(w *world, id hemera.PieceID) []byte {
	for _, m := range w.machines {
		for _, d := range m.drives {
			s := d.store.Load()
			if s == nil || d.gone.Load() {
				continue
			}
			// Pieces are in the order of files; a hundred are more than a file has.
			list, _ := s.Disk.Scan(hemera.PieceID{File: id.File}, 100)
			for _, p := range list {
				if p.ID.File != id.File || p.ID.Index != id.Index || p.ID.Gen >= id.Gen || !p.Layout.Coded() {
					continue
				}
				if b, err := d.pieceBytes(p.ID); err == nil {
					return b
				}
			}
		}
	}
	return nil
}
