package read

import (
	"hemera/rules/erasure"
	"hemera/rules/layout"
)

// choosePlan returns the plan by which the wanted pieces follow from some of those that are there. It reads as few as it can. Of plans that read as
// many it is the one whose pieces come first in the order, as far as these are enough; without an order, that of the lowest indexes. It fails like
// [erasure.Code.Plan].
func choosePlan(code *erasure.Code, want, have layout.Set, order []uint8) (*erasure.Plan, error) {
	fewest, err := code.Plan(want, have)
	if err != nil || len(order) == 0 {
		return fewest, err
	}
	var first layout.Set
	for _, i := range order {
		if first.Len() < fewest.Read().Len() && have.Has(int(i)) {
			first = first.With(int(i))
		}
	}
	// Of a local code not all sets of so many pieces will do.
	if p, err := code.Plan(want, first); err == nil {
		return p, nil
	}
	return fewest, nil
}
