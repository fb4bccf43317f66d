package cli

import "hemera/words/hemera"

// LayoutName is a layout as the key layout has it beside the number of pieces. Copies have their kind, as in EOS. A coded
// layout has its whole name, because the number alone does not say how many pieces may be lost.
func LayoutName(l hemera.Layout) string {
	if l.Coded() {
		return l.String()
	}
	return l.Kind.String()
}
