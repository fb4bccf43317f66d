package storage

import (
	"math"

	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// sumsOf adds up disks, under the keys that EOS has for nodes, spaces and groups. Disks that share a file system count
// its room once, and a node counts its network once. Without disks all values are 0, because EOS's tools expect the keys.
func sumsOf(v *hemera.View, disks []hemera.Disk) output.Record {
	var load spread
	var read, written, ropen, wopen, pieces int64
	var in, out, speed float64
	seen := map[hemera.NodeID]bool{}
	for _, d := range disks {
		load.add(d.Load.Busy)
		read, written, pieces = read+d.Load.ReadBytes, written+d.Load.WriteBytes, pieces+d.Pieces
		// Pieces that are open now, counted by their nodes.
		ropen, wopen = ropen+d.Load.ReadOpens, wopen+d.Load.WriteOpens
		// The network belongs to the node: it counts once, however many of the node's disks are here.
		if !seen[d.Node] {
			seen[d.Node] = true
			n, _ := v.Node(d.Node)
			i, o, s := network(n.Stats.Net)
			in, out, speed = in+i, out+o, speed+s
		}
	}
	// Room goes by file system: two folders on one must not count it twice.
	all := v.Room(disks)
	return output.Record{
		{Key: "avg.stat.disk.load", Value: load.mean()}, {Key: "sig.stat.disk.load", Value: load.sigma()}, // share of time with I/O
		{Key: "sum.stat.disk.readratemb", Value: float64(read) / 1e6}, {Key: "sum.stat.disk.writeratemb", Value: float64(written) / 1e6}, // 10^6 bytes a second
		{Key: "sum.stat.net.ethratemib", Value: speed}, {Key: "sum.stat.net.inratemib", Value: in}, {Key: "sum.stat.net.outratemib", Value: out}, // 2^20 bytes a second
		{Key: "sum.stat.ropen", Value: ropen}, {Key: "sum.stat.wopen", Value: wopen},
		{Key: "sum.stat.statfs.usedbytes", Value: all.Used}, {Key: "sum.stat.statfs.freebytes", Value: all.Free}, {Key: "sum.stat.statfs.capacity", Value: all.Capacity}, // bytes
		{Key: "sum.stat.usedfiles", Value: pieces},                                                               // pieces
		{Key: "sum.stat.statfs.ffree", Value: all.InodesFree}, {Key: "sum.stat.statfs.files", Value: all.Inodes}, // inodes
	}
}

// drainersOf returns the number of disks off which a drain moves files now.
func drainersOf(disks []hemera.Disk, jobs []adminapi.JobStatus) (n int) {
	for _, d := range disks {
		n += drainers(jobOf(jobs, d.ID))
	}
	return n
}

// spread collects values for their mean and deviation. It keeps the values because the deviation needs the mean first.
// There are as many values as disks.
type spread struct {
	n, sum float64
	values []float64
}

// add adds one value.
func (s *spread) add(x float64) {
	s.n, s.sum = s.n+1, s.sum+x
	s.values = append(s.values, x)
}

// mean returns the arithmetic mean, and 0 without values.
func (s *spread) mean() float64 { return s.sum / max(s.n, 1) }

// sigma returns the standard deviation of the whole population, not that of a sample.
func (s *spread) sigma() float64 {
	var squares float64
	for _, x := range s.values {
		squares += (x - s.mean()) * (x - s.mean())
	}
	return math.Sqrt(squares / max(s.n, 1))
}
