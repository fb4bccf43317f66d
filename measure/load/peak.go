package load

import (
	"fmt"
	"math"

	"hemera"
	"hemera/measure/result"
)

// Node is what one server can do in theory, in B/s. Zero is unknown, and does not limit. Disks are all disks of the node
// together; Net is one direction of its network.
type Node struct {
	Net       float64 // one direction
	DiskRead  float64 // all disks at once
	DiskWrite float64 // all disks at once
}

// rate is the smaller of network and disks in one direction, and 0 if neither is known.
func (n Node) rate(write bool) float64 {
	disk := n.DiskRead
	if write {
		disk = n.DiskWrite
	}
	rate := math.Inf(1)
	for _, limit := range []float64{n.Net, disk} {
		if limit > 0 {
			rate = min(rate, limit)
		}
	}
	if math.IsInf(rate, 1) {
		return 0
	}
	return rate
}

// Peak is the highest rate in B/s at which clients can read or write files of a layout in theory: the sum over the nodes of
// the smaller of network and disks, as Table I of "Energy Efficiency of Parallel File Systems on an ARM Cluster" (ENERGY 2022)
// has it, divided by what is stored for each byte of a file when it is written. The zero layout stores each byte once. It is 0 if
// the rate of a node is unknown.
func Peak(nodes []Node, l hemera.Layout, write bool) (bytesPerSecond float64) {
	for _, n := range nodes {
		rate := n.rate(write)
		if rate == 0 {
			return 0
		}
		bytesPerSecond += rate
	}
	if write {
		bytesPerSecond /= stored(l)
	}
	return bytesPerSecond
}

// stored is the number of bytes that are stored for each byte of a file.
func stored(l hemera.Layout) float64 {
	if l.Data == 0 {
		return 1
	}
	return float64(l.Pieces) / float64(l.Data)
}

// peakFrom says how a peak follows from the nodes.
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

// NodeOf is what a machine can do as the levels disk and net of a run measured it: the highest mean of their throughputs.
// What was not measured is zero, and so is the network of a run that measured the loopback interface: nothing leaves the machine there.
func NodeOf(run *result.Run) (n Node) {
	for _, level := range run.Levels {
		for _, m := range level.Measures {
			// Other quantities of these levels are no rates of bytes.
			if m.Name != "throughput" || m.Unit != "B/s" || len(m.Samples) == 0 {
				continue
			}
			var mean float64
			for _, v := range m.Samples {
				mean += v / float64(len(m.Samples))
			}
			// Several streams or disks at once reach more than one: the highest counts.
			switch load := m.Labels["load"]; {
			case level.Name == "net" && m.Labels["path"] != "loopback":
				n.Net = max(n.Net, mean)
			case level.Name == "disk" && load == "read":
				n.DiskRead = max(n.DiskRead, mean)
			case level.Name == "disk" && load == "write":
				n.DiskWrite = max(n.DiskWrite, mean)
			}
		}
	}
	return n
}
