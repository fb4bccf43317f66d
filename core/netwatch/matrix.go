package netwatch

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"hemera"
	"hemera/rules/netjudge"
)

// hosts says which nodes are of one host, and whose the addresses are.
type hosts struct {
	first     map[hemera.NodeID]hemera.NodeID // of each node: the first node of its host, which stands for all of them
	addresses map[netip.Addr]hemera.NodeID    // first nodes; [netjudge.Clients] for an address of several hosts
}

// newHosts finds the hosts of a view. Nodes that wait for admission are left out.
func newHosts(v *hemera.View, arrivals map[hemera.NodeID]arrival) hosts {
	h := hosts{first: map[hemera.NodeID]hemera.NodeID{}, addresses: map[netip.Addr]hemera.NodeID{}}
	byName := map[string]hemera.NodeID{}
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if n.Status == hemera.NodeWaiting {
			continue
		}
		// By its name as nodes are reached, not by what they claim: a claim must not join two hosts.
		name := n.Host()
		if _, known := byName[name]; !known || name == "" {
			byName[name] = n.ID
		}
		h.first[n.ID] = byName[name]
	}
	// What nodes say of themselves. An address of two hosts is a bridge's, a cluster address, or a lie.
	for id, a := range arrivals {
		mine, known := h.first[id]
		if !known {
			continue
		}
		for _, address := range a.sample.Addresses {
			if owner, taken := h.addresses[address.Unmap()]; taken && owner != mine {
				h.addresses[address.Unmap()] = netjudge.Clients
				continue
			}
			h.addresses[address.Unmap()] = mine
		}
	}
	// The address by which clients and nodes reach a node is certain, and goes before all claims.
	for name, id := range byName {
		if address, err := netip.ParseAddr(name); err == nil {
			h.addresses[address.Unmap()] = id
		}
	}
	return h
}

// matrix makes the reports of hosts from what came since the last step. A host without news has the time of its last
// report, so that nothing is counted twice.
func (h hosts) matrix(v *hemera.View, arrivals map[hemera.NodeID]arrival, taken map[hemera.NodeID]time.Time, now time.Time) netjudge.Matrix {
	reports := map[hemera.NodeID]*report{}
	for i := range v.Nodes {
		id := v.Nodes[i].ID
		first, known := h.first[id]
		if !known {
			continue
		}
		r := reports[first]
		if r == nil {
			r = &report{Node: netjudge.Node{ID: first, Taken: taken[first]}, paths: map[hemera.NodeID]netjudge.Path{}}
			reports[first] = r
		}
		// One node of a host with news is enough; the others' counts come with their next samples.
		if a := arrivals[id]; a.fresh {
			r.Taken = now
			r.add(h, first, a.sample)
		}
	}
	// In order, so that the same samples give the same matrix.
	var m netjudge.Matrix
	for _, id := range slices.Sorted(maps.Keys(reports)) {
		m.Nodes = append(m.Nodes, reports[id].finished())
	}
	return m
}

// report is what the nodes of one host counted together.
type report struct {
	netjudge.Node
	paths map[hemera.NodeID]netjudge.Path
}

// add adds what one node of the host counted. All of them see the same interfaces, so one of them is enough for those.
func (r *report) add(h hosts, self hemera.NodeID, s *hemera.NetworkSample) {
	if r.Interfaces == nil {
		for _, i := range s.Interfaces {
			r.Interfaces = append(r.Interfaces, netjudge.Interface{
				Name: i.Name, Virtual: i.Virtual, Member: i.Member, Up: i.Up, Carrier: i.Carrier, Speed: i.Speed, HalfDuplex: i.HalfDuplex,
				Rx: packets(i.In), Tx: packets(i.Out), CarrierChanges: i.CarrierChanges,
			})
		}
	}
	// Counts are summed by peer: a host has several addresses, and clients are many.
	for _, p := range s.Paths {
		peer := h.addresses[p.Peer.Unmap()] // an address that nobody has is a client's
		if peer == self {
			continue
		}
		sum := r.paths[peer]
		// The round trip of the busier part: nodes of one host have nearly the same.
		if p.RTT > 0 && (sum.RTT == 0 || p.Sent > sum.Sent) {
			sum.RTT = p.RTT
		}
		sum.Peer, sum.Sent, sum.Lost = peer, sum.Sent+p.Sent, sum.Lost+p.Lost
		sum.Received, sum.OutOfOrder = sum.Received+p.Received, sum.OutOfOrder+p.OutOfOrder
		r.paths[peer] = sum
	}
}

// finished is the report with its paths in order.
func (r *report) finished() netjudge.Node {
	for _, peer := range slices.Sorted(maps.Keys(r.paths)) {
		r.Paths = append(r.Paths, r.paths[peer])
	}
	return r.Node
}

// packets are the counts that the judge has a use for.
func packets(t hemera.NetworkTraffic) netjudge.Packets {
	return netjudge.Packets{Total: t.Packets, Errors: t.Errors, Missed: t.Missed, Dropped: t.Dropped}
}
