package layout

import "hemera/words/hemera"

// Spare returns how many more pieces a file of size bytes with these pieces can lose, for any choice of them, and still
// be read. It is negative if the file cannot be read. For a locally repairable code it is the number that the code
// guarantees: some larger losses can be repaired too.
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
