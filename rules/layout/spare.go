package layout

import "hemera/words/hemera"

// Spare is how many more pieces a file of size bytes can lose, whichever they are, and still be read, when it has those
// with the indexes; below zero when it cannot be read. Of a locally repairable code it is what the code promises for any
// loss: some losses of more pieces can be repaired, too.
func Spare(l hemera.Layout, size int64, have Set) int {
	if !Readable(l, size, have) {
		return -1
	}
	stored := 0
	for i := range l.Pieces {
		if have.Has(int(i)) && (!l.Coded() || Stored(l, size, i)) {
			stored++
		}
	}
	if l.Kind == hemera.LayoutLocal {
		return max(0, l.Losses()-(Count(l, size)-stored))
	}
	return max(0, stored-Needed(l, size))
}
