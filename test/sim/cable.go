package sim

import (
	"context"
	"net/netip"
	"time"

	"hemera/words/hemera"
)

// Each machine reports that it sends the same to all others. With the plan's lossy, one of them has a bad cable: some of that is lost.
// Messages of the simulation arrive all the same, as those of TCP do, so this is about what follows from the counts.
const (
	cableSegments = 4000 // to each other machine, in each sample
	cableLost     = 120  // of them, at the machine with the bad cable
)

// cableAddress returns a machine's address, as the counts name it.
func cableAddress(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}) }

// counts returns the report of a machine on its network. Every life of its node counts from the beginning, which the
// first sample is.
func (m *machine) counts() func() hemera.NetworkSample {
	first := true
	return func() hemera.NetworkSample {
		s := hemera.NetworkSample{Taken: m.w.clock(&m.skew)(), Addresses: []netip.Addr{cableAddress(m.index)}}
		if first {
			first = false
			return s
		}
		s.Interval = hemera.NetworkInterval
		for i := range m.w.plan.machines {
			if i == m.index {
				continue
			}
			p := hemera.NetworkPath{Peer: cableAddress(i), Sent: cableSegments, Received: cableSegments, RTT: time.Millisecond}
			if m.badCable.Load() {
				p.Lost = cableLost
			}
			s.Paths = append(s.Paths, p)
		}
		return s
	}
}

// checkCable waits until the machine with the bad cable, and no other, has a lower weight, repairs the cable, and waits until it is
// well again. Everything runs by then.
func (j judge) checkCable(ctx context.Context) {
	if !j.w.plan.lossy {
		return
	}
	bad := j.w.machines[j.w.plan.loser]
	// weighed reports how many nodes have a lower weight; it is a failure of another than the bad one.
	weighed := func() (count int) {
		for _, n := range j.w.head.Load().Cluster.View().Nodes {
			if n.NetworkWeight == 0 {
				continue
			}
			if count++; n.Addr != bad.addr || bad.badCable.Load() && n.NetworkWeight > 0.5 {
				j.w.fail("%s has the weight %v by its network; the bad cable is at %s", n.Addr, n.NetworkWeight, bad.addr)
			}
		}
		return count
	}
	if !j.comes(ctx, time.Minute, func() bool { return weighed() == 1 }) {
		j.w.fail("%s loses packets, and has the weight of all others", bad.addr)
	}
	// The cable is changed: from now on its counts are good.
	bad.badCable.Store(false)
	if !j.comes(ctx, 15*time.Minute, func() bool { return weighed() == 0 }) {
		j.w.fail("the cable of %s is good, and its weight is not", bad.addr)
	}
}
