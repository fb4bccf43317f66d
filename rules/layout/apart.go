package layout

import "hemera/words/hemera"

// Apart lists the first n pieces of a layout so that neighbours in the list may be lost together. For a locally
// repairable code, neighbours are of different groups, and a group repairs one loss by itself. If the pieces are put in
// this order on disks that are listed node by node and zone by zone, a code with l local and up to two global parities
// survives the loss of a node or zone with as many pieces as it has parities. For other layouts the list has the pieces
// in their order, since all pieces are equal.
//
// If n is smaller than the number of pieces, the last ones are left out. These are parities.
func Apart(l hemera.Layout, n int) []uint8 {
	order := make([]uint8, 0, n)
	if l.Kind != hemera.LayoutLocal || !l.Coded() || l.Local == 0 {
		for i := range n {
			order = append(order, uint8(i))
		}
		return order
	}
	classes := make([][]uint8, l.Local+1) // the groups, and the global parities
	for i := range l.Pieces {
		class := groupOf(l, i)
		classes[class] = append(classes[class], i)
	}
	for round := range int(l.Pieces) {
		for _, class := range classes {
			if round < len(class) && int(class[round]) < n {
				order = append(order, class[round])
			}
		}
	}
	return order
}

// groupOf returns the group of a piece of a locally repairable code. Global parities count as one more group, after the
// last.
func groupOf(l hemera.Layout, index uint8) uint8 {
	switch {
	case index >= l.Data+l.Local:
		return l.Local
	case index >= l.Data:
		return index - l.Data
	}
	group := uint8(0)
	for group+1 < l.Local && index >= longest(l, l.Data+group+1) {
		group++
	}
	return group
}
