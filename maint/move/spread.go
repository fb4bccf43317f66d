package move

import (
	"hemera/rules/balance"
	"hemera/rules/layout"
	"hemera/words/hemera"
)

// SpreadOf returns how the file's pieces would lie on the disks. The pieces that may be lost are counted as if all pieces were there: a file that
// lacks some gets them by repair.
func SpreadOf(v *hemera.View, e hemera.Entry, disks []hemera.DiskID) balance.Spread {
	return balance.SpreadOf(v, disks, max(0, layout.Spare(e.Layout, e.Size, ^layout.Set(0))))
}

// DisksOf returns the disks of the pieces, in their order. The result is the caller's.
func DisksOf(pieces []hemera.Piece) []hemera.DiskID {
	ids := make([]hemera.DiskID, len(pieces))
	for i, p := range pieces {
		ids[i] = p.Disk
	}
	return ids
}

// Apart returns the spread of the file after the planned move, and before.
func (m Plan) Apart(v *hemera.View) (now, old balance.Spread) {
	// The pieces that stay, with the new one in the place of those that it replaces.
	ids := DisksOf(m.Entry.Pieces)
	old = SpreadOf(v, m.Entry, ids)
	for _, d := range m.Drop {
		for i, p := range m.Entry.Pieces {
			if p == d {
				ids[i] = m.Add.Disk
			}
		}
	}
	return SpreadOf(v, m.Entry, ids), old
}
