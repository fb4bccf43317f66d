package read

import (
	"testing"

	"hemera/rules/layout"
	"hemera/words/hemera"
)

// TestADiskIsSlowUntilTheLastReadReturns: for all files with a piece there, and no other disk is.
func TestADiskIsSlowUntilTheLastReadReturns(t *testing.T) {
	var d slowDisks
	file := []hemera.Target{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}, {Index: 2, Disk: 3}}
	other := []hemera.Target{{Index: 0, Disk: 3}, {Index: 1, Disk: 1}}
	var none layout.Set
	for step, c := range []struct {
		do          func()
		file, other layout.Set
	}{
		{func() {}, none, none},
		{func() { d.Hedged(file, 0) }, none.With(0), none.With(1)},
		{func() { d.Hedged(other, 1) }, none.With(0), none.With(1)},
		{func() { d.Hedged(file, 2) }, none.With(0).With(2), none.With(0).With(1)},
		{func() { d.Returned(file, 0) }, none.With(0).With(2), none.With(0).With(1)},
		{func() { d.Returned(other, 1) }, none.With(2), none.With(0)},
		{func() { d.Returned(file, 2) }, none, none},
	} {
		c.do()
		if got, too := d.Of(file), d.Of(other); got != c.file || too != c.other {
			t.Errorf("step %d: %b and %b, want %b and %b", step, got, too, c.file, c.other)
		}
	}
	if len(d.waits) > 0 || d.reads.Load() != 0 {
		t.Error("something is kept of reads that have returned")
	}
}
