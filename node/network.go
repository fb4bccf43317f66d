package node

import (
	"cmp"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"hemera/platform/netstat"
	"hemera/words/hemera"
)

// Network samples this machine's network for the heartbeats of one node. The nodes of one process share their
// connections, so only one of them has a Network. It is not safe for concurrent use.
type Network struct {
	sampler *netstat.Sampler
	last    time.Time // of the previous sample; zero: none
	log     *slog.Logger
}

// NewNetwork makes a sampler of the process's network namespace. It does not fail: the first sample logs what the machine
// forbids.
func NewNetwork(log *slog.Logger) *Network {
	return &Network{sampler: netstat.New(netstat.Options{}), log: log}
}

// Close releases the sampler's sockets.
func (n *Network) Close() { n.sampler.Close() }

// Sample returns the traffic since the previous call.
func (n *Network) Sample() hemera.NetworkSample {
	taken, err := n.sampler.Sample()
	if err != nil {
		n.log.Warn("not all of the network can be sampled, so faults of it are found late or not at all", "error", err)
	}
	out := sampled(taken, netstat.Addresses())
	if !n.last.IsZero() {
		out.Interval = taken.Taken.Sub(n.last)
	}
	n.last = taken.Taken
	return out
}

// sampled converts a sample to its form in reports: bounded, and without connections within this machine.
func sampled(s netstat.Sample, own []netip.Addr) hemera.NetworkSample {
	out := hemera.NetworkSample{Taken: s.Taken, Addresses: own[:min(len(own), hemera.NetworkAddressesMax)], Interfaces: interfaces(s.Interfaces)}
	for _, p := range s.Peers {
		if p.Addr.IsLoopback() || slices.Contains(own, p.Addr) || p.SegmentsSent+p.SegmentsReceived == 0 {
			continue
		}
		out.Paths = append(out.Paths, hemera.NetworkPath{
			Peer: p.Addr, Sent: p.SegmentsSent, Lost: p.Lost(), Received: p.SegmentsReceived, OutOfOrder: p.OutOfOrder, RTT: p.RTT.Truncate(time.Microsecond),
		})
	}
	out.Paths = busiest(out.Paths)
	return out
}

// busiest returns the paths with the most segments, as many as a sample may have. The last one has the sum of the others
// and no address, so that no loss is left out.
func busiest(list []hemera.NetworkPath) []hemera.NetworkPath {
	if len(list) <= hemera.NetworkPathsMax {
		return list
	}
	slices.SortFunc(list, func(a, b hemera.NetworkPath) int {
		return cmp.Or(cmp.Compare(b.Sent+b.Received, a.Sent+a.Received), a.Peer.Compare(b.Peer))
	})
	kept := list[:hemera.NetworkPathsMax:hemera.NetworkPathsMax]
	var rest hemera.NetworkPath
	for _, p := range list[hemera.NetworkPathsMax-1:] {
		rest.Sent, rest.Lost = rest.Sent+p.Sent, rest.Lost+p.Lost
		rest.Received, rest.OutOfOrder = rest.Received+p.Received, rest.OutOfOrder+p.OutOfOrder
	}
	kept[len(kept)-1] = rest
	return kept
}

// interfaces returns the interfaces at which a fault would show: hardware and bonds. If none of these is up, as in a
// container, it returns the virtual ones.
func interfaces(list []netstat.Interface) (out []hemera.NetworkInterface) {
	bond := func(i netstat.Interface) bool { return i.Kind == "bond" || i.Kind == "team" }
	virtual := func(i netstat.Interface) bool { return i.Kind != "" && !bond(i) }
	// A member of a bridge counts like other links: without a signal it may be an unused socket.
	member := func(i netstat.Interface) bool {
		return i.Master != 0 && slices.ContainsFunc(list, func(m netstat.Interface) bool { return m.Index == i.Master && bond(m) })
	}
	real := slices.ContainsFunc(list, func(i netstat.Interface) bool { return i.Up && !virtual(i) })
	for _, i := range list {
		if real && virtual(i) || len(out) == hemera.NetworkInterfacesMax {
			continue
		}
		out = append(out, hemera.NetworkInterface{
			Name: i.Name, Virtual: virtual(i), Member: member(i), Up: i.Up, Carrier: i.Carrier, HalfDuplex: i.HalfDuplex, Speed: i.Speed,
			In: traffic(i.Rx), Out: traffic(i.Tx), CarrierChanges: i.CarrierChanges,
		})
	}
	return out
}

// traffic returns the counts of one direction. An overflow of a hardware buffer counts as missed.
func traffic(t netstat.Traffic) hemera.NetworkTraffic {
	return hemera.NetworkTraffic{Bytes: t.Bytes, Packets: t.Packets, Errors: t.Errors, Missed: t.Missed + t.FIFO, Dropped: t.Dropped}
}

// networkTurn decides when the next sample is due.
type networkTurn struct {
	sample func() hemera.NetworkSample // nil: this node takes no samples
	due    time.Time
	link   atomic.Pointer[hemera.NetworkLink] // of the last sample; read concurrently
}

// next returns a sample if one is due, otherwise nil. It may be a little late: the manager judges at the same interval,
// and should not get two samples between two judgements.
func (t *networkTurn) next(now time.Time) *hemera.NetworkSample {
	if t.sample == nil || now.Before(t.due) {
		return nil
	}
	t.due = now.Add(hemera.NetworkInterval)
	s := t.sample()
	link := s.Link()
	t.link.Store(&link)
	return &s
}

// Link returns the speed and the recent use of this machine's link. It is zero if they are unknown, and on all nodes of a
// process but the one that samples.
func (n *Node) Link() hemera.NetworkLink {
	if l := n.network.link.Load(); l != nil {
		return *l
	}
	return hemera.NetworkLink{}
}
