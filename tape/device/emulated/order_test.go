package emulated

import (
	"math/rand/v2"
	"testing"

	"hemera/tape/device"
)

// TestOrderTravelsLittle: 300 files at random places of a full tape are read with less than a third of the travel that the order of requests
// takes, as the drive counts it.
func TestOrderTravelsLittle(t *testing.T) {
	const size, files = 64 << 10, 300
	l := open(t, Spec{Capacity: 4000 * size}, Options{NoSync: true, Discard: true})
	tp := mount(t, l)
	b := make([]byte, size)
	for range 3900 {
		if err := tp.WriteBlock(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	var segments []device.Segment
	var asked []int
	for i, at := range rand.New(rand.NewPCG(5, 6)).Perm(3900)[:files] {
		segments = append(segments, device.Segment{Begin: uint64(at), End: uint64(at + 1)})
		asked = append(asked, i)
	}
	repositioned := func(order []int) float64 {
		t.Helper()
		if err := tp.Locate(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		before, err := tp.(device.Monitor).Counters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range order {
			if err := tp.Locate(t.Context(), segments[i].Begin); err != nil {
				t.Fatal(err)
			}
			if _, err := tp.ReadBlock(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		after, err := tp.(device.Monitor).Counters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return (after.Repositioned - before.Repositioned).Seconds()
	}
	if err := tp.Locate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	order, err := tp.(device.Orderer).Order(t.Context(), segments)
	if err != nil {
		t.Fatal(err)
	}
	if good, bad := repositioned(order), repositioned(asked); 3*good > bad {
		t.Errorf("%.0f s of travel, %.0f s in the order of requests", good, bad)
	}
	if _, err := tp.(device.Orderer).Order(t.Context(), make([]device.Segment, orderMax+1)); err == nil {
		t.Error("more segments than the drive takes were ordered")
	}
}
