package netwatch

import (
	"bytes"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hemera/rules/netjudge"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

var start = time.Date(2026, time.March, 14, 15, 9, 26, 0, time.UTC)

// rig is a cluster of hosts that all send to each other, one node on each unless hosts says otherwise.
type rig struct {
	*Watch
	view hemera.View
	now  time.Time
	logs *bytes.Buffer
	// lost is the number of the thousand segments from one node to another that are lost each time.
	lost func(from, to int) int64
}

func newRig(nodes int, host func(node int) string) *rig {
	r := &rig{now: start, logs: &bytes.Buffer{}, lost: func(int, int) int64 { return 0 }}
	r.Watch = New(slog.New(slog.NewTextHandler(r.logs, nil)))
	if host == nil {
		host = func(node int) string { return address(node).String() }
	}
	for n := 1; n <= nodes; n++ {
		r.view.Nodes = append(r.view.Nodes, hemera.NodeInfo{ID: hemera.NodeID(n), Addr: net.JoinHostPort(host(n), strconv.Itoa(1094+n)), Status: hemera.NodeOnline, Enabled: true})
	}
	return r
}

func address(node int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(node)}) }

// sample returns the report of a node.
func (r *rig) sample(node int) *hemera.NetworkSample {
	s := &hemera.NetworkSample{Taken: r.now, Interval: hemera.NetworkInterval, Addresses: []netip.Addr{address(node)},
		Interfaces: []hemera.NetworkInterface{{Name: "eth0", Up: true, Carrier: true, Speed: 10e9, In: hemera.NetworkTraffic{Bytes: 50e6, Packets: 40_000}, Out: hemera.NetworkTraffic{Bytes: 20e6, Packets: 20_000}}}}
	for to := range len(r.view.Nodes) {
		if to+1 != node {
			s.Paths = append(s.Paths, hemera.NetworkPath{Peer: address(to + 1), Sent: 1000, Lost: r.lost(node, to+1), Received: 1000, RTT: 200 * time.Microsecond})
		}
	}
	return s
}

// round has every node report, and judges.
func (r *rig) round() map[hemera.NodeID]float64 {
	r.now = r.now.Add(hemera.NetworkInterval)
	for n := range r.view.Nodes {
		r.Take(r.view.Nodes[n].ID, r.sample(n+1), r.now)
	}
	return r.Step(&r.view, r.now)
}

// row returns the report about a node.
func (r *rig) row(node hemera.NodeID) adminapi.NodeNetwork {
	list := r.Report(&r.view).Nodes
	return list[slices.IndexFunc(list, func(n adminapi.NodeNetwork) bool { return n.Node == node })]
}

// A node that loses is named with what it rests on, has a weight until it is well again, and both are logged once.
func TestANodeThatLoses(t *testing.T) {
	r := newRig(5, nil)
	if row := r.row(3); row.Standing != adminapi.NetworkUnknown || row.Weight != 1 || len(row.Text) != 1 || !row.Sampled.IsZero() {
		t.Errorf("before anything: %+v", row)
	}
	for range 6 {
		if got := r.round(); len(got) != 0 {
			t.Fatalf("well: %v", got)
		}
	}
	if row := r.row(3); row.Standing != adminapi.NetworkWell || row.InRate != 5e6 || row.OutRate != 2e6 || row.Worst != nil || row.Where != "" || row.Remedy != "" || !row.Sampled.Equal(r.now) {
		t.Errorf("well: %+v", row)
	}
	r.lost = func(from, to int) int64 {
		switch {
		case from == 3 && to == 5:
			return 40
		case from == 3:
			return 20
		}
		return 0
	}
	for range 5 {
		r.round()
	}
	weights := r.round()
	if len(weights) != 1 || weights[3] <= 0 || weights[3] > 0.5 {
		t.Errorf("weights: %v", weights)
	}
	row := r.row(3)
	if row.Standing != adminapi.NetworkSuspected || row.Cause != "port" || row.Direction != "out" || row.Weight != weights[3] || row.Since.IsZero() ||
		row.Where == "" || row.Remedy == "" || row.Out.Share() < 0.01 || row.In.Lost != 0 || row.RTT != 200*time.Microsecond {
		t.Errorf("%+v", row)
	}
	if w := row.Worst; w == nil || w.Peer != 5 || w.Addr != "10.0.0.5:1099" || w.Direction != "out" || w.Loss.Share() < 0.02 {
		t.Errorf("worst: %+v", w)
	}
	if w := r.row(5).Worst; w == nil || w.Peer != 3 || w.Direction != "in" {
		t.Errorf("worst of its peer: %+v", w)
	}
	r.lost = func(int, int) int64 { return 0 }
	for n := 0; len(r.round()) > 0; n++ {
		if n == 100 {
			t.Fatalf("it stays suspected: %+v", r.row(3))
		}
	}
	if row := r.row(3); row.Standing != adminapi.NetworkWell || row.Cause != "" || row.Weight != 1 {
		t.Errorf("afterwards: %+v", row)
	}
	for text, want := range map[string]int{"is suspected\"": 1, "not suspected any more": 1, "addr=10.0.0.3:1097": 2} {
		if got := strings.Count(r.logs.String(), text); got != want {
			t.Errorf("%d times %q in\n%s", got, text, r.logs)
		}
	}
}

