package netwatch

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"hemera/rules/netjudge"
	"hemera/words/hemera"
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
	members := map[hemera.NodeID][]*hemera.NetworkSample{} // of each host, by its first node: what is new
	for i := range v.Nodes {
		// One node of a host with news is enough; the others' counts come with their next samples.
		id := v.Nodes[i].ID
		if a := arrivals[id]; a.fresh {
			members[h.first[id]] = append(members[h.first[id]], a.sample)
		}
	}
	var m netjudge.Matrix
	at := map[hemera.NodeID]int{} // the place of a peer in a report; one map for all of them, as there may be a thousand
	for i := range v.Nodes {
		id := v.Nodes[i].ID
		if h.first[id] != id {
			continue // another node of the host comes before, or it waits for admission
		}
		n := netjudge.Node{ID: id, Taken: taken[id]}
		if len(members[id]) > 0 {
			n.Taken = now
		}
		clear(at)
		for _, s := range members[id] {
			h.add(&n, at, s)
		}
		slices.SortFunc(n.Paths, func(a, b netjudge.Path) int { return cmp.Compare(a.Peer, b.Peer) })
		m.Nodes = append(m.Nodes, n)
	}
	return m
}

// add adds a sample to the report of its host.
func (h hosts) add(n *netjudge.Node, at map[hemera.NodeID]int, s *hemera.NetworkSample) {
	n.Paths = slices.Grow(n.Paths, len(s.Paths))
	// Counts are summed by peer: a host has several addresses, and clients are many.
	for _, p := range s.Paths {
		peer := h.addresses[p.Peer.Unmap()] // an address of no node is a client's
		if peer == n.ID {
			continue
		}
		place, there := at[peer]
		if !there {
			place, at[peer] = len(n.Paths), len(n.Paths)
			n.Paths = append(n.Paths, netjudge.Path{Peer: peer})
		}
		sum := &n.Paths[place]
		// The round trip of the busier part: addresses of one host have nearly the same.
		if p.RTT > 0 && (sum.RTT == 0 || p.Sent > sum.Sent) {
			sum.RTT = p.RTT
		}
		sum.Sent, sum.Lost = sum.Sent+p.Sent, sum.Lost+p.Lost
	}
}
