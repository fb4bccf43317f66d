package load

import (
	"fmt"
	"math"

	"hemera/measure/result"
	"hemera/measure/stats"
	"hemera/words/hemera"
)

// Node has the theoretical rates of one server. A rate of zero is unknown, and does not limit. Disks are all disks of the
// node together; Net is one direction of its network.
type Node struct {
	Net       Rate // one direction
	DiskRead  Rate // all disks at once
	DiskWrite Rate // all disks at once
}

// Rate is a rate in B/s and its standard deviation, 0 for one that was not measured.
type Rate struct{ Mean, SD float64 }

// rate returns the smaller of network and disks in one direction, and 0 if neither is known.
func (n Node) rate(write bool) (least Rate) {
	disk := n.DiskRead
	if write {
		disk = n.DiskWrite
	}
	for _, limit := range []Rate{n.Net, disk} {
		if limit.Mean > 0 && (least.Mean == 0 || limit.Mean < least.Mean) {
			least = limit
		}
	}
	return least
}

// Peak returns the theoretical rate at which clients can read or write files of a layout: the sum over the nodes of the
// smaller of network and disks, as in Table I of "Energy Efficiency of Parallel File Systems on an ARM Cluster" (ENERGY
// 2022), divided by the number of bytes stored for each written byte. The zero layout stores each byte once. It returns 0
// if the rate of a node is unknown. Rates of nodes are assumed to be independent.
func Peak(nodes []Node, l hemera.Layout, write bool) Rate {
	var sum, variance float64
	for _, n := range nodes {
		rate := n.rate(write)
		if rate.Mean == 0 {
			return Rate{}
		}
		sum, variance = sum+rate.Mean, variance+rate.SD*rate.SD
	}
	each := 1.0
	if write {
		each = stored(l)
	}
	return Rate{sum / each, math.Sqrt(variance) / each}
}

// stored returns the number of bytes that are stored for each byte of a file.
func stored(l hemera.Layout) float64 {
	if l.Data == 0 {
		return 1
	}
	return float64(l.Pieces) / float64(l.Data)
}

// peakFrom returns a text about how a peak follows from the nodes.
func peakFrom(nodes []Node, l hemera.Layout, write bool) string {
	text := fmt.Sprintf("%d nodes, each the smaller of network and disks", len(nodes))
	if len(nodes) == 1 {
		text = "the smaller of network and disks of one node"
	}
	if s := stored(l); write && s > 1 {
		text += fmt.Sprintf(", divided by %.3g bytes stored for each byte", s)
	}
	return text
}

// NodeOf returns the rates of a machine from the levels disk and net of a run: the highest means of their throughputs.
// Missing rates are zero, and so is the network of a run over the loopback interface, whose data does not leave the
// machine.
func NodeOf(run *result.Run) (n Node) {
	for _, level := range run.Levels {
		for _, m := range level.Measures {
			// Other quantities of these levels are not byte rates.
			if m.Name != "throughput" || m.Unit != "B/s" || len(m.Samples) == 0 {
				continue
			}
			got := stats.Of(m)
			higher := func(have *Rate) {
				if got.Mean > have.Mean {
					*have = Rate{got.Mean, got.SD}
				}
			}
			// Several streams or disks at once reach more than one: the highest counts.
			switch load := m.Labels["load"]; {
			case level.Name == "net" && m.Labels["path"] != "loopback":
				higher(&n.Net)
			case level.Name == "disk" && load == "read":
				higher(&n.DiskRead)
			case level.Name == "disk" && load == "write":
				higher(&n.DiskWrite)
			}
		}
	}
	return n
}