// A sample counts once, however often it is judged, and nodes that are silent keep what is known of them.
func TestASampleCountsOnce(t *testing.T) {
	r := newRig(3, nil)
	r.round()
	before := r.row(1).Out.Segments
	for range 3 {
		r.Step(&r.view, r.now)
	}
	if after := r.row(1).Out.Segments; before != 2000 || after != before {
		t.Errorf("%v segments became %v", before, after)
	}
	r.now = r.now.Add(hemera.NetworkInterval)
	r.Take(2, r.sample(2), r.now)
	r.Step(&r.view, r.now)
	if row := r.row(1); row.Out.Segments >= before || row.Out.Segments < before*0.8 || len(r.state.Worst()) != 0 {
		t.Errorf("%+v", row)
	}
	r.Take(1, nil, r.now) // most heartbeats have none
	if row := r.row(1); row.Sampled.Equal(r.now) {
		t.Errorf("no sample was taken for one: %+v", row)
	}
}

// Two nodes of one host are one network: one verdict for both, no path between them, and other hosts lose to the host.
func TestNodesOfOneHost(t *testing.T) {
	r := newRig(6, func(node int) string {
		if node == 4 {
			node = 3
		}
		return address(node).String()
	})
	r.lost = func(from, to int) int64 {
		if from == 3 || from == 4 {
			return 30
		}
		return 0
	}
	// Both processes are at the address of node 3.
	var weights map[hemera.NodeID]float64
	for range 8 {
		r.now = r.now.Add(hemera.NetworkInterval)
		for n := range r.view.Nodes {
			s := r.sample(n + 1)
			for i, p := range s.Paths {
				if p.Peer == address(4) {
					s.Paths[i].Peer = address(3)
				}
			}
			if n+1 == 4 {
				s.Addresses = []netip.Addr{address(3)}
			}
			r.Take(r.view.Nodes[n].ID, s, r.now)
		}
		weights = r.Step(&r.view, r.now)
	}
	if len(weights) != 2 || weights[3] != weights[4] || weights[3] > 0.5 {
		t.Errorf("%v", weights)
	}
	a, b := r.row(3), r.row(4)
	if a.Standing != adminapi.NetworkSuspected || b.Standing != a.Standing || b.Addr == a.Addr || a.Out != b.Out || a.Out.Segments < 30_000 {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// In one process all nodes have one address, and one of them sends samples of nothing but clients: nobody is suspected, whatever
// clients lose, and the rows of all of them tell the same.
func TestOneProcess(t *testing.T) {
	r := newRig(3, func(int) string { return "127.0.0.1" })
	for range 30 {
		r.now = r.now.Add(hemera.NetworkInterval)
		s := &hemera.NetworkSample{Taken: r.now, Interval: hemera.NetworkInterval, Addresses: []netip.Addr{address(1)}}
		s.Paths = []hemera.NetworkPath{{Peer: netip.MustParseAddr("192.0.2.7"), Sent: 5000, Lost: 200, Received: 5000, RTT: 80 * time.Millisecond}}
		r.Take(1, s, r.now)
		if got := r.Step(&r.view, r.now); len(got) != 0 {
			t.Fatalf("%v", got)
		}
	}
	rows := r.Report(&r.view).Nodes
	if len(rows) != 3 || rows[0].Out.Segments < 10_000 || rows[2].Out != rows[0].Out || rows[2].Sampled.IsZero() || rows[1].Worst == nil || rows[1].Worst.Peer != netjudge.Clients || rows[1].Worst.Addr != "" {
		t.Errorf("%+v", rows)
	}
}

// What is reported as an address decides whose it is: a node's own, nobody's that two hosts claim, and never one that another node is
// reached by.
func TestWhoseAddress(t *testing.T) {
	bridge := netip.MustParseAddr("172.17.0.1")
	second := netip.MustParseAddr("2001:db8::2")
	r := newRig(4, nil)
	r.view.Nodes[3].Addr = "node4.example.org:1095"
	r.view.Nodes = append(r.view.Nodes, hemera.NodeInfo{ID: 9, Status: hemera.NodeWaiting, Addr: "10.0.0.9:1095"})
	arrivals := map[hemera.NodeID]arrival{}
	for id, claims := range map[hemera.NodeID][]netip.Addr{
		1: {address(1), bridge}, 2: {address(2), bridge, second}, 3: {address(1), bridge}, 4: {address(4)}, 9: {address(2), second}, 77: {second},
	} {
		arrivals[id] = arrival{sample: &hemera.NetworkSample{Addresses: claims}}
	}
	h := newHosts(&r.view, arrivals)
	for a, want := range map[netip.Addr]hemera.NodeID{
		address(1): 1, address(2): 2, address(3): 3, address(4): 4, second: 2, bridge: netjudge.Clients, address(9): netjudge.Clients, {}: netjudge.Clients,
	} {
		if got := h.addresses[a]; got != want {
			t.Errorf("%s is of node %d, not %d", a, got, want)
		}
	}
	if _, there := h.first[9]; there || len(r.Report(&r.view).Nodes) != 4 {
		t.Error("a node that waits for admission is in the report")
	}
}

// A node that left the cluster is forgotten, and its address is a client's.
func TestANodeThatLeft(t *testing.T) {
	r := newRig(4, nil)
	r.round()
	r.view.Nodes = r.view.Nodes[:3]
	r.now = r.now.Add(hemera.NetworkInterval)
	r.Step(&r.view, r.now)
	if len(r.arrivals) != 3 || len(r.Report(&r.view).Nodes) != 3 || len(r.taken) != 3 {
		t.Errorf("%v", r.arrivals)
	}
}

// Whatever a node in bad hands reports, the sample is within bounds, and what the node passed is not changed.
func TestBounds(t *testing.T) {
	wild := hemera.NetworkSample{Interval: -1, Addresses: make([]netip.Addr, 1000)}
	for range 5000 {
		wild.Paths = append(wild.Paths, hemera.NetworkPath{Peer: address(2), Sent: math.MaxInt64, Lost: math.MinInt64, Received: -1, OutOfOrder: math.MaxInt64, RTT: math.MinInt64})
		wild.Interfaces = append(wild.Interfaces, hemera.NetworkInterface{Name: strings.Repeat("x", 1000), Speed: math.MaxInt64, CarrierChanges: -5, In: hemera.NetworkTraffic{Bytes: math.MaxInt64, Errors: math.MinInt64}})
	}
	got := bounded(wild)
	if len(got.Paths) != hemera.NetworkPathsMax || len(got.Interfaces) != hemera.NetworkInterfacesMax || len(got.Addresses) != hemera.NetworkAddressesMax || got.Interval != 0 {
		t.Errorf("%d paths, %d interfaces, %d addresses", len(got.Paths), len(got.Interfaces), len(got.Addresses))
	}
	if p := got.Paths[0]; p.Sent != countMax || p.Lost != 0 || p.Received != 0 || p.RTT != 0 {
		t.Errorf("%+v", p)
	}
	if i := got.Interfaces[0]; len(i.Name) != nameMax || i.CarrierChanges != 0 || i.In.Bytes != countMax || i.In.Errors != 0 {
		t.Errorf("%+v", i)
	}
	if wild.Paths[0].Sent != math.MaxInt64 || len(wild.Interfaces[0].Name) != 1000 {
		t.Error("the node's own sample was changed")
	}
	r := newRig(3, nil)
	for range 20 {
		r.now = r.now.Add(hemera.NetworkInterval)
		for id := range hemera.NodeID(4) {
			r.Take(id, &wild, r.now)
		}
		r.Step(&r.view, r.now)
	}
	for _, row := range r.Report(&r.view).Nodes {
		if !(row.Weight > 0 && row.Weight <= 1) || math.IsNaN(row.InRate) || math.IsNaN(row.Out.Share()) {
			t.Errorf("%+v", row)
		}
	}
}

// Reports and judgements may be asked at any time.
func TestConcurrency(t *testing.T) {
	r := newRig(4, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 50 {
			r.Report(&r.view)
		}
	}()
	for range 20 {
		r.round()
	}
	<-done
}

// BenchmarkStep measures a step of a thousand nodes that all talk to 256 others, and the report after it.
func BenchmarkStep(b *testing.B) {
	const nodes = 1000
	w := New(slog.New(slog.DiscardHandler))
	view := &hemera.View{}
	at := func(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 1, byte(n >> 8), byte(n)}) }
	for n := range nodes {
		view.Nodes = append(view.Nodes, hemera.NodeInfo{ID: hemera.NodeID(n + 1), Addr: at(n).String() + ":1095", Status: hemera.NodeOnline})
	}
	now := start
	fill := func() {
		now = now.Add(hemera.NetworkInterval)
		for n := range nodes {
			s := &hemera.NetworkSample{Taken: now, Interval: hemera.NetworkInterval, Addresses: []netip.Addr{at(n)}}
			for i := range hemera.NetworkPathsMax {
				s.Paths = append(s.Paths, hemera.NetworkPath{Peer: at((n + 1 + i) % nodes), Sent: 500, Received: 500, RTT: time.Millisecond})
			}
			w.Take(hemera.NodeID(n+1), s, now)
		}
	}
	for name, work := range map[string]func(){"step": func() { w.Step(view, now) }, "report": func() { w.Report(view) }} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				if name == "step" {
					fill()
				}
				b.StartTimer()
				work()
			}
		})
	}
}
