package cluster

import (
	"fmt"
	"math"
	"net"
	"slices"
	"strings"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Bounds of the reports of a node on itself. A node may be in bad hands: no number of its reports may overflow a sum, and
// no text fill the manager's memory or somebody's terminal.
const (
	// Far above what a machine has, so that an honest node never meets them.
	disksPerNodeMax = 4096 // disks of one node
	netsPerNodeMax  = 64   // interfaces of one node
	// capacityMax is of one disk, 8 PiB; a thousand of them still fit an int64.
	capacityMax = 1 << 53
	countMax    = 1 << 40 // of pieces, inodes, errors
	rateMax     = 1 << 50 // bytes, or bytes per second
	textMax     = 512     // bytes of any text
	addrMax     = 300     // bytes of an address: a host name has 253
)

// checkHello refuses a registration that makes no sense: no usable address, too many disks, or two of one UUID.
// Invalid, TooLarge.
func checkHello(h hemera.NodeHello) error {
	host, port, err := net.SplitHostPort(h.Addr)
	if err != nil || host == "" || port == "" || len(h.Addr) > addrMax || strings.Trim(h.Addr, addrLetters) != "" {
		return errs.New(errs.Invalid, "cluster.Register", text(h.Addr), "the node's address must be host:port").
			WithRemedy("give the node an address that clients can reach")
	}
	if len(h.Disks) > disksPerNodeMax {
		return errs.New(errs.TooLarge, "cluster.Register", h.Addr, fmt.Sprintf("a node has at most %d disks", disksPerNodeMax))
	}
	seen := map[string]bool{}
	for _, d := range h.Disks {
		if d.UUID == "" || seen[d.UUID] || len(d.UUID) > textMax || len(d.Path) > hemera.PathMax {
			return errs.New(errs.Invalid, "cluster.Register", text(d.Path), fmt.Sprintf("disk UUID %q is empty or reported twice, or too long", text(d.UUID))).
				WithRemedy("two paths hold the same disk: remove one of them from the node")
		}
		seen[d.UUID] = true
	}
	return nil
}

// addrLetters are those of host:port. An address travels in redirects, where others would mean something.
const addrLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-_[]%"

// boundedDisk returns a report with everything within bounds.
func boundedDisk(d hemera.NodeDisk) hemera.NodeDisk {
	switch d.Health {
	case "", hemera.HealthOK, hemera.HealthFull, hemera.HealthReadOnly, hemera.HealthFailing, hemera.HealthGone:
	default:
		// A newer node may have other states. Failing is the safe one: nothing new is placed there.
		d.Health, d.Why = hemera.HealthFailing, "its node reports a health that is none"
	}
	d.Why, d.Space = text(d.Why), hemera.SpaceName(text(string(d.Space)))
	bound(&d.Capacity, capacityMax)
	bound(&d.Used, d.Capacity)
	bound(&d.Free, d.Capacity)
	bound(&d.Pieces, countMax)
	bound(&d.Inodes, countMax)
	bound(&d.InodesFree, d.Inodes)
	bound(&d.Load.ReadBytes, rateMax)
	bound(&d.Load.WriteBytes, rateMax)
	d.Load.Busy = within(d.Load.Busy, 1)
	for _, n := range []*int64{&d.Load.ReadOpens, &d.Load.WriteOpens, &d.Load.ChecksumErrors, &d.Load.IOErrors} {
		bound(n, countMax)
	}
	for _, l := range []*hemera.Latency{&d.Load.Read, &d.Load.Write, &d.Load.Sync} {
		*l = boundedLatency(*l)
	}
	return d
}

// boundedLatency returns a histogram within bounds. One with another number of classes is of another version and is dropped.
func boundedLatency(l hemera.Latency) hemera.Latency {
	if len(l.Counts) != hemera.LatencyClasses {
		return hemera.Latency{}
	}
	l.Counts = slices.Clone(l.Counts)
	for i := range l.Counts {
		bound(&l.Counts[i], countMax)
	}
	l.Sum = max(0, min(l.Sum, math.MaxInt64/4))
	return l
}

// boundedStats returns the figures that a node measured, within bounds.
func boundedStats(s hemera.NodeStats) hemera.NodeStats {
	nets := make([]hemera.NetStats, min(len(s.Net), netsPerNodeMax))
	for i, n := range s.Net[:len(nets)] {
		n.Name = text(n.Name)
		bound(&n.Speed, rateMax)
		n.InRate, n.OutRate = within(n.InRate, rateMax), within(n.OutRate, rateMax)
		for _, c := range []*int64{&n.InErrors, &n.OutErrors, &n.InDrops} {
			bound(c, countMax)
		}
		nets[i] = n
	}
	s.Net = nets
	bound(&s.RSS, rateMax)
	bound(&s.VSize, rateMax)
	for _, n := range []*int{&s.Threads, &s.Goroutines, &s.Sockets, &s.Kept} {
		*n = max(0, min(*n, 1<<31-1))
	}
	s.Kernel, s.Arch = text(s.Kernel), text(s.Arch)
	s.CPUSeconds, s.Load1 = within(s.CPUSeconds, rateMax), within(s.Load1, countMax)
	unusable := make([]hemera.UnusableDisk, 0, min(len(s.Unusable), disksPerNodeMax))
	// As many as fit; a node tries only what it was given, so more of them are made up.
	for _, u := range s.Unusable[:cap(unusable)] {
		unusable = append(unusable, hemera.UnusableDisk{Path: u.Path[:min(len(u.Path), hemera.PathMax)], Why: text(u.Why), Remedy: text(u.Remedy)})
	}
	s.Unusable = unusable
	return s
}

// bound brings *n into 0 to most.
func bound(n *int64, most int64) { *n = max(0, min(*n, most)) }

// within returns the number, 0 to most, and 0 for what is not a number.
func within(f, most float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return max(0, min(f, most))
}

// text returns at most [textMax] bytes of what a node says.
func text(s string) string { return s[:min(len(s), textMax)] }
