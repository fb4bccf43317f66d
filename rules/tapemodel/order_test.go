package tapemodel

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestOrderTravelsLittle: 1,000 files of 1 GB at random take less than a third of the travel that they take in the order of requests.
func TestOrderTravelsLittle(t *testing.T) {
	for _, m := range Medias() {
		r := rand.New(rand.NewPCG(3, 4))
		var spans []Span
		var all []int
		for i := range 1000 {
			at := r.Int64N(m.Capacity - 1e9)
			spans = append(spans, Span{m.Place(at), m.Place(at + 1e9)})
			all = append(all, i)
		}
		travel := func(order []int) (sum time.Duration) {
			here := m.Place(0)
			for _, i := range order {
				sum += m.Geometry.Locate(here, spans[i].Begin)
				here = spans[i].End
			}
			return sum
		}
		order := m.Order(m.Place(0), spans)
		if got, before := travel(order), travel(all); 3*got > before {
			t.Errorf("%s: %v of travel, %v in the order of requests", m.Name, got, before)
		}
		if slices.Sort(order); !slices.Equal(order, all) {
			t.Errorf("%s: the order does not have each span once", m.Name)
		}
	}
}

func TestOrderOfNothing(t *testing.T) {
	if got := Medias()[0].Order(Place{}, nil); len(got) != 0 {
		t.Error(got)
	}
}
