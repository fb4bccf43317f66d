package layout

import (
	"slices"
	"testing"

	"hemera/rules/erasure"
	"hemera/words/hemera"
)

func TestApart(t *testing.T) {
	for _, c := range []struct {
		l    hemera.Layout
		n    int
		want []uint8
	}{
		{hemera.Replica(3), 2, []uint8{0, 1}}, {hemera.ReedSolomon(4, 2), 6, []uint8{0, 1, 2, 3, 4, 5}}, {hemera.Stripe(3), 3, []uint8{0, 1, 2}},
		{hemera.Local(4, 2, 1), 7, []uint8{0, 2, 6, 1, 3, 4, 5}}, {hemera.Local(4, 2, 1), 6, []uint8{0, 2, 1, 3, 4, 5}}, {hemera.Local(5, 2, 2), 9, []uint8{0, 3, 7, 1, 4, 8, 2, 6, 5}},
		{hemera.Local(2, 1, 1), 4, []uint8{0, 3, 1, 2}}, {hemera.Layout{Kind: hemera.LayoutLocal}, 1, []uint8{0}},
	} {
		if got := Apart(c.l, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%s, %d pieces: %v, want %v", c.l, c.n, got, c.want)
		}
	}
}

// Apart guarantees that as many neighbours as the code has parities can be lost together.
func TestNeighboursCanBeLostTogether(t *testing.T) {
	for _, l := range []hemera.Layout{
		hemera.Local(12, 2, 2), hemera.Local(4, 2, 1), hemera.Local(6, 3, 2), hemera.Local(10, 2, 2), hemera.Local(16, 4, 2), hemera.Local(20, 5, 2), hemera.Local(24, 4, 1),
	} {
		order := Apart(l, int(l.Pieces))
		for from := 0; from+l.Parity() <= len(order); from++ {
			have := erasure.Range(0, int(l.Pieces))
			for _, i := range order[from : from+l.Parity()] {
				have = have.Without(int(i))
			}
			if !Readable(l, hemera.FileSizeMax, have) {
				t.Errorf("%s cannot be read without %v", l, order[from:from+l.Parity()])
			}
		}
	}
}
