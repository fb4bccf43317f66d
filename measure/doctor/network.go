package doctor

import (
	"fmt"
	"time"
)

// fast is the speed from which on interrupts and buffers matter: 10 Gb/s.
const fast = 10e9 / 8

// links judges each network interface of hardware.
func links(s *Snapshot) (list []Finding) {
	for i := range s.Links {
		l := &s.Links[i]
		if l.Virtual { // drops of a bridge do not count
			continue
		}
		for _, rule := range []func(*Link) (Finding, bool){losses, duplex, interrupts, coalescing} {
			if f, bad := rule(l); bad {
				f.Subject = l.Name
				list = append(list, f)
			}
		}
	}
	return list
}

// losses reports packets that an interface damaged or dropped. A loss during the measurement is a problem; a fraction of
// all since the start may be long ago.
func losses(l *Link) (Finding, bool) {
	remedy := "look at cable, transceiver and switch port (ethtool -S " + l.Name + "); for missed packets a longer ring: ethtool -G " + l.Name + " rx 4096"
	text := func(p Packets) string {
		return fmt.Sprintf("%d damaged and %d missed of %d received, %d of %d not sent", p.BadReceived, p.Missed, p.Received, p.BadSent, p.Sent)
	}
	// Each is a packet that had to be sent again.
	bad := func(p Packets) uint64 { return p.BadReceived + p.Missed + p.BadSent }
	switch {
	case bad(l.During) > 0:
		return Finding{ID: "net-errors", Severity: Problem, Evidence: text(l.During) + " while it was measured", Remedy: remedy}, true
	case bad(l.Since) > 100 && bad(l.Since)*10_000 > l.Since.Received+l.Since.Sent:
		return Finding{ID: "net-errors", Severity: Risk, Evidence: text(l.Since) + " since the start", Remedy: remedy}, true
	}
	return Finding{}, false
}

// duplex reports a half-duplex link: a failed negotiation.
func duplex(l *Link) (Finding, bool) {
	if !l.Half {
		return Finding{}, false
	}
	return Finding{
		ID: "net-duplex", Severity: Problem, Evidence: fmt.Sprintf("it is half-duplex at %s", RateText(float64(l.Speed))),
		Remedy: "let both ends negotiate: ethtool -s " + l.Name + " autoneg on, and the same at the switch", Gain: "about 2 times with traffic both ways",
	}, true
}

// interrupts reports a fast link with several queues whose interrupts all went to one core.
func interrupts(l *Link) (Finding, bool) {
	var sum, most uint64 // of all cores, and of the busiest
	core := 0            // the busiest
	for i, n := range l.Interrupts {
		sum += n
		if n > most {
			most, core = n, i
		}
	}
	// A link that was idle since the start shows nothing.
	if float64(l.Speed) < fast || l.Queues < 2 || len(l.Interrupts) < 2 || sum < 1_000_000 || float64(most) < 0.95*float64(sum) {
		return Finding{}, false
	}
	return Finding{
		ID: "net-irq-one-core", Severity: Hint,
		Evidence: fmt.Sprintf("core %d took %.0f %% of %d interrupts; the link has %d queues and %s", core, 100*float64(most)/float64(sum), sum, l.Queues, RateText(float64(l.Speed))),
		Remedy:   "start irqbalance, or spread /proc/irq/*/smp_affinity_list of " + l.Name + " by hand",
		Gain:     "a full interrupt core bounds what the link receives (published: 35 of 100 Gb/s with one core)",
	}, true
}

// coalescing reports a fast link with an interrupt for each packet.
func coalescing(l *Link) (Finding, bool) {
	c := l.Coalesce
	if c == nil || float64(l.Speed) < fast || c.Adaptive || c.Receive > 0 || c.Frames > 1 {
		return Finding{}, false
	}
	return Finding{
		ID: "net-coalescing", Severity: Hint, Evidence: "it interrupts for every packet: rx-usecs 0, adaptive-rx off",
		Remedy: "ethtool -C " + l.Name + " adaptive-rx on, or rx-usecs 16 where latency must be even", Gain: "less time of cores in interrupts at the same rate",
	}, true
}

