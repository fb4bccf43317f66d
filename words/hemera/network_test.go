package hemera_test

import (
	"testing"
	"time"

	"hemera/words/hemera"
)

// TestLinkIsTheFastestInterface that can carry something.
func TestLinkIsTheFastestInterface(t *testing.T) {
	s := hemera.NetworkSample{Interval: 10 * time.Second, Interfaces: []hemera.NetworkInterface{
		{Name: "eno1", Up: true, Carrier: true, Speed: 1e9, Out: hemera.NetworkTraffic{Bytes: 1e9}},
		{Name: "bond0", Up: true, Carrier: true, Speed: 2e10, Out: hemera.NetworkTraffic{Bytes: 5e9}},
		{Name: "ens1", Up: true, Carrier: true, Member: true, Speed: 4e10},
		{Name: "ens2", Up: true, Speed: 4e10},
		{Name: "ens3", Carrier: true, Speed: 4e10},
	}}
	if l := s.Link(); l.Speed != 2e10 || l.Out != 4e9 {
		t.Errorf("%+v", l)
	}
	s.Interval = 0
	if l := s.Link(); l.Speed != 2e10 || l.Out != 0 {
		t.Errorf("a first sample: %+v", l)
	}
	if l := (&hemera.NetworkSample{}).Link(); l != (hemera.NetworkLink{}) {
		t.Errorf("no interface: %+v", l)
	}
}
