package node

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	"hemera/platform/netstat"
	"hemera/words/hemera"
)

// Reported paths lead to other machines and have traffic.
func TestSampledPaths(t *testing.T) {
	own := []netip.Addr{netip.MustParseAddr("10.1.0.5"), netip.MustParseAddr("2001:db8::5")}
	peer := func(addr string, sent, received int64) netstat.Peer {
		return netstat.Peer{Addr: netip.MustParseAddr(addr), SegmentsSent: sent, SegmentsReceived: received, Retransmits: 9, Spurious: 2, OutOfOrder: 3, RTT: 1234567}
	}
	got := sampled(netstat.Sample{Taken: time.Unix(7, 0), Peers: []netstat.Peer{
		peer("127.0.0.1", 100, 100), peer("::1", 100, 100), peer("10.1.0.5", 100, 100), peer("2001:db8::5", 100, 100),
		peer("10.1.0.6", 100, 50), peer("10.1.0.7", 0, 50), peer("10.1.0.8", 0, 0),
	}}, own)
	want := []hemera.NetworkPath{
		{Peer: netip.MustParseAddr("10.1.0.6"), Sent: 100, Lost: 7, Received: 50, OutOfOrder: 3, RTT: 1234 * time.Microsecond},
		{Peer: netip.MustParseAddr("10.1.0.7"), Lost: 7, Received: 50, OutOfOrder: 3, RTT: 1234 * time.Microsecond},
	}
	if !slices.Equal(got.Paths, want) || !slices.Equal(got.Addresses, own) || !got.Taken.Equal(time.Unix(7, 0)) {
		t.Errorf("%+v", got)
	}
}

// Of too many paths the busiest are kept, and the sums are those of the whole sample.
func TestBusiestPaths(t *testing.T) {
	var s netstat.Sample
	var sent, lost int64
	for n := range int64(3 * hemera.NetworkPathsMax) {
		p := netstat.Peer{Addr: netip.MustParseAddr(fmt.Sprintf("10.2.%d.%d", n/250, n%250)), SegmentsSent: 1 + n*7919%1000, Retransmits: n % 3}
		s.Peers, sent, lost = append(s.Peers, p), sent+p.SegmentsSent, lost+p.Retransmits
	}
	got := sampled(s, nil)
	if len(got.Paths) != hemera.NetworkPathsMax {
		t.Fatalf("%d paths", len(got.Paths))
	}
	least, rest := int64(1<<62), 0
	for _, p := range got.Paths {
		sent, lost = sent-p.Sent, lost-p.Lost
		if p.Peer.IsValid() {
			least = min(least, p.Sent)
		} else {
			rest++
		}
	}
	if sent != 0 || lost != 0 || rest != 1 || least < 600 {
		t.Errorf("%d segments and %d losses are missing; %d rests, the thinnest path has %d", sent, lost, rest, least)
	}
}

// Virtual interfaces are reported if no others are up; their number is bounded.
func TestSampledInterfaces(t *testing.T) {
	eth := netstat.Interface{Name: "eth0", Up: true, Carrier: true, Speed: 25e9, Rx: netstat.Traffic{Packets: 5, Missed: 1, FIFO: 2}}
	bridge := netstat.Interface{Name: "br0", Up: true, Kind: "bridge"}
	bond := netstat.Interface{Name: "bond0", Index: 3, Up: true, Kind: "bond"}
	bridge.Index = 4
	port := netstat.Interface{Name: "eth3", Up: true, Master: 4}
	member := netstat.Interface{Name: "eth1", Up: true, Master: 3, HalfDuplex: true}
	off := netstat.Interface{Name: "eth2"}
	for name, c := range map[string]struct {
		list []netstat.Interface
		want []hemera.NetworkInterface
	}{
		"hardware":  {[]netstat.Interface{bridge, eth, off}, []hemera.NetworkInterface{{Name: "eth0", Up: true, Carrier: true, Speed: 25e9, In: hemera.NetworkTraffic{Packets: 5, Missed: 3}}, {Name: "eth2"}}},
		"a bond":    {[]netstat.Interface{bond, bridge, member}, []hemera.NetworkInterface{{Name: "bond0", Up: true}, {Name: "eth1", Up: true, Member: true, HalfDuplex: true}}},
		"a bridge":  {[]netstat.Interface{bridge, port}, []hemera.NetworkInterface{{Name: "eth3", Up: true}}},
		"container": {[]netstat.Interface{bridge, off}, []hemera.NetworkInterface{{Name: "br0", Up: true, Virtual: true}, {Name: "eth2"}}},
	} {
		if got := interfaces(c.list); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if n := len(interfaces(slices.Repeat([]netstat.Interface{eth}, 100))); n != hemera.NetworkInterfacesMax {
		t.Errorf("%d interfaces", n)
	}
}

// Heartbeats are sent every second, and one in ten has a sample; a node without a sampler sends none.
func TestSamplesAreDue(t *testing.T) {
	taken := 0
	turn := networkTurn{sample: func() hemera.NetworkSample { taken++; return hemera.NetworkSample{} }}
	now := time.Unix(1000, 0)
	for range 60 {
		before := taken
		if got := turn.next(now); (got != nil) != (taken > before) {
			t.Errorf("%v after %d samples", got, taken)
		}
		now = now.Add(hemera.HeartbeatInterval)
	}
	if taken != 6 {
		t.Errorf("%d samples in a minute", taken)
	}
	if got := (&networkTurn{}).next(now); got != nil {
		t.Errorf("%+v", got)
	}
}

// This machine can be sampled, and reports its addresses.
func TestNetworkOfThisMachine(t *testing.T) {
	n := NewNetwork(slog.New(slog.DiscardHandler))
	defer n.Close()
	first := n.Sample()
	second := n.Sample()
	if first.Interval != 0 || second.Interval <= 0 || !second.Taken.After(first.Taken) {
		t.Errorf("%+v, then %+v", first, second)
	}
	for _, a := range second.Addresses {
		if a.IsLoopback() || a.IsLinkLocalUnicast() {
			t.Errorf("%s is no address of this machine alone", a)
		}
	}
}
