package cli

import "hemera/words/hemera"

// LayoutName returns a layout for the key layout, which is beside the number of pieces: for copies their kind, as in EOS,
// and for a coded layout the whole name, because the number of pieces does not show how many may be lost.
func LayoutName(l hemera.Layout) string {
	if l.Coded() {
		return l.String()
	}
	return l.Kind.String()
}
