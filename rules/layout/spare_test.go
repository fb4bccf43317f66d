package layout

import (
	"math/bits"
	"testing"

	"hemera/words/hemera"
)

// survives , the slow twin, returns the largest number of pieces that can be lost, for any choice of them.
func survives(l hemera.Layout, size int64, have Set) int {
	if !Readable(l, size, have) {
		return -1
	}
	var real Set // without indexes of pieces that a coded file of this size does not have
	for i := range have.All() {
		if !l.Coded() || Stored(l, size, uint8(i)) {
			real = real.With(i)
		}
	}
	for lose := 1; lose <= real.Len(); lose++ {
		for loss := Set(1); loss < 1<<bits.Len32(uint32(real)); loss++ {
			if loss&^real == 0 && loss.Len() == lose && !Readable(l, size, real&^loss) {
				return lose - 1
			}
		}
	}
	return real.Len()
}

func TestSpareIsWhatEveryLossLeavesReadable(t *testing.T) {
	for _, l := range []hemera.Layout{
		hemera.Plain(), hemera.Replica(2), hemera.Replica(3), hemera.ReedSolomon(2, 1), hemera.ReedSolomon(4, 2), hemera.Stripe(3), hemera.Local(4, 2, 1),
	} {
		for _, size := range []int64{1, int64(l.BlockSize) + 1, 10 * (1 << 20)} {
			for have := range Set(1) << l.Pieces {
				got, want := Spare(l, size, have), survives(l, size, have)
				// For a locally repairable code Spare returns the number that the code guarantees for each loss. This
				// file may survive more.
				if got != want && (l.Kind != hemera.LayoutLocal || got > want || (got < 0) != (want < 0)) {
					t.Fatalf("%s of %d bytes with %s: %d to spare, every loss of %d leaves it readable", l, size, have, got, want)
				}
			}
		}
	}
	full := Set(1)<<7 - 1
	if got := Spare(hemera.Local(4, 2, 1), 1<<20*10, full); got != 2 {
		t.Errorf("a whole locally repairable file has %d to spare", got)
	}
}
