package read

import (
	"testing"

	"hemera/rules/layout"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

func set(indexes ...int) (s layout.Set) {
	for _, i := range indexes {
		s = s.With(i)
	}
	return s
}

func TestPlanReadsWhatComesFirst(t *testing.T) {
	rs, local := hemera.ReedSolomon(4, 2), hemera.Local(4, 2, 2)
	for _, c := range []struct {
		name   string
		layout hemera.Layout
		lost   int
		have   layout.Set
		order  []uint8
		want   layout.Set
	}{
		{"no order", rs, 2, set(0, 1, 3, 4, 5), nil, set(0, 1, 3, 4)},
		{"parity first", rs, 2, set(0, 1, 3, 4, 5), []uint8{5, 3, 1, 4, 0}, set(1, 3, 4, 5)},
		{"data first", rs, 5, set(0, 1, 2, 3, 4), []uint8{0, 3, 1, 2, 4}, set(0, 1, 2, 3)},
		{"one is not there", rs, 2, set(0, 1, 4, 5), []uint8{5, 3, 1, 4, 0}, set(0, 1, 4, 5)},
		{"the order lacks some", rs, 2, set(0, 1, 3, 4, 5), []uint8{5}, set(0, 1, 3, 4)},
		{"a group is fewer", local, 0, set(1, 2, 3, 4, 5, 6, 7), []uint8{7, 6, 5, 3, 2, 1, 4}, set(1, 4)},
		{"a group without one", local, 0, set(1, 2, 3, 5, 6, 7), []uint8{7, 6, 5, 3, 2, 1}, set(3, 5, 6, 7)},
	} {
		code, err := new(piece.Codes).Get(c.layout)
		if err != nil {
			t.Fatal(err)
		}
		p, err := choosePlan(code, set(c.lost), c.have, c.order)
		if err != nil || p.Read() != c.want {
			t.Errorf("%s: %+v reads other pieces than %v, %v", c.name, p, c.want, err)
		}
	}
}
