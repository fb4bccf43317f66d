package maint

import (
	"hemera/rules/balance"
	"hemera/rules/layout"
	"hemera/words/hemera"
)

// spreadOf is how the file's pieces would lie on the disks. What may be lost is counted as if all pieces were there: a file that
// lacks some gets them by repair.
func spreadOf(v *hemera.View, e hemera.Entry, disks []hemera.DiskID) balance.Spread {
	return balance.SpreadOf(v, disks, max(0, layout.Spare(e.Layout, e.Size, ^layout.Set(0))))
}

// disksOf are the disks of the pieces, in their order.
//
// The result is the caller's.
func disksOf(pieces []hemera.Piece) []hemera.DiskID {
	ids := make([]hemera.DiskID, len(pieces))
	for i, p := range pieces {
		ids[i] = p.Disk
	}
	return ids
}

// apart is what the spread of the file is after the planned move, and before.
func apart(v *hemera.View, m plannedMove) (now, old balance.Spread) {
	// The pieces that stay, with the new one in the place of those that it replaces.
	ids := disksOf(m.entry.Pieces)
	old = spreadOf(v, m.entry, ids)
	for _, d := range m.drop {
		for i, p := range m.entry.Pieces {
			if p == d {
				ids[i] = m.add.Disk
			}
		}
	}
	return spreadOf(v, m.entry, ids), old
}
