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

// Network samples this machine's network for the heartbeats of one node. Nodes of one process share their connections, so one
// of them has it. One goroutine at a time may use it.
type Network struct {
	sampler *netstat.Sampler
	last    time.Time // of the sample before; zero: none
	log     *slog.Logger
}

// NewNetwork makes a sampler of the network namespace that the process is in. It does not fail: what the machine forbids is
// logged with the first sample.
func NewNetwork(log *slog.Logger) *Network {
	return &Network{sampler: netstat.New(netstat.Options{}), log: log}
}

// Close releases the sampler's sockets.
func (n *Network) Close() { n.sampler.Close() }

// Sample returns what happened since the call before.
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

// sampled is a sample as it is reported: bounded, and only of what is a network. Connections within this machine are none.
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

// busiest are the paths with the most segments, as many as a sample may have. The others are added up in the last one, without
// an address, so that nothing that was lost is left out.
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

// interfaces are those that a fault would show at: hardware and bonds. A machine without any that are up, as a container, has
// virtual ones only, and they are told.
func interfaces(list []netstat.Interface) (out []hemera.NetworkInterface) {
	bond := func(i netstat.Interface) bool { return i.Kind == "bond" || i.Kind == "team" }
	virtual := func(i netstat.Interface) bool { return i.Kind != "" && !bond(i) }
	// A part of a bridge is a link like others: without a signal it may be a socket that nothing was ever connected to.
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

// traffic are the counts of a direction. What ran over a buffer of the hardware was missed.
func traffic(t netstat.Traffic) hemera.NetworkTraffic {
	return hemera.NetworkTraffic{Bytes: t.Bytes, Packets: t.Packets, Errors: t.Errors, Missed: t.Missed + t.FIFO, Dropped: t.Dropped}
}

// networkTurn says when the next sample is due.
type networkTurn struct {
	sample func() hemera.NetworkSample // nil: this node takes none
	due    time.Time
	link   atomic.Pointer[hemera.NetworkLink] // of the last sample, for anybody
}

// next is a sample if one is due, else nil. A little later than due is well: the manager judges as often, and two samples
// between two of its steps would be one too many.
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

// Link is how fast this machine's link is, and how busy it was lately. It is zero where nothing is known, also on all nodes of
// a process but the one that samples.
func (n *Node) Link() hemera.NetworkLink {
	if l := n.network.link.Load(); l != nil {
		return *l
	}
	return hemera.NetworkLink{}
}