// paths judges the network between the machine and its cluster, and the buffers for it.
func paths(s *Snapshot) (list []Finding) {
	for _, c := range s.peers() {
		if c.Failed != "" { // rule cluster reports it
			continue
		}
		for _, rule := range []func(*Snapshot, *Cluster) (Finding, bool){loss, pathMTU, skew} {
			if f, bad := rule(s, c); bad {
				f.Subject = c.Address
				list = append(list, f)
			}
		}
	}
	if f, bad := buffers(s); bad {
		list = append(list, f)
	}
	return list
}

// peers returns the manager and the nodes that were probed.
func (s *Snapshot) peers() (list []*Cluster) {
	if s.Cluster != nil {
		list = append(list, s.Cluster)
	}
	for i := range s.Nodes {
		list = append(list, &s.Nodes[i])
	}
	return list
}

// loss reports lost packets in the test of the path. One in ten thousand already bounds TCP on long paths.
func loss(_ *Snapshot, c *Cluster) (Finding, bool) {
	if c.Lost < 3 || c.Lost*1000 < c.Packets {
		return Finding{}, false
	}
	// Both directions: this side counts its retransmissions, and packets that came after a gap.
	f := Finding{
		ID: "net-loss", Severity: Problem,
		Evidence: fmt.Sprintf("of %d packets to and from the cluster %d were lost (%.2f %%), at a round trip of %v", c.Packets, c.Lost, 100*float64(c.Lost)/float64(max(1, c.Packets)), c.Trip.Round(10*time.Microsecond)),
		Remedy:   "hemera net shows which node loses; then cables, transceivers and switch ports on its way, and net-errors here",
	}
	return f, true
}

// pathMTU reports an MTU that is large here and smaller on the path.
func pathMTU(s *Snapshot, c *Cluster) (Finding, bool) {
	for _, l := range s.Links {
		if l.Name == c.Link && l.MTU >= 4000 && c.PathMTU > 0 && c.PathMTU < l.MTU*3/4 {
			return Finding{
				ID: "net-mtu", Severity: Hint, Evidence: fmt.Sprintf("%s has an MTU of %d, the path to the cluster carries %d", l.Name, l.MTU, c.PathMTU),
				Remedy: fmt.Sprintf("set the same MTU at every link and switch port on the way: ip link set %s mtu %d", l.Name, l.MTU),
				Gain:   "fewer packets, so less processor time for the same bytes",
			}, true
		}
	}
	return Finding{}, false
}

// buffers reports TCP buffers that are smaller than the bytes in transit at the link's speed.
func buffers(s *Snapshot) (Finding, bool) {
	n := s.Network
	// Without a cluster the round trip is unknown, and without a speed the bytes in transit.
	trip, speed := time.Duration(0), 0.0
	for _, l := range s.Links {
		if s.Cluster != nil && l.Name == s.Cluster.Link {
			trip, speed = s.Cluster.Trip, float64(l.Speed)
		}
	}
	// The smaller one bounds a connection that goes both ways.
	most := min(n.ReceiveMax, n.SendMax)
	name, file, value := "tcp_rmem", "sys/net/ipv4/tcp_rmem", "4096 131072 33554432"
	if n.SendMax < n.ReceiveMax {
		name, file, value = "tcp_wmem", "sys/net/ipv4/tcp_wmem", "4096 16384 33554432"
	}
	// The bandwidth-delay product: bytes that are sent and not yet acknowledged.
	underWay := speed * trip.Seconds()
	// The kernel uses a part of a buffer itself: half is for data.
	carries := float64(most) / 2
	switch {
	case n.NoScaling:
		return Finding{
			ID: "net-buffers", Severity: Risk, Evidence: "net.ipv4.tcp_window_scaling is off: a connection has at most 64 KiB under way",
			Remedy: "sysctl -w net.ipv4.tcp_window_scaling=1", Fix: &Fix{"proc/sys/net/ipv4/tcp_window_scaling", "1"},
		}, true
	case most > 0 && underWay > carries:
		return Finding{
			ID: "net-buffers", Severity: Problem,
			Evidence: fmt.Sprintf("%s is at most %s; the path needs %s for one connection at %s", name, SizeText(float64(most)), SizeText(2*underWay), RateText(speed)),
			Remedy:   fmt.Sprintf("sysctl -w net.ipv4.%s=%q", name, value),
			Gain:     fmt.Sprintf("up to %.1f times for one connection (round trip and link speed)", underWay/carries),
			Fix:      &Fix{"proc/" + file, value},
		}, true
	}
	return Finding{}, false
}
